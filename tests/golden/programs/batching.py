"""Batches: batch, unbatch, rebatch, padded_batch and their edges."""

import numpy as np

from programs import case


def numbers(tf, n=5):
    return tf.data.Dataset.range(n)


def rows(tf):
    return tf.data.Dataset.from_tensor_slices(np.arange(12, dtype=np.int32).reshape(4, 3))


def ragged(tf, *lengths):
    """Return rows 0..n-1 of float32 with these lengths."""
    return tf.data.Dataset.from_generator(
        lambda: (np.arange(n, dtype=np.float32) for n in lengths),
        output_signature=tf.TensorSpec((None,), tf.float32),
    )


@case()
def batch_with_a_remainder(tf):
    return numbers(tf).batch(2)


@case()
def batch_without_the_remainder(tf):
    return numbers(tf).batch(2, drop_remainder=True)


@case()
def batch_larger_than_all(tf):
    return numbers(tf).batch(9)


@case()
def batch_larger_than_all_dropped(tf):
    return numbers(tf).batch(9, drop_remainder=True)


@case(differs="More is known in advance")
def batch_of_nothing(tf):
    return numbers(tf, 0).batch(2)


@case()
def batch_of_none(tf):
    return numbers(tf).batch(0)


@case()
def batch_of_less(tf):
    return numbers(tf).batch(-1)


@case()
def batch_in_parallel(tf):
    return numbers(tf, 9).batch(2, num_parallel_calls=2)


@case()
def batch_rows(tf):
    return rows(tf).batch(3)


@case(differs="More is known in advance")
def batch_batches(tf):
    return numbers(tf, 6).batch(2).batch(2)


@case()
def batch_unequal_batches(tf):
    return numbers(tf, 5).batch(2).batch(2)


@case()
def batch_structures(tf):
    return rows(tf).map(lambda x: {"x": x, "y": (x[0], None)}).batch(3)


@case()
def batch_strings(tf):
    return tf.data.Dataset.from_tensor_slices(np.array([b"a", b"", b"ccc"])).batch(2)


@case(differs="**Errors lose no data.**")
def batch_shapes_that_differ(tf):
    return ragged(tf, 2, 2, 2, 3, 2, 2, 2).batch(2)


@case(differs="**Errors lose no data.**")
def batch_shapes_that_differ_at_once(tf):
    return ragged(tf, 1, 2, 2, 2).batch(2)


@case()
def unbatch_batches(tf):
    return numbers(tf).batch(2).unbatch()


@case()
def unbatch_known_batches(tf):
    return numbers(tf, 6).batch(2, drop_remainder=True).unbatch()


@case()
def unbatch_structures(tf):
    return tf.data.Dataset.from_tensors(
        {"x": np.arange(3), "y": np.zeros((3, 2), np.int8)}
    ).unbatch()


@case()
def unbatch_strings(tf):
    return tf.data.Dataset.from_tensors(np.array([b"a", b"b"])).unbatch()


@case(differs="More is known in advance")
def unbatch_nothing(tf):
    return tf.data.Dataset.from_tensors(np.zeros((0, 2), np.int8)).unbatch()


@case(differs="at its position")
def unbatch_scalars(tf):
    return numbers(tf).unbatch()


@case(differs="at its position")
def unbatch_unequal_leaves(tf):
    return tf.data.Dataset.from_tensors((np.arange(2), np.arange(3))).unbatch()


@case(differs="More is known in advance")
def rebatch_smaller(tf):
    return numbers(tf, 8).batch(4).rebatch(3)


@case()
def rebatch_larger(tf):
    return numbers(tf, 8).batch(3).rebatch(5)


@case()
def rebatch_without_the_remainder(tf):
    return numbers(tf, 8).batch(3).rebatch(5, drop_remainder=True)


@case()
def rebatch_sizes_in_turn(tf):
    return numbers(tf, 9).batch(4).rebatch([1, 3])


@case(differs="Bugs that are not reproduced")
def rebatch_to_none(tf):
    return numbers(tf, 9).batch(4).rebatch(0)


@case()
def padded_to_the_longest(tf):
    return ragged(tf, 1, 3, 2, 0).padded_batch(2)


@case()
def padded_to_a_shape(tf):
    return ragged(tf, 1, 3, 2).padded_batch(2, padded_shapes=(4,))


@case()
def padded_with_a_value(tf):
    return ragged(tf, 1, 3, 2).padded_batch(2, padding_values=np.float32(-1))


@case()
def padded_without_the_remainder(tf):
    return ragged(tf, 1, 3, 2).padded_batch(2, drop_remainder=True)


@case()
def padded_pairs(tf):
    ds = tf.data.Dataset.zip((ragged(tf, 1, 3, 2), numbers(tf)))
    return ds.padded_batch(
        2, padded_shapes=((None,), ()), padding_values=(np.float32(9), np.int64(0))
    )


@case()
def padded_strings(tf):
    ds = tf.data.Dataset.from_generator(
        lambda: iter([[b"a"], [b"b", b"c"]]), output_signature=tf.TensorSpec((None,), tf.string)
    )
    return ds.padded_batch(2)


@case()
def padded_scalars(tf):
    return numbers(tf).padded_batch(2)


@case(differs="**Errors lose no data.**")
def padded_too_small(tf):
    return ragged(tf, 1, 3, 2, 2).padded_batch(2, padded_shapes=(2,))


@case()
def padded_with_another_dtype(tf):
    return ragged(tf, 1, 3).padded_batch(2, padding_values=np.int64(1))


@case()
def padded_with_another_rank(tf):
    return ragged(tf, 1, 3).padded_batch(2, padded_shapes=(2, 2))


@case()
def padded_by_none(tf):
    return ragged(tf, 1, 3).padded_batch(0)


@case(differs="a ragged leaf is the pair")
def ragged_batches(tf):
    return ragged(tf, 1, 3, 2, 0).ragged_batch(3)


@case(differs="a ragged leaf is the pair")
def ragged_batches_without_the_remainder(tf):
    return ragged(tf, 1, 3, 2, 0).ragged_batch(3, drop_remainder=True)
