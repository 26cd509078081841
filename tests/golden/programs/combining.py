"""Several datasets: zip, concatenate, and choices between them."""

import numpy as np

from programs import case


def numbers(tf, n=4):
    return tf.data.Dataset.range(n)


def letters(tf):
    return tf.data.Dataset.from_tensor_slices(np.array([b"a", b"b", b"c"]))


@case()
def zip_arguments(tf):
    return tf.data.Dataset.zip(numbers(tf), letters(tf))


@case()
def zip_a_tuple(tf):
    return tf.data.Dataset.zip((numbers(tf), letters(tf)))


@case()
def zip_nested(tf):
    return tf.data.Dataset.zip({"x": numbers(tf), "y": (letters(tf), numbers(tf))})


@case()
def zip_one(tf):
    return tf.data.Dataset.zip(numbers(tf, 2))


@case()
def zip_one_in_a_tuple(tf):
    return tf.data.Dataset.zip((numbers(tf, 2),))


@case(differs="**`zip` takes lists**")
def zip_a_list(tf):
    return tf.data.Dataset.zip([numbers(tf), letters(tf)])


@case()
def zip_by_keyword(tf):
    return tf.data.Dataset.zip(datasets=(numbers(tf), letters(tf)))


@case()
def zip_nothing(tf):
    return tf.data.Dataset.zip()


@case()
def zip_something_else(tf):
    return tf.data.Dataset.zip((numbers(tf), np.int64(3)))


@case()
def zip_with_nothing_in_it(tf):
    return tf.data.Dataset.zip((numbers(tf), numbers(tf, 0)))


@case()
def zip_finite_and_infinite(tf):
    return tf.data.Dataset.zip((numbers(tf), letters(tf).repeat()))


@case()
def zip_unknown(tf):
    return tf.data.Dataset.zip((numbers(tf).filter(lambda x: x > 1), letters(tf)))


@case()
def concatenate_two(tf):
    return numbers(tf, 2).concatenate(tf.data.Dataset.range(7, 9))


@case()
def concatenate_other_dtypes(tf):
    return numbers(tf).concatenate(letters(tf))


@case()
def concatenate_other_structures(tf):
    return numbers(tf).concatenate(tf.data.Dataset.zip((numbers(tf), numbers(tf))))


@case()
def concatenate_other_keys(tf):
    one = tf.data.Dataset.from_tensors({"a": np.int64(1)})
    return one.concatenate(tf.data.Dataset.from_tensors({"b": np.int64(1)}))


@case()
def concatenate_other_shapes(tf):
    one = tf.data.Dataset.from_tensors(np.zeros(2, np.int8))
    return one.concatenate(tf.data.Dataset.from_tensors(np.zeros(3, np.int8)))


@case()
def concatenate_other_ranks(tf):
    one = tf.data.Dataset.from_tensors(np.zeros((2, 1), np.int8))
    return one.concatenate(tf.data.Dataset.from_tensors(np.zeros(3, np.int8)))


@case()
def concatenate_behind_an_infinite_one(tf):
    return numbers(tf, 2).repeat().concatenate(numbers(tf, 2))


@case(differs="Exception types")
def concatenate_no_dataset(tf):
    return numbers(tf).concatenate(3)
