"""padded_batch: refused arguments, and elements that fit no batch."""

import numpy as np
import pytest

import penstock as ps
from compare import assert_same
from contract import steps


def of(values, **signature):
    return ps.Dataset.from_generator(lambda: iter(values), **signature)


@pytest.mark.parametrize(
    ("dtype", "value"),
    [
        ("i4", -1),
        ("u1", 255),
        ("i8", np.int64(3)),
        ("f2", -1.5),
        ("f4", float("nan")),
        ("f8", np.float64(2)),
        ("bool", True),
        ("c8", 1j),
        ("M8[s]", np.datetime64("NaT", "s")),
        ("f4", np.array(2, np.float32)),
    ],
)
def test_a_python_number_has_the_dtype_of_its_leaf(dtype, value):
    batch = of([np.zeros(1, dtype)]).padded_batch(1, [2], value).first()
    wanted = np.zeros((1, 2), dtype)
    wanted[0, 1] = value
    assert_same([batch], [wanted])


@pytest.mark.parametrize(
    ("dtype", "value"),
    [
        ("i4", 1.0),
        ("f4", 1),
        ("i4", np.int64(1)),
        ("u1", -1),
        ("u1", 256),
        ("bool", 1),
        ("i8", True),
        ("f8", "x"),
        ("M8[s]", np.datetime64("NaT", "D")),
    ],
)
@pytest.mark.parametrize("known", [False, True])
def test_a_value_of_another_dtype_is_refused(dtype, value, known):
    if known:
        with pytest.raises(
            TypeError, match="padding_values for the component must be of its dtype"
        ):
            ps.Dataset.from_tensor_slices(np.zeros((2, 1), dtype)).padded_batch(1, None, value)
        return
    came = steps(iter(of([np.zeros(1, dtype)] * 2).padded_batch(2, None, value)))
    assert [s.kind for s in came] == ["TypeError"] * 2


KNOWN = {
    "vector": lambda: ps.Dataset.from_tensor_slices(np.zeros((4, 2))),
    "pair": lambda: ps.Dataset.from_tensor_slices(([[1]], [[2.0]])),
    "dict": lambda: ps.Dataset.from_tensor_slices({"a": [[1]], "b": [[2.0]]}),
    "rankless": lambda: of([[1]], output_types=np.int64),
}


@pytest.mark.parametrize(
    ("source", "arguments", "error", "words"),
    [
        ("vector", {"batch_size": 0}, ValueError, "batch_size must be >= 1, got 0"),
        ("vector", {"batch_size": 2.0}, TypeError, "batch_size must be an int"),
        ("vector", {"padded_shapes": [1]}, ValueError, r"has \(1,\) for the component"),
        ("vector", {"padded_shapes": [2, 2]}, ValueError, r"shape \(2,\); give as many axes"),
        ("vector", {"padded_shapes": []}, ValueError, r"has \(\) for the component"),
        ("vector", {"padded_shapes": [-2]}, ValueError, "sizes >= 0"),
        ("vector", {"padded_shapes": [2.5]}, TypeError, "ints and None"),
        ("vector", {"padded_shapes": "ab"}, TypeError, "ints and None"),
        ("vector", {"padding_values": [0.0]}, ValueError, "must be scalars"),
        ("vector", {"padding_values": 2**70}, ValueError, "must fit 64 bits"),
        ("vector", {"padding_values": (0.0,)}, ValueError, "nested as the elements are, leaf"),
        (
            "pair",
            {"padded_shapes": ([1],)},
            ValueError,
            r"nested as the elements are, \(leaf, leaf\)",
        ),
        ("pair", {"padded_shapes": [None]}, ValueError, "nested as the elements are"),
        ("pair", {"padded_shapes": ([1], [0])}, ValueError, r"has \(0,\) for component \[1\]"),
        ("pair", {"padding_values": 0}, TypeError, r"component \[1\] must be of its dtype float64"),
        ("pair", {"padding_values": (0, 0.0, 0)}, ValueError, "nested as the elements are"),
        ("dict", {"padded_shapes": {"a": [1]}}, ValueError, "nested as the elements are"),
        ("dict", {"padding_values": {"a": 1}}, ValueError, "nested as the elements are"),
        ("dict", {"padding_values": {"a": 1, "c": 1.0}}, ValueError, "nested as the elements are"),
        (
            "rankless",
            {},
            ValueError,
            "padded_shapes must be given, because the component has an unkn",
        ),
    ],
)
def test_wrong_arguments_are_refused_at_the_call(source, arguments, error, words):
    with pytest.raises(error, match=f"padded_batch: .*{words}"):
        KNOWN[source]().padded_batch(**{"batch_size": 2, **arguments})


@pytest.mark.parametrize(
    ("values", "shapes", "words"),
    [
        (
            [np.ones(1), np.zeros(3), np.ones(1)],
            [2],
            "element 1 has shape (3,), padded_shapes allows (2,)",
        ),
        (
            [np.ones(1), np.zeros((1, 1)), np.ones(1)],
            [None],
            "element 1 has shape (1, 1), padded_shapes allows (None,)",
        ),
        ([np.ones(1), 2.0, np.ones(1)], None, "element 1 has shape (), the batch began with (1,)"),
        ([1, 2.0, 3], None, "element 1 has dtype float64, the batch began with int64"),
        ([{"a": [1]}, {"b": [1]}, {"a": [3]}], None, "element 1 has structure"),
        ([([1], [2]), ([1], [[2]]), ([3], [4])], None, "element 1's leaf [1] has shape (1, 1)"),
    ],
)
def test_what_does_not_fit_is_named_and_left_out(values, shapes, words):
    def source(values):
        rows = ps.Dataset.range(len(values)).map(lambda i: values[i])
        return rows.padded_batch(3, shapes)

    came = steps(iter(source(values)))
    assert came[0].kind == "ValueError"
    assert came[0].text.startswith("padded_batch: ")
    assert words in came[0].text
    assert_same(came[1:], list(source([values[0], values[2]])))


@pytest.mark.parametrize("declared", [True, False])
def test_none_among_arrays_is_refused(declared):
    ds = ps.Dataset.range(3)
    ds = (
        ps.Dataset.zip((ds, ps.Dataset.from_tensors(None).repeat(3)))
        if declared
        else ds.map(lambda x: (x, None))
    )
    with pytest.raises(TypeError, match="got elements with None"):
        list(ds.padded_batch(2))
