"""Values that look like rows or arrays but are not: masks, tables by name, infinite objects."""

import collections

import numpy as np
import pytest

import penstock as ps

Dataset = ps.Dataset
MASKED = np.ma.array([1, 2, 3], mask=[0, 1, 0])
HANDED = {
    "map": lambda: list(Dataset.range(1).map(lambda x: MASKED)),
    "generator": lambda: list(Dataset.from_generator(lambda: iter([MASKED]))),
    "signature": lambda: list(
        Dataset.from_generator(
            lambda: iter([MASKED]), output_signature=ps.TensorSpec((3,), np.int64)
        )
    ),
    "list": lambda: list(ps.experimental.from_list([MASKED])),
    "indexable": lambda: list(Dataset.from_indexable(MASKED)),
    "loader": lambda: list(ps.DataLoader([MASKED], 1)),
    "slices": lambda: Dataset.from_tensor_slices(MASKED),
    "map to a list": lambda: list(Dataset.range(1).map(lambda x: [MASKED, MASKED])),
    "list from a generator": lambda: list(Dataset.from_generator(lambda: iter([[MASKED]]))),
    "list by a signature": lambda: list(
        Dataset.from_generator(
            lambda: iter([[MASKED]]), output_signature=ps.TensorSpec((1, 3), np.int64)
        )
    ),
    "lists from a list": lambda: list(ps.experimental.from_list([[[0, 0, 0], MASKED]])),
    "tensors of a list": lambda: Dataset.from_tensors([MASKED]),
    "slices of a list": lambda: Dataset.from_tensor_slices([[1, 2, 3], MASKED]),
    "slices of a dict of lists": lambda: Dataset.from_tensor_slices({"x": [[(1, 2, 3), MASKED]]}),
    "loader of lists": lambda: list(ps.DataLoader([[MASKED]], 1)),
}


@pytest.mark.parametrize("name", HANDED)
def test_a_mask_is_never_dropped(name):
    with pytest.raises(ValueError, match="masked"):
        HANDED[name]()


def test_a_masked_array_that_hides_nothing_is_its_values():
    whole = np.ma.array([1, 2], mask=[0, 0])
    assert next(iter(Dataset.range(1).map(lambda x: whole))).tolist() == [1, 2]


class Endless:
    def __len__(self):
        return 3

    def __getitem__(self, i):
        return i


class Ending(Endless):
    def __getitem__(self, i):
        if i >= 3:
            raise IndexError(i)
        return i


@pytest.mark.timeout(30)
def test_an_object_whose_rows_never_end_travels_as_itself():
    rows = Endless()
    assert list(Dataset.range(1).map(lambda x: rows)) == [rows]
    assert list(Dataset.from_generator(lambda: iter([rows]))) == [rows]
    assert list(Dataset.from_indexable([rows])) == [rows]
    assert next(iter(Dataset.range(1).map(lambda x: Ending()))).tolist() == [0, 1, 2]


@pytest.mark.timeout(30)
@pytest.mark.parametrize("rows", [[Endless()], [[1], Endless()], [(1, [Endless()])]])
def test_an_object_whose_rows_never_end_is_refused_in_a_list(rows):
    for make in (
        Dataset.from_tensors,
        Dataset.from_tensor_slices,
        lambda rows: list(Dataset.from_generator(lambda: iter([rows]))),
    ):
        with pytest.raises(TypeError, match=r"a list holds an object .Endless."):
            make(rows)


def test_lists_may_hold_what_ends_and_hides_nothing():
    whole = np.ma.array([0, 1, 2], mask=False)
    made = next(iter(Dataset.from_tensors([whole, Ending()])))
    assert made.tolist() == [[0, 1, 2], [0, 1, 2]]


def tables():
    pandas = pytest.importorskip("pandas")
    polars = pytest.importorskip("polars")
    arrow = pytest.importorskip("pyarrow")
    yield pandas.Series([10, 20], index=[1, 0])
    yield pandas.DataFrame({"a": [1, 2]})
    yield pandas.DataFrame(np.eye(3))
    yield polars.DataFrame({"a": [1, 2]})
    yield arrow.table({"a": [1, 2]})


def test_tables_are_not_asked_for_rows():
    for table in [*tables(), {"a": 1}]:
        for take in (Dataset.from_indexable, lambda table: ps.DataLoader(table, 1)):
            with pytest.raises(TypeError, match="indexed by names; use from_tensor_slices"):
                take(table)


def test_a_mapping_of_positions_has_rows():
    assert [int(x) for x in Dataset.from_indexable({0: 5, 1: 6})] == [5, 6]


def test_max_errors_means_nothing_where_errors_are_raised():
    for make in (
        lambda **kwargs: Dataset.range(3).map(lambda x: x, **kwargs),
        lambda **kwargs: Dataset.range(3).filter(lambda x: True, **kwargs),
        lambda **kwargs: ps.TextLineDataset(["a"], **kwargs),
    ):
        with pytest.raises(ValueError, match="max_errors counts elements that are left out"):
            make(max_errors=5)
        make(max_errors=5, on_error="skip")


def test_a_missing_argument_is_named_with_the_stage():
    with pytest.raises(TypeError, match=r"^shuffle: missing 1 required .* 'buffer_size'"):
        Dataset.range(3).shuffle()


@pytest.mark.parametrize("kind", [collections.UserDict, collections.ChainMap])
def test_a_mapping_that_is_no_dict_is_an_object(kind):
    value = kind({"a": 1})
    for ds in (
        ps.Dataset.range(1).map(lambda _: value),
        ps.Dataset.from_generator(lambda: [value]),
        ps.Dataset.from_indexable([value]),
    ):
        assert ds.first() is value
