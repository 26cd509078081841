"""Stateful and grouping stages: scan, unique, window, group_by_window, choices."""

import numpy as np

from programs import case


def numbers(tf, n=7):
    return tf.data.Dataset.range(n)


@case()
def scan_sums(tf):
    return numbers(tf).scan(np.int64(10), lambda state, x: (state + x, state * x))


@case()
def take_while_small(tf):
    return numbers(tf).take_while(lambda x: x < 3)


@case()
def take_while_never(tf):
    return numbers(tf).take_while(lambda x: x < 0)


@case()
def unique_numbers(tf):
    return tf.data.Dataset.from_tensor_slices(np.array([3, 1, 3, 2, 1], np.int64)).unique()


@case()
def unique_strings(tf):
    return tf.data.Dataset.from_tensor_slices(np.array([b"a", b"b", b"a"])).unique()


@case()
def unique_floats(tf):
    return tf.data.Dataset.from_tensor_slices(np.array([1.5, 1.5], np.float32)).unique()


def failing(tf, place):
    def check(x):
        if x == place:
            raise ValueError(f"element {x}")
        return np.int64(x)

    return numbers(tf, 5).map(
        lambda x: tf.ensure_shape(tf.numpy_function(check, [x], tf.int64), [])
    )


@case()
def error_before_scan(tf):
    return failing(tf, 2).scan(np.int64(0), lambda state, x: (state + x, state))


@case()
def error_before_take_while(tf):
    return failing(tf, 2).take_while(lambda x: x < 4)


@case()
def error_before_unique(tf):
    return failing(tf, 2).unique()


@case(differs="**Errors lose no data.**")
def error_before_window(tf):
    return failing(tf, 2).window(2)


@case(spec=False)
def error_before_group_by_window(tf):
    return failing(tf, 2).group_by_window(lambda x: x % 2, lambda key, w: w.batch(2), 2)


@case()
def error_before_padded_batch(tf):
    return failing(tf, 2).padded_batch(2)


@case()
def error_before_choose(tf):
    choice = tf.data.Dataset.from_tensor_slices(np.zeros(5, np.int64))
    return tf.data.Dataset.choose_from_datasets([failing(tf, 2)], choice)


@case(differs="**Functions are not traced.**")
def scan_with_another_state(tf):
    return numbers(tf).scan(np.int64(0), lambda state, x: (tf.cast(state, tf.float32), x))


@case(differs="**Functions are not traced.**")
def take_while_no_bool(tf):
    return numbers(tf).take_while(lambda x: x)


@case()
def choose_among_other_dtypes(tf):
    others = [numbers(tf), tf.data.Dataset.from_tensors(b"a")]
    return tf.data.Dataset.choose_from_datasets(others, numbers(tf, 2))


@case()
def choose_none(tf):
    return tf.data.Dataset.choose_from_datasets([], numbers(tf))


@case(differs="any integer type")
def choose_by_int32(tf):
    choice = tf.data.Dataset.range(2, output_type=tf.int32)
    return tf.data.Dataset.choose_from_datasets([numbers(tf), numbers(tf)], choice)


@case(ordered=False)
def sample_until_one_is_empty(tf):
    datasets = [tf.data.Dataset.range(0), tf.data.Dataset.range(10, 13)]
    return tf.data.Dataset.sample_from_datasets(datasets, seed=3, stop_on_empty_dataset=True).take(
        0
    )


@case()
def sample_with_too_few_weights(tf):
    return tf.data.Dataset.sample_from_datasets([numbers(tf), numbers(tf)], [1.0])


@case()
def sample_one(tf):
    return tf.data.Dataset.sample_from_datasets([numbers(tf)])


@case()
def list_of_other_shapes(tf):
    return tf.data.experimental.from_list([np.zeros(1, np.int8), np.zeros(2, np.int8)])


@case()
def list_of_nothing(tf):
    return tf.data.experimental.from_list([])


@case()
def padded_to_too_small_a_cardinality(tf):
    ds = numbers(tf, 3).map(lambda x: {"x": x})
    return ds.apply(tf.data.experimental.pad_to_cardinality(2))


@case()
def padded_to_a_cardinality_without_a_dict(tf):
    return numbers(tf, 2).apply(tf.data.experimental.pad_to_cardinality(4))


@case()
def bucket_padded_to_boundaries(tf):
    ds = tf.data.Dataset.from_generator(
        lambda: (np.full(n, n, np.int64) for n in [1, 2, 3, 4, 1]),
        output_signature=tf.TensorSpec((None,), tf.int64),
    )
    return ds.bucket_by_sequence_length(
        lambda x: tf.shape(x)[0], [3, 6], [2, 2, 2], pad_to_bucket_boundary=True
    )


@case()
def bucket_with_too_few_sizes(tf):
    return numbers(tf).bucket_by_sequence_length(lambda x: x, [3, 6], [2, 2])


@case(ordered=False)
def random_numbers_of_no_seed(tf):
    return tf.data.Dataset.random(seed=1).take(3).map(lambda x: x >= 0)


@case()
def counting(tf):
    return tf.data.Dataset.counter(3, -2)


@case()
def window_of_two(tf):
    return numbers(tf).window(2)


@case()
def window_with_shift(tf):
    return numbers(tf).window(3, shift=2, drop_remainder=True)


@case()
def window_with_stride(tf):
    return numbers(tf).window(2, shift=1, stride=2)


@case()
def window_with_a_large_shift(tf):
    return numbers(tf).window(2, shift=3)


@case()
def window_of_none(tf):
    return numbers(tf).window(0)


@case()
def window_of_pairs(tf):
    return numbers(tf, 3).enumerate(5).window(2)


@case()
def window_of_dicts(tf):
    return numbers(tf, 3).map(lambda x: {"a": x, "b": -x}).window(2)


@case()
def window_into_batches(tf):
    return numbers(tf).window(3, 1, drop_remainder=True).flat_map(lambda w: w.batch(3))


@case()
def group_by_parity(tf):
    return numbers(tf, 9).group_by_window(lambda x: x % 2, lambda key, w: w.batch(3), window_size=3)


@case()
def group_by_sizes_of_their_own(tf):
    return numbers(tf, 9).group_by_window(
        lambda x: x % 3, lambda key, w: w.batch(9), window_size_func=lambda key: key + 1
    )


@case()
def group_by_both_sizes(tf):
    return numbers(tf).group_by_window(
        lambda x: x, lambda key, w: w, window_size=2, window_size_func=lambda key: key
    )


@case()
def choose_in_turn(tf):
    datasets = [tf.data.Dataset.range(10 * i, 10 * i + 3) for i in range(3)]
    choice = tf.data.Dataset.range(3).repeat(4)
    return tf.data.Dataset.choose_from_datasets(datasets, choice)


@case()
def choose_until_all_are_empty(tf):
    datasets = [tf.data.Dataset.range(10 * i, 10 * i + i + 1) for i in range(3)]
    choice = tf.data.Dataset.range(3).repeat(4)
    return tf.data.Dataset.choose_from_datasets(datasets, choice, stop_on_empty_dataset=False)


@case()
def choose_too_far(tf):
    datasets = [tf.data.Dataset.range(3), tf.data.Dataset.range(3)]
    choice = tf.data.Dataset.from_tensor_slices(np.array([0, 2, 1], np.int64))
    return tf.data.Dataset.choose_from_datasets(datasets, choice)


@case(ordered=False)
def sample_until_all_are_empty(tf):
    datasets = [tf.data.Dataset.range(3), tf.data.Dataset.range(10, 13)]
    return tf.data.Dataset.sample_from_datasets(datasets, [0.5, 0.5], seed=3)


@case(ordered=False)
def sample_with_a_weight_of_zero(tf):
    datasets = [tf.data.Dataset.range(3), tf.data.Dataset.range(10, 13)]
    return tf.data.Dataset.sample_from_datasets(datasets, [1.0, 0.0], seed=3)


@case()
def bucket_by_length(tf):
    ds = tf.data.Dataset.from_generator(
        lambda: (np.full(n, n, np.int64) for n in [1, 4, 2, 5, 3, 1, 9]),
        output_signature=tf.TensorSpec((None,), tf.int64),
    )
    return ds.bucket_by_sequence_length(lambda x: tf.shape(x)[0], [3, 5], [2, 2, 2])


@case()
def reduced_by_key(tf):
    reducer = tf.data.experimental.Reducer(
        lambda key: np.int64(0), lambda state, x: state + x, lambda state: state * 10
    )
    return numbers(tf).apply(tf.data.experimental.group_by_reducer(lambda x: x % 2, reducer))


@case()
def elements_of_a_list(tf):
    return tf.data.experimental.from_list([np.int64(1), np.int64(2)])


@case()
def padded_to_a_cardinality(tf):
    ds = numbers(tf, 2).map(lambda x: {"x": x})
    return ds.apply(tf.data.experimental.pad_to_cardinality(4))


@case(spec=False)
def errors_ignored(tf):
    def check(x):
        if x % 3 == 1:
            raise ValueError("one")
        return np.int64(x)

    return numbers(tf).map(lambda x: tf.numpy_function(check, [x], tf.int64)).ignore_errors()


@case(ordered=False)
def resampled(tf):
    ds = tf.data.Dataset.from_tensors(np.int64(1)).repeat(4)
    return ds.rejection_resample(lambda x: tf.cast(x, tf.int32), [0.0, 1.0], [0.0, 1.0], seed=1)
