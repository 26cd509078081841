"""Arguments of a wrong type: the error names the function, the expected and the actual type."""

import re

import numpy as np
import pytest

import penstock as ps

RANGE = ps.Dataset.range(3)


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: RANGE.apply(3), r"apply: transformation_func must be callable, got 3$"),
        (lambda: iter(RANGE).set_state(5), r"set_state: bytes of get_state .* got a int$"),
        (lambda: ps.Dataset.list_files(3), r"list_files: file_pattern must be .* got 3$"),
        (lambda: ps.TFRecordDataset(3), r"TFRecordDataset: filenames must be a path.* got 3$"),
        (lambda: ps.set_seed("a"), r"set_seed: seed must be an int or None, got 'a'$"),
        (lambda: ps.TensorSpec(5, np.int32), r"TensorSpec: shape must be .* got 5$"),
        (lambda: ps.TensorSpec("a", np.int32), r"TensorSpec: shape must be .* got 'a'$"),
        (lambda: RANGE.cache(3), r"^cache: filename must be a str or a path, got 3$"),
        (lambda: RANGE.snapshot(None), r"^snapshot: path must be a str or a path, got None$"),
        (lambda: RANGE.save(3), r"^save: path must be a str or a path, got 3$"),
        (
            lambda: ps.experimental.make_csv_dataset("none.csv", "a"),
            r"^make_csv_dataset: batch_size must be an int, got 'a'$",
        ),
        (
            lambda: ps.experimental.make_batched_features_dataset("none", 1.5, {}),
            r"^make_batched_features_dataset: batch_size must be an int, got 1.5$",
        ),
    ],
)
def test_wrong_type(call, message):
    with pytest.raises(TypeError, match=message):
        call()


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (
            lambda: ps.experimental.make_csv_dataset("none.csv", 0),
            r"^make_csv_dataset: batch_size must be >= 1, got 0$",
        ),
        (
            lambda: ps.experimental.make_batched_features_dataset("none", -1, {}),
            r"^make_batched_features_dataset: batch_size must be >= 1, got -1$",
        ),
        (
            lambda: list(RANGE.rebatch(2)),
            r"^rebatch: element 0 is a scalar, an array with a first axis was expected$",
        ),
        (
            lambda: list(ps.Dataset.from_tensors(([1], [1, 2])).rebatch(2)),
            r"^rebatch: element 0\[1\] has 2 rows, its first leaf has 1$",
        ),
    ],
)
def test_an_error_names_what_was_called(call, message):
    with pytest.raises(ValueError) as told:
        call()
    assert re.search(message, str(told.value))  # without the note, which names the element


def nested_deep(value):
    for _ in range(3000):
        value = (value,)
    return value


def containing_itself():
    value = {}
    value["a"] = value
    return value


@pytest.mark.parametrize("make", [lambda: nested_deep(1), containing_itself])
@pytest.mark.parametrize(
    "call",
    [
        ps.Dataset.from_tensors,
        ps.Dataset.from_tensor_slices,
        lambda value: ps.experimental.from_list([value]),
        lambda value: RANGE.scan(value, lambda state, x: (state, x)),
        lambda value: list(RANGE.map(lambda x: value)),
    ],
)
def test_what_is_nested_without_end_is_said_to_be(call, make):
    with pytest.raises(ValueError, match=r"nested more than 200 deep \(does it contain itself\?\)"):
        call(make())


@pytest.mark.parametrize(
    "call",
    [
        ps.Dataset.zip,
        lambda value: RANGE.map(lambda x: x, output_signature=value),
        lambda value: RANGE.padded_batch(2, padding_values=value),
        lambda value: RANGE.padded_batch(2, padded_shapes=value),
    ],
)
def test_arguments_nested_without_end_are_named(call):
    with pytest.raises((TypeError, ValueError), match=r"datasets|output_signature|padding|padded"):
        call(nested_deep(None))


def test_seed_of_numpy_is_taken():
    try:
        ps.set_seed(np.int64(3))
        first = [int(x) for x in ps.Dataset.range(9).shuffle(9)]
        ps.set_seed(3)
        assert first == [int(x) for x in ps.Dataset.range(9).shuffle(9)]
    finally:
        ps.set_seed(None)
