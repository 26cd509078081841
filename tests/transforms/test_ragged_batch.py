"""ragged_batch: elements of different sizes, concatenated."""

import numpy as np
import pytest

import penstock as ps
from compare import assert_same
from contract import DatasetContract, Failure, steps


def filled(n):
    return np.full(n, n)


def triangles():
    return ps.Dataset.range(9).map(filled)


def joined(rows, dtype=np.int64):
    ends = np.cumsum([0, *map(len, rows)], dtype=dtype)
    return np.concatenate(rows), ends


class TestRaggedBatch(DatasetContract):
    source = staticmethod(triangles)
    apply = staticmethod(lambda ds: ds.ragged_batch(4))
    expected = [joined([filled(n) for n in r]) for r in ([0, 1, 2, 3], [4, 5, 6, 7], [8])]


def both(n):
    return {"s": np.array(["x"] * (n % 3), object), "n": n}


class TestRaggedBatchOfStructures(DatasetContract):
    source = staticmethod(lambda: ps.Dataset.range(7).map(both))
    apply = staticmethod(lambda ds: ds.ragged_batch(3, True, np.int32))
    expected = [
        {
            "s": (np.array(["x"] * 3, object), np.array([0, 0, 1, 3], np.int32)),
            "n": np.arange(first, first + 3),
        }
        for first in (0, 3)
    ]


def declared(values, shape, dtype=np.float64):
    return ps.Dataset.from_generator(
        lambda: iter(values), output_signature=ps.TensorSpec(shape, dtype)
    )


TWO = [np.full((1, 2), 1.0), np.full((2, 1), 2.0), np.full((0, 5), 3.0), np.full((2, 0), 4.0)]


@pytest.mark.parametrize(
    ("values", "shape", "wanted"),
    [
        # TensorFlow's results.
        (
            TWO,
            [None, None],
            ((np.array([1.0, 1, 2, 2]), np.array([0, 2, 3, 4, 4, 4])), np.array([0, 1, 3, 3, 5])),
        ),
        (
            [np.zeros((1, 2)), np.ones((3, 2))],
            [None, 2],
            (np.array([[0.0, 0], [1, 1], [1, 1], [1, 1]]), np.array([0, 1, 4])),
        ),
        (
            [np.zeros((2, 1)), np.ones((2, 3))],
            [2, None],
            (
                (np.array([0.0, 0, 1, 1, 1, 1, 1, 1]), np.array([0, 1, 2, 5, 8])),
                np.array([0, 2, 4]),
            ),
        ),
        ([np.zeros(2), np.ones(2)], [2], np.array([[0.0, 0], [1, 1]])),
        ([0.0, 1.0], [], np.array([0.0, 1])),
        ([np.zeros((0, 3))] * 2, [None, 3], (np.zeros((0, 3)), np.array([0, 0, 0]))),
    ],
)
def test_axes_up_to_the_last_unknown_one_are_ragged(values, shape, wanted):
    ds = declared(values, shape).ragged_batch(len(values))
    assert_same(list(ds), [wanted])
    spec, _ = ps.Dataset.from_tensors(wanted).element_spec, ds.element_spec
    assert nesting(ds.element_spec) == nesting(spec)


def nesting(spec):
    return tuple(map(nesting, spec)) if isinstance(spec, tuple) else len(spec.shape)


def test_all_axes_are_ragged_where_nothing_is_known():
    ds = ps.Dataset.range(1, 3).map(lambda n: np.full((n, 2), n)).ragged_batch(2)
    wanted = ((np.array([1, 1, 2, 2, 2, 2]), np.array([0, 2, 4, 6])), np.array([0, 1, 3]))
    assert_same(list(ds), [wanted])
    assert nesting(ds.element_spec) == ((1, 1), 1)
    ds = declared([[1.0], [2.0, 3.0]], None).ragged_batch(2)
    assert nesting(ds.element_spec) == (1, 1)
    assert_same(list(ds), [(np.array([1.0, 2, 3]), np.array([0, 1, 3]))])


def test_stacked_rows_may_be_ragged_too():
    ds = ps.Dataset.from_tensor_slices(np.arange(6).reshape(3, 2))
    ds = ds.map(ps.native(lambda x: ps.fill([x[1] - x[0]], x[0]))).ragged_batch(3)
    assert_same(list(ds), [(np.array([0, 2, 4]), np.array([0, 1, 2, 3]))])


@pytest.mark.parametrize("kind", [str, bytes])
@pytest.mark.parametrize("read", [False, True])
def test_strings(kind, read):
    text = ["a", "", "ä\0"] if kind is str else [b"a", b"", b"\0\xff"]
    ds = declared([np.array(text[:n], object) for n in (1, 0, 3)], [None], kind)
    if read:  # strings held by the engine, not Python
        ds = ds.map(ps.native(lambda t: ps.strings.join([t, t])))
        text = [2 * t for t in text]
    assert_same(
        list(ds.ragged_batch(3)), [(np.array([text[0], *text], object), np.array([0, 1, 1, 4]))]
    )


@pytest.mark.parametrize(
    ("values", "shape", "words"),
    [
        ([np.zeros((1, 2)), np.zeros((1, 3)), np.zeros((2, 2))], [None, 2], "shape (1, 3)"),
        ([[1.0], 2.0, [3.0]], None, "element 1 has shape (), the batch began with (1,)"),
    ],
)
def test_what_does_not_fit_is_named_and_left_out(values, shape, words):
    signature = ps.TensorSpec(shape, np.float64)
    ds = ps.Dataset.range(3).map(lambda i: np.array(values[i]), output_signature=signature)
    came = steps(iter(ds.ragged_batch(3)))
    errors = [s for s in came if isinstance(s, Failure)]
    assert len(errors) == 1
    assert words in errors[0].text
    batches = [s for s in came if not isinstance(s, Failure)]
    assert_same(batches, list(declared([values[0], values[2]], shape).ragged_batch(3)))


@pytest.mark.parametrize(
    ("arguments", "error", "words"),
    [
        ({"batch_size": 0}, ValueError, "batch_size must be >= 1"),
        ({"row_splits_dtype": np.int16}, ValueError, "must be int32 or int64, got int16"),
        ({"row_splits_dtype": str}, ValueError, "must be int32 or int64, got str"),
    ],
)
def test_wrong_arguments_are_refused_at_the_call(arguments, error, words):
    with pytest.raises(error, match=f"ragged_batch: .*{words}"):
        ps.Dataset.range(3).ragged_batch(**{"batch_size": 2, **arguments})


def test_specs_and_cardinality():
    ds = declared([], [None, 3], np.float32)
    spec = (ps.TensorSpec((None, 3), np.float32), ps.TensorSpec((None,), np.int64))
    assert ds.ragged_batch(2).element_spec == spec
    spec = (ps.TensorSpec((None, 3), np.float32), ps.TensorSpec((3,), np.int32))
    assert ds.ragged_batch(2, True, np.int32).element_spec == spec
    assert triangles().ragged_batch(4).cardinality() == 3
    assert triangles().ragged_batch(4, True).cardinality() == 2


def test_empty_and_endless_inputs():
    assert list(declared([], [None]).ragged_batch(2)) == []
    assert_same(
        list(triangles().repeat().ragged_batch(2).take(1)), [joined([filled(0), filled(1)])]
    )
    assert list(ps.Dataset.from_tensors(None).repeat(3).ragged_batch(2)) == [None, None]


def test_the_experimental_name():
    ds = triangles().apply(ps.experimental.dense_to_ragged_batch(9, row_splits_dtype=np.int32))
    assert_same(list(ds), [joined([filled(n) for n in range(9)], np.int32)])
