"""Tables with nested columns, and with columns that have no type in some files."""

import datetime
import decimal

import numpy as np
import pytest

import penstock as ps

pa = pytest.importorskip("pyarrow")
parquet = pytest.importorskip("pyarrow.parquet")

D = ps.Dataset
FILE = pa.struct([("bytes", pa.binary()), ("path", pa.string())])
TALK = [[{"role": "u", "text": "hi"}], [], [{"role": "u", "text": "a"}, {"role": "b", "text": ""}]]
UTC = datetime.datetime(2020, 5, 17, 12, tzinfo=datetime.UTC)


def as_lists(value):
    """Return an element without arrays and NumPy scalars, and with text for bytes."""
    if isinstance(value, dict):
        return {key: as_lists(part) for key, part in value.items()}
    if isinstance(value, np.datetime64):
        return str(value)
    value = value.tolist() if hasattr(value, "tolist") else value
    if isinstance(value, list):
        return [as_lists(part) for part in value]
    return value.decode() if isinstance(value, bytes) else value


# Columns, and the values of their rows.
COLUMNS = {
    "lists of structs": (
        pa.array(TALK),
        [{key: [turn[key] for turn in talk] for key in ("role", "text")} for talk in TALK],
    ),
    "lists of lists": (
        pa.array([[[1], [2, 3]], [], [[], [4]]]),
        [
            {"values": [1, 2, 3], "row_splits": [0, 1, 3]},
            {"values": [], "row_splits": [0]},
            {"values": [4], "row_splits": [0, 0, 1]},
        ],
    ),
    "lists of lists of lists": (
        pa.array([[[[1], [2]], []], [[[3, 4]]]]),
        [
            {"values": {"values": [1, 2], "row_splits": [0, 1, 2]}, "row_splits": [0, 2, 2]},
            {"values": {"values": [3, 4], "row_splits": [0, 2]}, "row_splits": [0, 1]},
        ],
    ),
    "structs with lists of structs": (
        pa.array([{"x": [{"y": 1}]}, {"x": []}]),
        [{"x": {"y": [1]}}, {"x": {"y": []}}],
    ),
    "maps": (
        pa.array([[("a", 1)], [], [("b", 2), ("c", 3)]], pa.map_(pa.string(), pa.int64())),
        [
            {"key": ["a"], "value": [1]},
            {"key": [], "value": []},
            {"key": ["b", "c"], "value": [2, 3]},
        ],
    ),
    "decimals": (pa.array([decimal.Decimal("1.25"), decimal.Decimal("-3.00")]), [1.25, -3.0]),
    "lists of decimals": (pa.array([[decimal.Decimal("1.5")], []]), [[1.5], []]),
    "times in UTC": (pa.array([UTC, UTC]), ["2020-05-17T12:00:00.000000"] * 2),
    "times in a zone": (
        pa.array([UTC] * 2, pa.timestamp("ms", "Europe/Berlin")),
        ["2020-05-17T12:00:00.000"] * 2,
    ),
    "files": (
        pa.array([{"bytes": b"x", "path": None}, {"bytes": None, "path": "p"}, None], FILE),
        [{"bytes": "x", "path": ""}, {"bytes": "", "path": "p"}, {"bytes": "", "path": ""}],
    ),
    "lists of files": (
        pa.array([[{"bytes": b"x", "path": "p"}], []], pa.list_(FILE)),
        [{"bytes": ["x"], "path": ["p"]}, {"bytes": [], "path": []}],
    ),
    "empty lists": (pa.array([[], []]), [[], []]),
}


def in_file(table, path, **how):
    parquet.write_table(table, path, **how)
    return str(path)


@pytest.mark.parametrize("name", COLUMNS)
def test_rows(name, tmp_path):
    column, expected = COLUMNS[name]
    table = pa.table({"n": np.arange(len(column)), "c": column})
    expected = [{"n": n, "c": value} for n, value in enumerate(expected)]
    chunked = pa.concat_tables([table.slice(0, 1), table.slice(1), table.slice(1, 1)])
    path = in_file(table, tmp_path / "t.parquet", row_group_size=1)
    assert [as_lists(row) for row in D.from_arrow(table)] == expected
    assert [as_lists(row) for row in D.from_arrow(table.slice(1))] == expected[1:]
    assert [as_lists(row) for row in D.from_arrow(chunked)] == [*expected, expected[1]]
    assert [as_lists(row) for row in ps.ParquetDataset(path)] == expected
    assert [as_lists(row) for row in ps.ParquetDataset(path, columns=["c"])] == [
        {"c": row["c"]} for row in expected
    ]


def test_batches_of_lists_of_structs():
    ds = D.from_arrow(pa.table({"talk": pa.array(TALK)}))
    values, splits = ds.ragged_batch(3).first()["talk"]["role"]
    assert values.tolist() == ["u", "u", "b"]
    assert splits.tolist() == [0, 1, 1, 3]


@pytest.mark.parametrize("source", ["table", "file"])
class TestMissing:
    def rows(self, source, tmp_path, column, **how):
        table = pa.table({"c": column})
        if source == "table":
            ds = D.from_arrow(table, **how)
        else:
            ds = ps.ParquetDataset(in_file(table, tmp_path / "t.parquet"), **how)
        return [as_lists(row)["c"] for row in ds]

    def test_items_of_lists(self, source, tmp_path):
        lists = pa.array([[1, None], [], [None]])
        with pytest.raises(ValueError, match="column c has 2 missing values"):
            self.rows(source, tmp_path, lists)
        assert self.rows(source, tmp_path, lists, null_values={"c": -1}) == [[1, -1], [], [-1]]
        texts = pa.array([["a", None], []])
        assert self.rows(source, tmp_path, texts, null_values={"c": ""}) == [["a", ""], []]

    def test_lists(self, source, tmp_path):
        lists = pa.array([[1], None])
        assert self.rows(source, tmp_path, lists, null_values={"c": []}) == [[1], []]

    def test_fields_in_lists(self, source, tmp_path):
        turns = pa.array([[{"role": "u", "text": None}], [{"role": "a", "text": "b"}]])
        with pytest.raises(ValueError, match=r"column c\.text has 1 missing value"):
            self.rows(source, tmp_path, turns)
        rows = self.rows(source, tmp_path, turns, null_values={"c.text": "-"})
        assert rows == [{"role": ["u"], "text": ["-"]}, {"role": ["a"], "text": ["b"]}]

    def test_all_values(self, source, tmp_path):
        with pytest.raises(ValueError, match="column c has only missing values"):
            self.rows(source, tmp_path, pa.nulls(2))
        assert self.rows(source, tmp_path, pa.nulls(2), null_values={"c": 7}) == [7, 7]


def test_missing_values_of_all_chunks_are_counted():
    polars = pytest.importorskip("polars")
    chunks = pa.chunked_array([[1, None], [None, 3], [None]])
    with pytest.raises(ValueError, match="column c has 3 missing values"):
        D.from_arrow(pa.table({"c": chunks})).first()
    df = polars.concat([polars.DataFrame({"c": [1, None]})] * 3, rechunk=False)
    with pytest.raises(ValueError, match="column c has 3 missing values"):
        D.from_polars(df).first()


def test_null_values_of_polars_and_pandas():
    polars = pytest.importorskip("polars")
    data = {"n": [1, None], "s": ["a", None]}
    ds = D.from_polars(polars.DataFrame(data), null_values={"n": -1, "s": ""})
    assert [as_lists(row) for row in ds] == [{"n": 1, "s": "a"}, {"n": -1, "s": ""}]


@pytest.mark.parametrize("first", [True, False], ids=["first", "last"])
@pytest.mark.parametrize(("values", "given"), [(["a", "b"], ""), ([1, 2], -1)])
def test_a_file_whose_column_is_null(values, given, first, tmp_path):
    typed = in_file(pa.table({"c": values}), tmp_path / "typed.parquet")
    null = in_file(pa.table({"c": pa.nulls(2)}), tmp_path / "null.parquet")
    files = [null, typed] if first else [typed, null]
    rows = [as_lists(row)["c"] for row in ps.ParquetDataset(files, null_values={"c": given})]
    assert rows == ([given] * 2 + values if first else values + [given] * 2)
    with pytest.raises(ValueError, match=r"column c has 2 missing values.*null\.parquet"):
        list(ps.ParquetDataset(files))


@pytest.mark.parametrize("first", [True, False], ids=["first", "last"])
def test_a_file_whose_nested_column_is_null(first, tmp_path):
    pairs = {
        "l": ([[1, 2]], [[]], [[1, 2], []]),
        "t": ([TALK[0]], [[]], [{"role": ["u"], "text": ["hi"]}, {"role": [], "text": []}]),
        "f": ([1.5], pa.nulls(1), [1.5, None]),
        "s": ([{"x": 1, "y": [1]}], [{"x": 1, "y": []}], [{"x": 1, "y": [1]}, {"x": 1, "y": []}]),
    }
    for name, (typed, null, expected) in pairs.items():
        a = in_file(pa.table({"c": typed}), tmp_path / f"{name}-a.parquet")
        b = in_file(pa.table({"c": null}), tmp_path / f"{name}-b.parquet")
        rows = [as_lists(r)["c"] for r in ps.ParquetDataset([b, a] if first else [a, b])]
        rows = rows[::-1] if first else rows
        if name == "f":
            assert rows[0] == 1.5
            assert np.isnan(rows[1])
        else:
            assert rows == expected
