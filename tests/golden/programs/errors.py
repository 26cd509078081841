"""The effect of an error on later stages and on later elements."""

import numpy as np

from programs import case


def failing(tf, *places, n=7):
    """Return 0 to n - 1, where the elements at some indices fail."""

    def check(x):
        if x in places:
            raise ValueError(f"element {x}")
        return np.int64(x)

    ds = tf.data.Dataset.range(n)
    return ds.map(lambda x: tf.numpy_function(check, [x], tf.int64))


@case(spec=False)
def error_in_a_map(tf):
    return failing(tf, 0, 3, 6)


@case(spec=False)
def error_in_a_parallel_map(tf):
    def check(x):
        if x == 3:
            raise ValueError("three")
        return np.int64(x)

    ds = tf.data.Dataset.range(7)
    return ds.map(lambda x: tf.numpy_function(check, [x], tf.int64), num_parallel_calls=3)


@case(spec=False)
def error_before_prefetch(tf):
    return failing(tf, 2).prefetch(3)


@case(spec=False)
def error_before_filter(tf):
    return failing(tf, 2).filter(lambda x: x > 0)


@case(spec=False)
def error_in_a_filter(tf):
    def check(x):
        if x == 2:
            raise ValueError("two")
        return x > 0

    ds = tf.data.Dataset.range(5)
    return ds.filter(lambda x: tf.reshape(tf.numpy_function(check, [x], tf.bool), []))


@case(spec=False, differs="**Errors lose no data.**")
def error_before_take(tf):
    return failing(tf, 1).take(3)


@case(spec=False, differs="**Errors lose no data.**")
def error_before_skip(tf):
    return failing(tf, 1).skip(3)


@case(spec=False, differs="**Errors lose no data.**")
def error_before_shard(tf):
    return failing(tf, 1, 2).shard(3, 2)


@case(spec=False)
def error_before_enumerate(tf):
    return failing(tf, 2).enumerate()


@case(spec=False)
def error_before_repeat(tf):
    return failing(tf, 2, n=4).repeat(2)


@case(spec=False, ordered=False)
def error_before_shuffle(tf):
    return failing(tf, 5).shuffle(3, seed=1)


@case(spec=False, differs="**Errors lose no data.**")
def error_before_batch(tf):
    return failing(tf, 2, n=8).batch(3)


@case(spec=False, differs="**Errors lose no data.**")
def error_first_in_a_batch(tf):
    return failing(tf, 3, n=8).batch(3)


@case(spec=False, differs="**Functions are not traced.**")
def error_before_unbatch(tf):
    return failing(tf, 1, n=3).map(lambda x: tf.reshape(x, [1])).unbatch()


@case(spec=False)
def error_before_zip(tf):
    return tf.data.Dataset.zip((failing(tf, 2, n=5), tf.data.Dataset.range(5)))


@case(spec=False)
def errors_in_both_inputs_of_zip(tf):
    return tf.data.Dataset.zip((failing(tf, 2, n=5), failing(tf, 2, 3, n=5)))


@case(spec=False)
def error_beside_an_end_in_zip(tf):
    return tf.data.Dataset.zip((failing(tf, 2, n=5), tf.data.Dataset.range(2)))


@case(spec=False)
def error_in_concatenate(tf):
    return failing(tf, 1, n=3).concatenate(failing(tf, 0, n=2))


@case(spec=False)
def error_before_flat_map(tf):
    return failing(tf, 1, n=4).flat_map(lambda x: tf.data.Dataset.from_tensors(x).repeat(2))


@case(spec=False)
def error_within_flat_map(tf):
    return tf.data.Dataset.range(3).flat_map(lambda x: failing(tf, 1, n=3))


@case(spec=False)
def error_before_interleave(tf):
    return failing(tf, 1, n=4).interleave(
        lambda x: tf.data.Dataset.from_tensors(x).repeat(3), cycle_length=2
    )


@case(spec=False)
def error_within_interleave(tf):
    return tf.data.Dataset.range(2).interleave(
        lambda x: failing(tf, 1, n=5), cycle_length=2, block_length=2
    )


@case(spec=False, differs="the same with and without")
def error_within_a_parallel_interleave(tf):
    return tf.data.Dataset.range(2).interleave(
        lambda x: failing(tf, 1, n=5), cycle_length=2, block_length=2, num_parallel_calls=2
    )


@case(spec=False, differs="**Errors lose no data.**")
def error_before_cache(tf):
    return failing(tf, 1, n=3).cache().repeat(2)


@case(spec=False)
def error_in_every_element_repeated(tf):
    return failing(tf, 0, 1, n=2).repeat().take(5)


@case(spec=False, differs="Each error is raised once")
def error_asserted(tf):
    return failing(tf, 1, n=4).apply(tf.data.experimental.assert_cardinality(4))
