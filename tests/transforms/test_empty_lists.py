"""Empty Python lists have no dtype: they adopt the dtype of the arrays they are batched with."""

import itertools

import numpy as np
import pytest

import penstock as ps

D = ps.Dataset
BOX = [1, 2, 3, 4]

# Rows of one leaf, and their dtype and rank.
ROWS = {
    "ints": ([[1, 2], [], [3]], np.int64, 1),
    "first": ([[], [], [1], [2, 3]], np.int64, 1),
    "last": ([[1], [2], []], np.int64, 1),
    "words": ([["a"], [], ["b", "c"]], object, 1),
    "words last": ([[], ["b", "c"]], object, 1),
    "booleans": ([[], [True]], np.bool_, 1),
    "floats": ([[1.5], []], np.float64, 1),
    "small floats": ([np.float32([1.5]), [], np.float32([2, 3])], np.float32, 1),
    "boxes": ([[BOX], [], [BOX, BOX]], np.int64, 2),
    "boxes last": ([[], [BOX]], np.int64, 2),
    "boxes of floats": ([np.ones((2, 4)), [], np.ones((1, 4))], np.float64, 2),
    "only empty ones": ([[], []], np.float64, 1),
}

SOURCES = {
    "from_list": ps.experimental.from_list,
    "from_generator": lambda rows: D.from_generator(lambda: iter(rows)),
    "from_indexable": D.from_indexable,
    "from_indexable in parallel": lambda rows: D.from_indexable(rows, num_parallel_calls=2),
    "map": lambda rows: D.range(len(rows)).map(lambda i: np.array(rows[i])),
}

each_rows = pytest.mark.parametrize("rows", ROWS)
each_source = pytest.mark.parametrize("source", SOURCES)


def items(rows):
    """Return the items of all rows, as a list."""
    return [each.tolist() if hasattr(each, "tolist") else each for row in rows for each in row]


@each_rows
def test_elements_of_a_list_have_one_form(rows):
    values, dtype, rank = ROWS[rows]
    ds = ps.experimental.from_list(values)
    elements = list(ds)
    assert [len(x) for x in elements] == [len(x) for x in values]
    assert items(elements) == items(values)
    assert {(x.dtype, x.ndim) for x in elements} == {(np.dtype(dtype), rank)}
    assert ps.experimental.at(ds, 1).dtype == dtype
    assert ds.element_spec.dtype == elements[0].dtype or dtype is object


@each_rows
def test_elements_of_a_generator_have_the_form_of_those_before(rows):
    values, dtype, _ = ROWS[rows]
    elements = list(D.from_generator(lambda: iter(values)))
    assert items(elements) == items(values)
    leading = len(list(itertools.takewhile(lambda row: len(row) == 0, values)))
    assert all(x.dtype == np.float64 for x in elements[:leading])  # the dtype is not known yet
    if rows != "boxes of floats":
        assert {x.dtype for x in elements[leading:]} <= {np.dtype(dtype)}


@each_source
@pytest.mark.parametrize("rows", [name for name in ROWS if name != "only empty ones"])
@pytest.mark.parametrize("keys", [False, True], ids=["alone", "in dicts"])
def test_ragged_batches(source, rows, keys):
    values, dtype, _ = ROWS[rows]
    ds = SOURCES[source](values)
    ds = ds.map(lambda x: {"n": 1, "x": x}) if keys else ds
    batch = ds.ragged_batch(len(values)).first()
    flat, splits = batch["x"] if keys else batch
    flat = flat[0] if isinstance(flat, tuple) else flat  # boxes, if their size is not declared
    assert flat.dtype == dtype
    assert flat.ravel().tolist() == np.ravel(items(values)).tolist()
    assert np.diff(splits).tolist() == [len(row) for row in values]


@each_source
@each_rows
def test_padded_batches(source, rows):
    values, dtype, rank = ROWS[rows]
    batch = SOURCES[source](values).padded_batch(len(values)).first()
    assert batch.dtype == dtype
    assert batch.ndim == rank + 1
    assert items(row[: len(value)] for row, value in zip(batch, values, strict=True)) == items(
        values
    )


@each_source
def test_padding_value_suits_the_dtype_of_the_others(source):
    ds = SOURCES[source]([[], [7, 8], []])
    batch = ds.padded_batch(3, padding_values=-1).first()
    assert batch.tolist() == [[-1, -1], [7, 8], [-1, -1]]


@each_source
def test_many_rows_of_which_few_have_items(source):
    values = [[i] if i in (600, 700) else [] for i in range(1000)]
    ds = SOURCES[source](values)
    flat, _ = ds.ragged_batch(1000).first()
    assert flat.dtype == np.int64
    assert flat.tolist() == [600, 700]
    assert sum(len(x) for x in ds) == 2


@each_source
def test_a_state_within_them(source):
    values = [[], [1, 2], [], [3], []]
    with iter(SOURCES[source](values).padded_batch(2)) as it:
        next(it)
        state = it.get_state()
        rest = [b.tolist() for b in it]
    with iter(SOURCES[source](values).padded_batch(2)) as it:
        it.set_state(state)
        assert [b.tolist() for b in it] == rest


def test_packs():
    values, *_ = D.from_indexable([[1, 2], [], [3]]).pack(4).first()
    assert values.dtype == np.int64
    assert values.tolist() == [1, 2, 3, 0]


def test_dtypes_that_differ_are_still_an_error():
    with pytest.raises(TypeError, match="element 2 is float64, the first one was int64"):
        list(D.from_generator(lambda: iter([[1], [], [1.5]])))
    with pytest.raises(TypeError, match="element 3 is int64, the first one was float64"):
        list(D.from_generator(lambda: iter([[], [1.5], [], [1]])))
    with pytest.raises(TypeError, match="got int64 of shape"):
        ps.experimental.from_list([[], [1.5], [1]])
    with pytest.raises(ValueError, match="padded_batch: element 2 has dtype int64, the batch"):
        D.from_indexable([[], [1.5], [1]]).padded_batch(3).first()
    with pytest.raises(ValueError, match="element 1 has dtype float64"):
        D.from_indexable([np.int64(1), []]).padded_batch(2).first()


def test_batch_names_the_shapes():
    with pytest.raises(ValueError, match=r"batch: element 1 has shape \(0,\)"):
        D.from_indexable([[1, 2], []]).batch(2).first()
