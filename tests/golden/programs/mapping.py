"""Functions of elements: map, filter, flat_map, interleave."""

import collections

import numpy as np

from programs import case

Pair = collections.namedtuple("Pair", ["left", "right"])


def numbers(tf, n=5):
    return tf.data.Dataset.range(n)


@case()
def map_a_scalar(tf):
    return numbers(tf).map(lambda x: x * 2)


@case()
def map_a_pair(tf):
    return numbers(tf).enumerate(7).map(lambda i, x: i - x)


@case()
def map_a_dict(tf):
    return numbers(tf).map(lambda x: {"b": x, "a": x + 1}).map(lambda d: d["b"] - d["a"])


@case()
def map_keeps_the_order_of_keys(tf):
    return numbers(tf, 2).map(lambda x: {"b": x, "a": x})


@case()
def map_a_named_tuple_is_one_argument(tf):
    return numbers(tf, 2).map(lambda x: Pair(x, x + 1)).map(lambda p: p.right)


@case()
def map_a_one_tuple_is_unpacked(tf):
    return numbers(tf, 2).map(lambda x: (x,)).map(lambda x: x + 1)


@case()
def map_to_a_list_is_a_tuple(tf):
    return numbers(tf, 2).map(lambda x: [x, x + 1])


@case(differs="sizes are known where tracing shows them")
def map_to_an_inner_list_is_an_array(tf):
    return numbers(tf, 2).map(lambda x: (x, [x, x + 1]))


@case()
def map_an_inner_tuple_stays(tf):
    return numbers(tf, 2).map(lambda x: (x, (x, x))).map(lambda a, b: b)


@case()
def map_to_nothing(tf):
    return numbers(tf, 2).map(lambda x: (x, None))


@case()
def map_in_parallel(tf):
    return numbers(tf, 20).map(lambda x: x * x, num_parallel_calls=4)


@case()
def map_in_parallel_found_out(tf):
    return numbers(tf, 20).map(lambda x: x * x, num_parallel_calls=tf.data.AUTOTUNE)


@case()
def map_with_no_calls(tf):
    return numbers(tf).map(lambda x: x, num_parallel_calls=0)


@case()
def map_synchronous_and_parallel(tf):
    return numbers(tf).map(lambda x: x, num_parallel_calls=2, synchronous=True)


@case()
def map_over_nothing(tf):
    return numbers(tf, 0).map(lambda x: x + 1)


@case(differs="Exception types")
def map_without_a_function(tf):
    return numbers(tf).map(3)


@case(differs="sizes are known where tracing shows them")
def map_to_an_array(tf):
    return numbers(tf, 2).map(lambda x: tf.stack([x, x]))


@case()
def filter_some(tf):
    return numbers(tf).filter(lambda x: x % 2 == 0)


@case()
def filter_all(tf):
    return numbers(tf).filter(lambda x: x < 0)


@case()
def filter_nothing_of_nothing(tf):
    return numbers(tf, 0).filter(lambda x: x > 0)


@case()
def filter_by_a_pair(tf):
    return numbers(tf).enumerate(2).filter(lambda i, x: i > 3)


@case(differs="**Functions are not traced.**")
def filter_by_a_number(tf):
    return numbers(tf).filter(lambda x: x % 2)


@case()
def filter_of_an_infinite_dataset(tf):
    return numbers(tf).repeat().filter(lambda x: x == 2)


@case()
def flat_map_of_ranges(tf):
    return numbers(tf, 4).flat_map(tf.data.Dataset.range)


@case()
def flat_map_of_slices(tf):
    rows = tf.data.Dataset.from_tensor_slices(np.arange(6, dtype=np.int32).reshape(3, 2))
    return rows.flat_map(tf.data.Dataset.from_tensor_slices)


@case(differs="**Functions are not traced.**")
def flat_map_of_nothing(tf):
    return numbers(tf, 3).flat_map(lambda x: tf.data.Dataset.range(0))


@case()
def flat_map_of_an_infinite_dataset(tf):
    return numbers(tf, 3).repeat().flat_map(lambda x: tf.data.Dataset.range(1))


@case()
def flat_map_to_infinite_datasets(tf):
    return numbers(tf, 3).flat_map(lambda x: tf.data.Dataset.from_tensors(x).repeat())


@case(differs="**Functions are not traced.**")
def flat_map_to_no_dataset(tf):
    return numbers(tf, 3).flat_map(lambda x: x)


def repeated(tf):
    return lambda x: tf.data.Dataset.from_tensors(x).repeat(x)


@case()
def interleave_two_by_two(tf):
    return tf.data.Dataset.range(1, 6).interleave(repeated(tf), cycle_length=2, block_length=2)


@case()
def interleave_three_by_one(tf):
    return tf.data.Dataset.range(1, 7).interleave(repeated(tf), cycle_length=3)


@case()
def interleave_one_by_two(tf):
    return tf.data.Dataset.range(1, 5).interleave(repeated(tf), cycle_length=1, block_length=2)


@case()
def interleave_more_than_there_are(tf):
    return tf.data.Dataset.range(1, 4).interleave(repeated(tf), cycle_length=9, block_length=1)


@case()
def interleave_in_parallel(tf):
    return tf.data.Dataset.range(1, 7).interleave(
        repeated(tf), cycle_length=3, block_length=2, num_parallel_calls=2
    )


@case()
def interleave_with_empty_ones(tf):
    return tf.data.Dataset.range(8).interleave(lambda x: tf.data.Dataset.range(x % 3), 2, 1)


@case()
def interleave_with_empty_ones_in_parallel(tf):
    return tf.data.Dataset.range(8).interleave(
        lambda x: tf.data.Dataset.range(x % 3), 2, 1, num_parallel_calls=2
    )


@case()
def interleave_none_at_a_time(tf):
    return numbers(tf).interleave(repeated(tf), cycle_length=0)


@case()
def interleave_blocks_of_none(tf):
    return numbers(tf).interleave(repeated(tf), cycle_length=2, block_length=0)


@case()
def interleave_more_calls_than_inputs(tf):
    return numbers(tf).interleave(repeated(tf), cycle_length=2, num_parallel_calls=3)


@case()
def interleave_of_an_infinite_dataset(tf):
    return numbers(tf).repeat().interleave(repeated(tf), cycle_length=2)
