"""Sources in memory: range, from_tensors, from_tensor_slices, from_generator and their edges."""

import collections

import numpy as np

from programs import case

Pair = collections.namedtuple("Pair", ["left", "right"])


@case()
def range_of_one_number(tf):
    return tf.data.Dataset.range(4)


@case()
def range_with_a_step(tf):
    return tf.data.Dataset.range(3, 10, 3)


@case()
def range_downwards(tf):
    return tf.data.Dataset.range(5, -1, -2)


@case()
def range_that_is_empty(tf):
    return tf.data.Dataset.range(5, 2)


@case()
def range_of_a_negative_number(tf):
    return tf.data.Dataset.range(-3)


@case()
def range_downwards_that_is_empty(tf):
    return tf.data.Dataset.range(2, 5, -1)


@case()
def range_of_int32(tf):
    return tf.data.Dataset.range(3, output_type=tf.int32)


@case()
def range_of_floats(tf):
    return tf.data.Dataset.range(1, 4, output_type=tf.float32)


@case()
def range_with_step_zero(tf):
    return tf.data.Dataset.range(1, 4, 0)


@case(differs="Exception types")
def range_without_arguments(tf):
    return tf.data.Dataset.range()


@case(differs="Exception types")
def range_of_four_arguments(tf):
    return tf.data.Dataset.range(1, 2, 3, 4)


@case()
def from_tensors_scalar(tf):
    return tf.data.Dataset.from_tensors(np.float32(1.5))


@case()
def from_tensors_nested(tf):
    value = {"a": (np.int32(1), np.zeros((2, 0), np.int8)), "b": Pair(b"x", np.array([b"y", b""]))}
    return tf.data.Dataset.from_tensors(value)


@case(differs="**Values are NumPy's.**")
def from_tensors_list_is_an_array(tf):
    return tf.data.Dataset.from_tensors([np.int16(1), np.int16(2)])


@case()
def from_tensors_none(tf):
    return tf.data.Dataset.from_tensors((np.int64(1), None))


@case()
def from_tensors_one_tuple(tf):
    return tf.data.Dataset.from_tensors((np.int64(1),))


@case()
def from_tensors_dtypes(tf):
    kinds = ["bool", "int8", "uint8", "int16", "uint16", "uint32", "uint64", "float16", "complex64"]
    return tf.data.Dataset.from_tensors(tuple(np.ones(2, kind) for kind in kinds))


@case(differs="**Values are NumPy's.**")
def from_tensors_python_numbers(tf):
    return tf.data.Dataset.from_tensors((1, 2.5))


@case(differs="**Values are NumPy's.**")
def from_tensors_text(tf):
    return tf.data.Dataset.from_tensors("text")


@case()
def slices_of_rows(tf):
    return tf.data.Dataset.from_tensor_slices(np.arange(6, dtype=np.int32).reshape(3, 2))


@case()
def slices_of_scalars(tf):
    return tf.data.Dataset.from_tensor_slices(np.array([1.5, 2.5], np.float32))


@case()
def slices_of_a_structure(tf):
    value = {"x": np.arange(2), "y": (np.array([b"a", b"bc"]), np.zeros((2, 0)))}
    return tf.data.Dataset.from_tensor_slices(value)


@case()
def slices_of_a_named_tuple(tf):
    return tf.data.Dataset.from_tensor_slices(Pair(np.arange(2), np.arange(2) > 0))


@case()
def slices_of_nothing(tf):
    return tf.data.Dataset.from_tensor_slices(np.zeros((0, 3), np.float32))


@case()
def slices_of_unequal_lengths(tf):
    return tf.data.Dataset.from_tensor_slices((np.arange(2), np.arange(3)))


@case()
def slices_of_a_scalar(tf):
    return tf.data.Dataset.from_tensor_slices(np.int64(3))


@case()
def slices_of_an_empty_structure(tf):
    return tf.data.Dataset.from_tensor_slices(())


@case(differs="**Values are NumPy's.**")
def slices_of_lists(tf):
    return tf.data.Dataset.from_tensor_slices([[np.int8(1), np.int8(2)], [np.int8(3), np.int8(4)]])


def pairs():
    yield np.int64(1), np.float32(0.5)
    yield np.int64(2), np.float32(1.5)


def signature(tf):
    return tf.TensorSpec((), tf.int64), tf.TensorSpec((), tf.float32)


@case()
def generator_with_a_signature(tf):
    return tf.data.Dataset.from_generator(pairs, output_signature=signature(tf))


@case()
def generator_with_types(tf):
    return tf.data.Dataset.from_generator(pairs, output_types=(tf.int64, tf.float32))


@case()
def generator_with_types_and_shapes(tf):
    return tf.data.Dataset.from_generator(pairs, (tf.int64, tf.float32), ((), ()))


@case(differs="**`from_generator` needs no signature.**")
def generator_without_anything(tf):
    return tf.data.Dataset.from_generator(pairs)


@case()
def generator_with_both(tf):
    return tf.data.Dataset.from_generator(
        pairs, output_types=(tf.int64, tf.float32), output_signature=signature(tf)
    )


@case()
def generator_that_is_none(tf):
    return tf.data.Dataset.from_generator(pairs(), output_signature=signature(tf))


@case()
def generator_with_arguments(tf):
    def count(n, step):
        yield from (np.int64(i * step) for i in range(n))

    return tf.data.Dataset.from_generator(
        count, args=(3, np.int64(2)), output_signature=tf.TensorSpec((), tf.int64)
    )


@case()
def generator_over_again(tf):
    return tf.data.Dataset.from_generator(pairs, output_signature=signature(tf)).repeat(2)


@case()
def generator_of_lists(tf):
    return tf.data.Dataset.from_generator(
        lambda: iter([[1, 2], [3]]), output_signature=tf.TensorSpec((None,), tf.int32)
    )


@case()
def generator_converts_numbers(tf):
    return tf.data.Dataset.from_generator(
        lambda: iter([1, 2]), output_signature=tf.TensorSpec((), tf.float32)
    )


@case()
def generator_that_raises(tf):
    def broken():
        yield np.int64(1)
        raise ValueError("broken")

    return tf.data.Dataset.from_generator(broken, output_signature=tf.TensorSpec((), tf.int64))


@case(differs="Exception types")
def generator_of_the_wrong_shape(tf):
    values = [np.zeros(2, np.int64), np.zeros(3, np.int64), np.ones(2, np.int64)]
    return tf.data.Dataset.from_generator(
        lambda: iter(values), output_signature=tf.TensorSpec((2,), tf.int64)
    )


@case(differs="Exception types")
def generator_of_the_wrong_structure(tf):
    values = [np.int64(1), (np.int64(2), np.int64(3)), np.int64(4)]
    return tf.data.Dataset.from_generator(
        lambda: iter(values), output_signature=tf.TensorSpec((), tf.int64)
    )


@case(differs="Exception types")
def generator_of_the_wrong_type(tf):
    values = [np.int64(1), b"text", np.int64(4)]
    return tf.data.Dataset.from_generator(
        lambda: iter(values), output_signature=tf.TensorSpec((), tf.int64)
    )


@case()
def generator_of_nothing(tf):
    return tf.data.Dataset.from_generator(
        lambda: iter([]), output_signature=tf.TensorSpec((), tf.int64)
    )
