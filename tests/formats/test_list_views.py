"""Arrow columns of list views have the same rows as in pyarrow."""

import itertools

import numpy as np
import pytest

import penstock as ps
from penstock.plain_tables import PlainTables

pa = pytest.importorskip("pyarrow")

Dataset = ps.Dataset


def views(offsets, sizes, items, large=False, mask=None):
    kind, cls = (pa.int64(), pa.LargeListViewArray) if large else (pa.int32(), pa.ListViewArray)
    items = items if isinstance(items, pa.Array) else pa.array(items)
    mask = None if mask is None else pa.array(mask)
    return cls.from_arrays(pa.array(offsets, kind), pa.array(sizes, kind), items, mask=mask)


def in_order(rows, kind):
    return pa.array(rows, kind)


COLUMNS = {
    "in order": in_order([[1, 2], [], [3]], pa.list_view(pa.int32())),
    "large": in_order([[1.5], [], [2.5, 3]], pa.large_list_view(pa.float64())),
    "strings": in_order([["a", "b"], [], ["c"]], pa.list_view(pa.string())),
    "large strings": in_order([["a"], ["b", "c"]], pa.large_list_view(pa.large_string())),
    "views of strings": in_order(
        [["short"], ["longer than twelve"]], pa.list_view(pa.string_view())
    ),
    "dictionary": views([2, 0], [1, 2], pa.array(["x", "y", "x"]).dictionary_encode()),
    "bools": in_order([[True], [False, True]], pa.list_view(pa.bool_())),
    "of fixed size": in_order([[[1, 2]], [[3, 4], [5, 6]]], pa.list_view(pa.list_(pa.int8(), 2))),
    "out of order": views([2, 0], [1, 2], [10, 20, 30]),
    "overlapping": views([0, 1, 0], [2, 2, 3], [10, 20, 30]),
    "a gap": views([0, 4], [2, 1], [1, 2, 3, 4, 5], large=True),
    "a gap with a missing value": views([0, 1], [1, 1], [1, 2, None]),
    "empty anywhere": views([3, 1, 0], [0, 2, 0], [1, 2, 3]),
    "only empty": views([2, 1], [0, 0], [1, 2]),
    "a slice": views([2, 0, 1, 0], [1, 2, 2, 3], [10, 20, 30]).slice(1, 2),
    "a slice of items": views([1, 0], [1, 1], pa.array([9, 8, 7, 6]).slice(1, 2)),
    "many": in_order([[i] * (i % 3) for i in range(1000)], pa.list_view(pa.int64())),
}


def file_of(table, path, stream=False):
    new = pa.ipc.new_stream if stream else pa.ipc.new_file
    with pa.OSFile(str(path), "wb") as file, new(file, table.schema) as writer:
        writer.write_table(table)
    return path


def plain(value):
    if isinstance(value, np.ndarray):
        return [plain(each) for each in value.tolist()]
    if isinstance(value, list):
        return [plain(each) for each in value]
    return value.decode() if isinstance(value, bytes) else value


@pytest.mark.parametrize("name", COLUMNS)
def test_rows_equal_those_of_pyarrow(tmp_path, name):
    column = COLUMNS[name]
    table = pa.table({"l": column, "s": pa.StructArray.from_arrays([column], names=["in"])})
    rows = table["l"].to_pylist()
    for chunked in (table, pa.concat_tables([table, table.slice(1), table.slice(0, 0)])):
        wanted = chunked["l"].to_pylist()
        came = list(Dataset.from_arrow(chunked))
        assert [plain(row["l"]) for row in came] == wanted
        assert [plain(row["s"]["in"]) for row in came] == wanted
    for stream in (False, True):
        path = file_of(table, tmp_path / f"{stream}.arrow", stream)
        came = list(ps.ArrowDataset(path))
        assert [plain(row["l"]) for row in came] == rows
        assert [plain(row["s"]["in"]) for row in came] == rows
        assert [plain(row["l"]) for row in ps.ArrowDataset(path, columns=["l"])] == rows
    values, splits = Dataset.from_arrow(table).ragged_batch(len(rows)).first()["l"]
    assert [plain(values[a:b]) for a, b in itertools.pairwise(splits)] == rows


def test_missing_lists_need_a_value(tmp_path):
    table = pa.table({"l": views([0, 0, 1], [1, 1, 1], [1, 2], mask=[False, True, False])})
    with pytest.raises(ValueError, match="column l has 1 missing values"):
        list(Dataset.from_arrow(table))
    filled = Dataset.from_arrow(table, null_values={"l": [7, 8]})
    assert [row["l"].tolist() for row in filled] == [[1], [7, 8], [2]]
    path = file_of(table, tmp_path / "a.arrow")
    assert [r["l"].tolist() for r in ps.ArrowDataset(path, null_values={"l": []})] == [[1], [], [2]]


@pytest.mark.parametrize(
    ("offsets", "sizes"), [([0, 3], [1, 1]), ([0, -1], [1, 1]), ([0, 1], [1, 3]), ([0, 0], [1, -1])]
)
@pytest.mark.parametrize("large", [False, True])
def test_views_outside_the_items_are_an_error(offsets, sizes, large):
    table = pa.table({"l": views(offsets, sizes, [1, 2, 3], large)})
    with pytest.raises(ps.DataError, match="from_arrow: column l is damaged: list 1 has"):
        list(Dataset.from_arrow(table))


def test_an_index_outside_its_dictionary_is_an_error():
    table = Exported(pa.DictionaryArray.from_arrays(pa.array([0, 5]), ["a"], safe=False))
    with pytest.raises(ps.DataError, match="column d is damaged: an index of its dictionary"):
        list(Dataset.from_arrow(table))


def test_a_damaged_table_is_an_error_on_request():
    offsets = pa.py_buffer(np.array([0, 1 << 30, 2], np.int32))
    strings = pa.Array.from_buffers(pa.string(), 2, [None, offsets, pa.py_buffer(b"ab")])
    for table in (pa.table({"s": strings}), Exported(strings)):
        with pytest.raises(ps.DataError, match=r"^from_arrow: the table is damaged: "):
            Dataset.from_arrow(table, validate=True)
    whole = pa.table({"s": ["a", "b"]})
    assert [row["s"] for row in Dataset.from_arrow(whole, validate=True)] == ["a", "b"]


def test_a_dictionary_may_decode_to_more_than_2_gib():
    kinds = {pa.string(): pa.large_string(), pa.binary(): pa.large_binary(), pa.int8(): pa.int8()}
    for kind, wanted in kinds.items():
        column = pa.array(["1"]).cast(kind).dictionary_encode()
        (made,) = PlainTables("from_arrow", True, None).of(pa.table({"d": column})).columns
        assert made.type == wanted


@pytest.mark.parametrize("stream", [False, True])
def test_names_that_are_not_utf_8_are_an_error(tmp_path, stream):
    table = pa.table([[1]], schema=pa.schema([pa.field(b"\xff\x1b[2J", pa.int64())]))
    with pytest.raises(ValueError, match=r"^from_arrow: names of columns must be UTF-8") as caught:
        Dataset.from_arrow(table)
    assert r"\xff\x1b[2J" in str(caught.value)
    path = file_of(table, tmp_path / "a.arrow", stream)
    with pytest.raises(
        ps.DataError, match="ArrowDataset: names of columns must be UTF-8"
    ) as caught:
        ps.ArrowDataset(path)
    assert caught.value.file == str(path)


class Exported:
    """A column as other libraries export it, without validation by pyarrow."""

    def __init__(self, column):
        self.column = column

    def __arrow_c_array__(self, requested_schema=None):
        return pa.StructArray.from_arrays([self.column], names=["d"]).__arrow_c_array__()
