"""Elements in the form that Keras expects; needs only NumPy."""

import dataclasses
from typing import Any, NamedTuple

import numpy as np
import pytest

import penstock as ps
from penstock.adapters.keras_elements import Packing, differing

X = np.zeros((3, 2), np.float32)
Y = np.array([0, 2, 1])


def packed(element, class_weight=None, numeric=True):
    return Packing(class_weight, "float32", numeric=numeric).element(element)


class Pair(NamedTuple):
    first: Any
    second: Any


@dataclasses.dataclass
class Record:
    first: Any
    second: Any


def test_one_input_comes_alone_and_the_others_as_tuples():
    assert packed(X) is X
    assert packed((X,)) is X
    assert packed((X, Y)) == (X, Y)
    assert packed(((X, X),)) == ((X, X),)
    assert packed(Pair(X, Y)) == (X, Y)
    assert type(packed(Pair(X, Y))) is tuple
    assert packed({"a": X}) == {"a": X}


def test_inside_tuples_stay_and_dataclasses_become_dicts():
    inside = packed((Pair(X, X), {"a": Record(X, None)}))
    assert type(inside[0]) is Pair
    assert inside[1] == {"a": {"first": X, "second": None}}


@pytest.mark.parametrize("element", [(), (X, X, X, X)])
def test_other_tuples_are_refused(element):
    with pytest.raises(ValueError, match=f"got a tuple of {len(element)}"):
        packed(element)


@pytest.mark.parametrize(
    ("element", "name"),
    [
        (np.float32(3), "x"),
        ((X, np.int64(3)), "y"),
        (({"a": (X, 3.5)}, Y), r"x\['a'\]\[1\]"),
        ((Record(X, "text"), Y), r"x\.second"),
    ],
)
def test_a_leaf_without_a_batch_axis_is_named(element, name):
    with pytest.raises(ValueError, match=f"to_keras: {name} should have a batch axis"):
        packed(element)


def test_strings_are_named_where_the_backend_has_none():
    words = np.array(["a", "b"], object)
    assert packed({"a": words}, numeric=False)["a"] is words
    with pytest.raises(TypeError, match=r"x\['a'\] should hold numbers"):
        packed({"a": words})


@pytest.mark.parametrize(
    "y",
    [
        np.array([0, 2, 1, 7]),
        np.array([[0], [2], [1], [7]]),
        np.array([0.0, 2.0, 1.0, 7.0], np.float32),
        np.eye(8, dtype=np.float32)[[0, 2, 1, 7]],
    ],
    ids=["numbers", "column", "floats", "one-hot"],
)
def test_class_weights_become_sample_weights(y):
    x, same, weights = packed((X, y), {0: 0.5, 2: 3})
    assert (x is X, same is y) == (True, True)
    assert weights.dtype == np.float32
    np.testing.assert_array_equal(weights, [0.5, 3, 1, 1])


def test_classes_below_zero_have_the_weight_one():
    np.testing.assert_array_equal(packed((X, np.array([-1, 0])), {0: 2.0})[2], [1, 2])


def test_class_weights_of_a_sequence_have_its_shape():
    y = np.array([[0, 1, 0], [1, 1, 0]])
    weights = packed((X, np.eye(2)[y]), {1: 4.0})[2]
    np.testing.assert_array_equal(weights, np.where(y == 1, 4, 1))


@pytest.mark.parametrize("element", [X, (X, Y, Y), (X, {"a": Y}), (X, None)])
def test_class_weights_need_a_single_y_and_no_sample_weights(element):
    with pytest.raises(ValueError, match="elements \\(x, y\\) with a single y were expected"):
        packed(element, {0: 2.0})


@pytest.mark.parametrize(
    ("weights", "error"),
    [
        *[([1.0], TypeError), ({}, TypeError), ({0: "a"}, TypeError)],
        *[({"a": 1}, ValueError), ({-1: 1}, ValueError)],
    ],
)
def test_wrong_class_weights_are_refused(weights, error):
    with pytest.raises(error, match="class_weight"):
        packed((X, Y), weights)


def test_the_specification_is_that_of_the_elements():
    ds = ps.Dataset.from_tensor_slices(({"a": X}, Y)).batch(2, drop_remainder=True)
    spec = Packing({0: 2.0}, "float32", numeric=True).spec(ds.element_spec)
    assert spec == (
        {"a": ps.TensorSpec((None, 2), np.float32)},
        ps.TensorSpec((None,), np.int64),
        ps.TensorSpec((None,), np.float32),
    )
    assert differing(packed(ds.first(), {0: 2.0}), spec) is None
    shape, wanted = differing(({"a": X[:, :1]}, Y, Y), spec)
    assert (shape, wanted) == ((3, 1), spec[0]["a"])


def test_a_specification_without_a_batch_axis_is_refused():
    with pytest.raises(ValueError, match="y should have a batch axis"):
        Packing(None, "float32", numeric=True).spec(
            (ps.TensorSpec((None, 2)), ps.TensorSpec((), np.int64))
        )
