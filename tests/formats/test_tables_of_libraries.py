"""from_arrow, from_pandas, from_polars: rows of tables."""

import datetime
import pickle

import numpy as np
import pytest

import penstock as ps
from arrow_tables import ROWS, row, table
from compare import assert_same
from contract import DatasetContract

pa = pytest.importorskip("pyarrow")
pd = pytest.importorskip("pandas")
pl = pytest.importorskip("polars")

from_arrow = ps.Dataset.from_arrow


def chunked(rows=7):
    return pa.Table.from_batches(table(text=True).to_batches(max_chunksize=rows))


class TestChunks(DatasetContract):
    build = staticmethod(lambda: from_arrow(chunked()))
    expected = [row(n, True) for n in range(ROWS)]


class TestRecordBatch(DatasetContract):
    build = staticmethod(lambda: from_arrow(table(text=True).to_batches()[0].slice(5, 9)))
    expected = [row(n, True) for n in range(5, 14)]


class TestShuffled(DatasetContract):
    build = staticmethod(
        lambda: from_arrow(chunked()).shuffle(ROWS, seed=3, reshuffle_each_iteration=False)
    )

    @classmethod
    def expected(cls):
        order = [int(element["i"]) for element in cls.build()]
        assert sorted(order) == list(range(ROWS)) != order
        return [row(n, True) for n in order]


class TestRaggedBatches(DatasetContract):
    build = staticmethod(lambda: from_arrow(chunked().select(["list", "i"])).ragged_batch(5))

    @staticmethod
    def expected():
        rows = (
            ps.Dataset.range(ROWS)
            .map(lambda n: {"list": np.arange(n % 5, dtype=np.int32), "i": n})
            .ragged_batch(5)
        )
        return list(rows)


class TestEmpty(DatasetContract):
    build = staticmethod(lambda: from_arrow(table(text=True).slice(0, 0)))
    expected = []


def test_batches_of_gathered_rows():
    ds = from_arrow(chunked().drop_columns(["list", "words", "struct"]))
    batch = ds.shuffle(ROWS, seed=5).batch(ROWS).first()
    wanted = batch["i"].tolist()
    assert sorted(wanted) == list(range(ROWS))
    for name, values in batch.items():
        assert_same([values[i] for i in range(ROWS)], [row(n, True)[name] for n in wanted])
    batch["i"][0] = 1  # the array does not share memory


def test_the_memory_of_a_table_is_not_written():
    column = pa.array([1, 2, 3])
    first = from_arrow(pa.table({"x": column})).batch(3).first()["x"]
    first[:] = 9
    assert column.to_pylist() == [1, 2, 3]
    lists = pa.table({"x": pa.array([[1, 2]], pa.list_(pa.int64(), 2))})
    assert not from_arrow(lists).first()["x"].flags.writeable


def test_slices_of_nested_columns():
    whole = table(text=True)
    for begin, count in ((1, 3), (3, 20), (9, 1), (22, 1)):
        rows = list(from_arrow(whole.slice(begin, count)))
        assert_same(rows, [row(n, True) for n in range(begin, begin + count)])


def test_dictionaries_and_views_are_what_they_represent():
    words = ["a", "bb", "a", "a longer string than twelve bytes"]
    columns = {
        "d": pa.array(words).dictionary_encode(),
        "n": pa.array([7.5, 1, 7.5, 2]).dictionary_encode(),
        "v": pa.array(words, pa.string_view()),
        "b": pa.array([w.encode() for w in words], pa.binary_view()),
        "l": pa.array(words, pa.large_string()),
        "f": pa.array([b"ab", b"cd", b"ef", b"gh"], pa.binary(2)),
    }
    rows = list(from_arrow(pa.table(columns).slice(1)))
    assert [r["d"] for r in rows] == words[1:] == [r["v"] for r in rows] == [r["l"] for r in rows]
    assert [float(r["n"]) for r in rows] == [1, 7.5, 2]
    assert [r["b"].decode() for r in rows] == words[1:]
    assert [r["f"] for r in rows] == [b"cd", b"ef", b"gh"]


def test_tensors_of_one_shape():
    storage = pa.array([[1, 2, 3, 4, 5, 6], [7, 8, 9, 10, 11, 12]], pa.list_(pa.float32(), 6))
    kind = pa.fixed_shape_tensor(pa.float32(), [3, 2])
    ds = from_arrow(pa.table({"x": pa.ExtensionArray.from_storage(kind, storage)}))
    assert ds.element_spec["x"].shape == (3, 2)
    assert_same(list(ds)[1], {"x": np.arange(7, 13, dtype=np.float32).reshape(3, 2)})


def test_missing_values():
    columns = {"f": [None, 1.5], "h": pa.array([None, 1], pa.float16()), "i": [1, None]}
    columns["day"] = pa.array([None, 1], pa.date32())
    whole = pa.table(columns)
    first = from_arrow(whole.drop_columns(["i"])).first()
    assert np.isnan(first["f"])
    assert np.isnan(first["h"])
    assert np.isnat(first["day"])
    with pytest.raises(ValueError, match="from_arrow: column i has 1 missing values"):
        from_arrow(whole)
    assert [int(r["i"]) for r in from_arrow(whole, null_values={"i": -1})] == [1, -1]


def chunked_frames():
    """Return how to read three missing values in two chunks, from each kind of table."""
    table = pa.table({"n": pa.chunked_array([[1, None], [None, None, 5]])})
    parts = [pl.DataFrame({"n": [1, None]}), pl.DataFrame({"n": [None, None, 5]})]
    polars = pl.concat(parts, rechunk=False)
    pandas = table.to_pandas(types_mapper=pd.ArrowDtype)
    return {
        "from_arrow": (from_arrow, table),
        "from_pandas": (ps.Dataset.from_pandas, pandas),
        "from_polars": (ps.Dataset.from_polars, polars),
    }


@pytest.mark.parametrize("stage", ["from_arrow", "from_pandas", "from_polars"])
def test_missing_values_of_all_chunks_are_counted_and_replaced(stage):
    read, table = chunked_frames()[stage]
    with pytest.raises(ValueError, match=f"{stage}: column n has 3 missing values"):
        read(table)
    assert [int(row["n"]) for row in read(table, null_values={"n": -1})] == [1, -1, -1, -1, 5]
    with pytest.raises(ValueError, match=f"{stage}: null_values must name columns, got x"):
        read(table, null_values={"x": -1})


def test_types_that_numpy_does_not_have():
    with pytest.raises(TypeError, match=r"from_arrow: column x has .*time of day"):
        from_arrow(pa.table({"x": pa.array([1], pa.time32("s"))}))
    with pytest.raises(ValueError, match="from_arrow: column x has only missing values"):
        from_arrow(pa.table({"x": pa.array([None])}))


def test_what_is_no_table():
    with pytest.raises(TypeError, match="from_tensor_slices for arrays"):
        from_arrow([1, 2])
    with pytest.raises(ValueError, match="names of columns must be unique, a occurs twice"):
        from_arrow(pa.table([[1], [2]], names=["a", "a"]))
    with pytest.raises(ValueError, match="at least one column"):
        from_arrow(pa.table({}))
    with pytest.raises(TypeError, match="collect"):
        ps.Dataset.from_polars(pl.LazyFrame({"x": [1]}))
    with pytest.raises(TypeError, match="from_pandas: df must be a DataFrame"):
        ps.Dataset.from_pandas({"x": [1]})


POLARS = {
    "i": [1, 2, 3],
    "f": [1.5, None, 2.0],
    "s": ["a", "a string that is no short one", ""],
    "list": [[1], [2, 3], []],
    "cat": pl.Series(["u", "v", "u"], dtype=pl.Categorical),
    "enum": pl.Series(["u", "v", "u"], dtype=pl.Enum(["u", "v"])),
    "array": pl.Series([[1, 2], [3, 4], [5, 6]], dtype=pl.Array(pl.Int16, 2)),
    "struct": [{"q": 1}, {"q": 2}, {"q": 3}],
    "time": [datetime.datetime(2020, 1, n) for n in (1, 2, 3)],
    "day": [datetime.date(2020, 1, n) for n in (1, 2, 3)],
    "b": [True, False, True],
}


def test_polars():
    ds = ps.Dataset.from_polars(pl.DataFrame(POLARS))
    wanted = {
        "i": np.int64(2),
        "f": np.float64("nan"),
        "s": "a string that is no short one",
        "list": np.array([2, 3]),
        "cat": "v",
        "enum": "v",
        "array": np.array([3, 4], np.int16),
        "struct": {"q": np.int64(2)},
        "time": np.datetime64("2020-01-02", "us"),
        "day": np.datetime64("2020-01-02"),
        "b": np.False_,
    }
    assert_same([list(ds)[1]], [wanted])
    assert_same(list(pickle.loads(pickle.dumps(ds))), list(ds))
    with pytest.raises(ValueError, match="from_polars: column x has 1 missing"):
        ps.Dataset.from_polars(pl.DataFrame({"x": [1, None]}))


def test_pandas():
    numbers = pd.DataFrame({"x": [1, 2], "t": pd.to_datetime(["2020", None])})
    assert_same(list(ps.Dataset.from_pandas(numbers)), list(ps.Dataset.from_tensor_slices(numbers)))
    mixed = pd.DataFrame(
        {
            "x": [1, 2],
            "s": ["a", "b"],
            "l": [[1], [2, 3]],
            "c": pd.Categorical(["u", "v"]),
            "n": pd.array([3, 4], "Int8"),
        }
    )
    wanted = {"x": 2, "s": "b", "l": np.array([2, 3]), "c": "v", "n": np.int8(4)}
    assert_same([list(ps.Dataset.from_pandas(mixed))[1]], [wanted])
    with pytest.raises(ValueError, match="from_pandas: column s has 1 missing"):
        ps.Dataset.from_pandas(pd.DataFrame({"s": ["a", None]}))


ODD = object()


@pytest.mark.parametrize(
    ("column", "rows"),
    [
        ([1, "a"], [1, "a"]),
        ([b"a", "b"], [b"a", "b"]),
        ([{1}, {2}], [{1}, {2}]),
        ([1, 2**70], [1, 2**70]),
        ([ODD, ODD], [ODD, ODD]),
        (pd.Categorical([1, "a"]), [1, "a"]),
        (pd.arrays.SparseArray([0, 7]), np.array([0, 7])),
        ([1j, 2], [1j, 2 + 0j]),
        ([np.eye(2), np.eye(2)], [np.eye(2), np.eye(2)]),
        (pd.array([1.5, None], "Float64"), [1.5, np.nan]),
        (pd.to_datetime(["2020-01-01", None]), np.array(["2020-01-01", "NaT"], "M8[us]")),
        (pd.array([True, False], "boolean"), [True, False]),
    ],
    ids=lambda value: str(value)[:20],
)
def test_columns_of_pandas_that_are_not_plain(column, rows):
    df = pd.DataFrame({"c": column, "s": ["x", "y"]}, index=[7, 8])
    wanted = [{"c": row, "s": word} for row, word in zip(rows, "xy", strict=True)]
    came = list(ps.Dataset.from_pandas(df))
    assert list(map(str, came)) == list(map(str, map(_as_given, wanted)))
    assert all(type(a["c"]) is type(_as_given(b)["c"]) for a, b in zip(came, wanted, strict=True))


def _as_given(row):
    """Return a row with NumPy values, where an array has them."""
    plain = isinstance(row["c"], (bool, float, complex))
    return row | {"c": np.asarray(row["c"])[()] if plain else row["c"]}


def test_columns_of_pandas_keep_their_names():
    df = pd.DataFrame([[1, "a"]], columns=[0, ("x", "y")])
    assert list(ps.Dataset.from_pandas(df)) == [{0: 1, ("x", "y"): "a"}]


@pytest.mark.parametrize(
    ("frame", "said"),
    [
        (pd.DataFrame([[1, "a"]], columns=["x", "x"]), "names of columns must be unique, x in"),
        (pd.DataFrame({"c": pd.period_range("2020", periods=2)}), "'c' .* dtype period"),
        (pd.DataFrame({"c": pd.cut([1, 2], 2)}), "column c has .*interval"),
        (pd.DataFrame({"c": pd.array([1, None], "Int64")}), "column c has 1 missing"),
        (pd.DataFrame({"c": [None, None]}), "'c' .* has 2 missing values"),
        (pd.DataFrame({"c": ["a", None, 3]}), "'c' .* has 1 missing value"),
        (pd.DataFrame(index=[1, 2]), "at least one column was expected"),
    ],
    ids=range(7),
)
def test_columns_of_pandas_that_are_refused(frame, said):
    with pytest.raises((TypeError, ValueError), match=f"from_pandas: .*{said}"):
        ps.Dataset.from_pandas(frame)


def test_a_frame_without_rows_has_objects():
    ds = ps.Dataset.from_pandas(pd.DataFrame({"c": pd.Series([], dtype=object)}))
    assert list(ds) == []


def test_a_state_is_small_and_knows_the_table():
    it = iter(from_arrow(chunked()).shuffle(ROWS, seed=1))
    next(it)
    state = it.get_state()
    assert len(state) < 1024
    other = iter(from_arrow(table(ROWS + 1, text=True)).shuffle(ROWS, seed=1))
    with pytest.raises((ValueError, RuntimeError)):
        other.set_state(state)
