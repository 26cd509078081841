"""from_tensor_slices: the rows of arrays, in the structure of the arrays."""

import numpy as np
import pytest

import penstock as ps
from compare import assert_same
from contract import DatasetContract

ROWS = np.arange(24, dtype=np.float32).reshape(8, 3)
NAMES = ["a", "", "ä", "日本", "long " * 10, "\0", "f", "g"]


class TestRows(DatasetContract):
    build = staticmethod(lambda: ps.Dataset.from_tensor_slices(ROWS))
    expected = list(ROWS)


class TestNested(DatasetContract):
    build = staticmethod(
        lambda: ps.Dataset.from_tensor_slices({"x": ROWS, "y": (list(range(8)), NAMES)})
    )
    expected = [{"x": ROWS[i], "y": (i, NAMES[i])} for i in range(8)]


class TestBytes(DatasetContract):
    build = staticmethod(lambda: ps.Dataset.from_tensor_slices([b"a\0", b"", b"\0\0", b"b"]))
    expected = [b"a\0", b"", b"\0\0", b"b"]


class TestEmptyArrays(DatasetContract):
    build = staticmethod(lambda: ps.Dataset.from_tensor_slices((np.zeros((0, 3)), [])))
    expected = []


class TestRowsOfSizeZero(DatasetContract):
    build = staticmethod(lambda: ps.Dataset.from_tensor_slices(np.zeros((3, 0), np.int8)))
    expected = [np.zeros(0, np.int8)] * 3


@pytest.mark.parametrize(
    ("tensors", "words"),
    [
        (3, "scalar"),
        ((), "at least one array"),
        ({}, "at least one array"),
        (None, "at least one array"),
        (([1, 2], [1, 2, 3]), "rows"),
        ({"x": [1, 2], "y": 3}, "y"),
    ],
)
def test_what_has_no_common_rows_is_refused(tensors, words):
    with pytest.raises(ValueError, match=f"from_tensor_slices: .*{words}"):
        ps.Dataset.from_tensor_slices(tensors)


def test_lists_of_unequal_lengths_are_refused():
    with pytest.raises(ValueError, match="differ in shape"):
        ps.Dataset.from_tensor_slices([[1, 2], [3]])
    with pytest.raises(ValueError, match="differ in shape"):
        ps.Dataset.from_tensor_slices([["a", "b"], ["c"]])


def test_unicode_and_bytes_arrays_become_strings():
    assert_same(list(ps.Dataset.from_tensor_slices(np.array(["a", "ä"]))), ["a", "ä"])
    assert_same(list(ps.Dataset.from_tensor_slices(np.array([b"a", b"b"]))), [b"a", b"b"])
    batch = ps.Dataset.from_tensor_slices(np.array(["a", "ä"])).batch(2).first()
    assert_same([batch], [np.array(["a", "ä"], dtype=object)])


def test_rows_of_strings_are_object_arrays():
    array = np.array([["a", "b"], ["c", "d"]], dtype=object)
    assert_same(list(ps.Dataset.from_tensor_slices(array)), list(array))


@pytest.mark.parametrize("longest", [1, 40, 3000])
def test_texts_of_any_length_come_as_they_were(longest):
    texts = ["", *(letter * (1 + i % longest) for i, letter in enumerate("añ画🙂b" * 20))]
    ds = ps.Dataset.from_tensor_slices(np.array(texts, dtype=object))
    assert list(ds) == texts
    assert all(type(text) is str for text in ds)
    assert sorted(ds.shuffle(9, seed=1)) == sorted(texts)
    batch = ds.batch(len(texts)).first()
    assert batch.dtype == object
    assert batch.tolist() == texts


def test_objects_stay_the_same_objects():
    objects = [object(), {1}, [2, 3]]
    array = np.empty(3, dtype=object)
    array[:] = objects
    for came, wanted in zip(ps.Dataset.from_tensor_slices(array), objects, strict=True):
        assert came is wanted


@pytest.mark.parametrize(
    "array",
    [
        np.asfortranarray(ROWS),
        ROWS[::-1],
        ROWS[:, ::-2],
        ROWS[::3],
        ROWS.astype(">f4"),
        np.broadcast_to(np.arange(3), (4, 3)),
        ROWS.T,
    ],
    ids=[
        "fortran",
        "reversed",
        "strided columns",
        "strided",
        "big-endian",
        "broadcast",
        "transposed",
    ],
)
def test_any_layout_gives_its_rows(array):
    wanted = [np.ascontiguousarray(row.astype(row.dtype.newbyteorder("="))) for row in array]
    assert_same(list(ps.Dataset.from_tensor_slices(array)), wanted)


def test_rows_are_read_only_views():
    row = ps.Dataset.from_tensor_slices(ROWS).first()
    assert np.shares_memory(row, ROWS)
    assert not row.flags.writeable
