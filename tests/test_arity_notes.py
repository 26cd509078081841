"""A function with a wrong number of parameters raises an error that names its arguments."""

import numpy as np
import pytest

from penstock import Dataset

PAIRS = Dataset.from_tensor_slices((np.arange(3), np.arange(3)))


def notes_of(ds):
    with pytest.raises(TypeError) as told:
        list(ds)
    return [note for note in told.value.__notes__ if "in stage" not in note]


@pytest.mark.parametrize("calls", [None, 2])
def test_one_argument_for_a_tuple(calls):
    (note,) = notes_of(PAIRS.map(lambda pair: pair, calls))
    assert "map calls the function with 2 arguments" in note
    assert "lambda a, b: ..." in note


def test_rows_one_by_one():
    (note,) = notes_of(PAIRS.shuffle(3).map(lambda pair: pair))
    assert "map calls the function with 2 arguments" in note


def test_other_stages():
    assert "filter calls" in notes_of(PAIRS.filter(lambda pair: True))[0]
    assert "flat_map calls" in notes_of(PAIRS.flat_map(lambda pair: Dataset.range(1)))[0]
    assert "scan calls this function with 2" in notes_of(PAIRS.scan(0, lambda a, b, c: (a, b)))[0]


def test_two_arguments_for_one_element():
    (note,) = notes_of(Dataset.range(3).map(lambda a, b: a))
    assert "with one argument, the element" in note


def test_generator_beside_them():
    (note,) = notes_of(PAIRS.map(lambda pair, *, rng: pair))
    assert "with 2 arguments" in note


@pytest.mark.parametrize(
    "function",
    [
        lambda a, b: (lambda x: x)(a, b),  # of an inner call
        lambda a, b: a + "text",
        lambda *pair: len(*pair),
        np.add.outer,
        lambda a, b: {1}.add({}),
        lambda a, b: object(),
    ],
)
def test_other_type_errors_are_left_alone(function):
    seen = []
    ds = PAIRS.map(function, on_error=lambda error, info: seen.append(error))
    assert len(list(ds)) + len(seen) == 3
    for error in seen:
        assert all("in stage" in note for note in error.__notes__)


def test_builtin_that_fails_inside_is_left_alone():
    assert notes_of(Dataset.from_tensor_slices(["a"]).map(abs)) == []
