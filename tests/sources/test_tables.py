"""from_tensors and from_tensor_slices over mappings, tables and objects with rows."""

import collections
import datetime
import decimal
import subprocess
import sys
import types

import numpy as np
import pytest

import penstock as ps
from compare import assert_same

slices = ps.Dataset.from_tensor_slices
tensors = ps.Dataset.from_tensors


def same(found, wanted):
    assert_same([found], [wanted])


def whole(value):
    """Return the arrays that a source makes from a value, by both functions."""
    (one,) = tensors(value)
    rows = list(slices(value))
    if rows:
        assert_same(rows, list(tensors(value).unbatch()))
    return one


def refused(value, *words, error=ValueError):
    for source in (slices, tensors):
        with pytest.raises(error) as raised:
            source(value)
        text = str(raised.value)
        assert text.startswith(f"{source.__name__}: ")
        for word in words:
            assert word in text


MAPPINGS = {
    "UserDict": collections.UserDict,
    "mappingproxy": types.MappingProxyType,
    "ChainMap": collections.ChainMap,
}


@pytest.mark.parametrize("kind", MAPPINGS.values(), ids=MAPPINGS)
def test_a_mapping_is_a_dict_of_its_arrays(kind):
    value = kind({"x": np.arange(3), "y": kind({"z": ["a", "b", "c"]})})
    same(list(slices(value))[1], {"x": np.int64(1), "y": {"z": "b"}})
    same(list(slices((value, [1, 2, 3])))[2][1], np.int64(3))
    same(whole(value)["x"], np.arange(3))


def test_an_npz_file_is_a_dict_of_its_arrays(tmp_path):
    np.savez(tmp_path / "a.npz", x=np.arange(4), y=np.eye(4))
    with np.load(tmp_path / "a.npz") as file:
        ds = slices(file)
        one = whole(file)
    same(one, {"x": np.arange(4), "y": np.eye(4)})
    same(ds.batch(4).first(), one)


def test_a_structured_array_is_a_dict_of_its_fields():
    array = np.array([(1, [0.5, 1.5], b"a")], dtype=[("i", "i4"), ("xy", "f4", 2), ("s", "S3")])
    wanted = {
        "i": np.array([1], np.int32),
        "xy": np.array([[0.5, 1.5]], np.float32),
        "s": np.array([b"a"], object),
    }
    same(whole(array), wanted)
    same(whole(array.view(np.recarray)), wanted)
    nested = np.zeros(2, [("a", [("b", "i8")])])
    same(whole({"n": nested}), {"n": {"a": {"b": np.zeros(2, np.int64)}}})


def test_a_structured_array_elsewhere_is_told_how_to_travel():
    array = np.zeros(2, [("a", "i4")])
    ds = ps.Dataset.range(1).map(lambda i: array)
    with pytest.raises(TypeError, match=r"\{name: array\[name\] for name in array.dtype.names\}"):
        list(ds)


class Rows:
    def __len__(self):
        return 3

    def __getitem__(self, i):
        raise AssertionError("not looked at")


class OnlyIterable:
    def __iter__(self):
        raise AssertionError("not looked at")


def test_an_object_with_rows_is_told_of_from_indexable():
    refused(Rows(), "Rows;", "from_indexable", error=TypeError)
    refused({"x": [1], "y": Rows()}, "at tensors['y']", "from_indexable", error=TypeError)


@pytest.mark.parametrize("value", [OnlyIterable(), (i for i in range(3)), {1, 2}])
def test_what_can_only_be_iterated_is_told_of_from_generator(value):
    with pytest.raises(TypeError, match="from_generator"):
        slices(value)


@pytest.mark.parametrize("value", [range(3), collections.deque([0, 1, 2]), memoryview(b"\0\1\2")])
def test_sequences_of_numbers_are_arrays(value):
    assert [int(x) for x in slices(value)] == [0, 1, 2]


def test_ragged_lists_are_told_what_takes_them():
    for value in ([[1, 2], [3]], [np.zeros(2), np.zeros(3)], [np.zeros((2, 3)), np.zeros((2, 4))]):
        refused(value, "the rows of tensors differ in shape", "experimental.from_list", "ragged")
    refused({"a": [1, 2], "b": ([[1], []],)}, "the rows of tensors['b'][0] differ")


def test_rows_with_strings_and_numbers_do_not_become_strings():
    refused([(1, "a"), (2, "b")], "strings and other values", "experimental.from_list")
    assert slices([("a", "b")]).first().tolist() == ["a", "b"]


def test_a_mask_is_not_lost():
    refused({"x": np.ma.array([1, 2], mask=[False, True])}, "tensors['x'] is masked", "filled")
    same(whole(np.ma.array([1, 2])), np.array([1, 2]))


def test_nothing_is_imported():
    code = (
        "import sys, penstock; penstock.Dataset.from_tensor_slices({'x': [1]}).first();"
        "print(sorted({'pandas', 'polars', 'pyarrow', 'torch', 'datasets'} & {*sys.modules}))"
    )
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert run.stdout.strip() == "[]"


DAY = datetime.datetime(2020, 1, 2)
UTC = DAY.replace(tzinfo=datetime.UTC)


def columns():
    """Return columns, and their values as arrays."""
    return {
        "int": ([1, 2], np.array([1, 2])),
        "float": ([1.5, float("nan")], np.array([1.5, np.nan])),
        "bool": ([True, False], np.array([True, False])),
        "str": (["a", "b"], np.array(["a", "b"], object)),
        "bytes": ([b"a", b"b"], np.array([b"a", b"b"], object)),
        "list": ([[1, 2], [3, 4]], np.array([[1, 2], [3, 4]])),
    }


class TestPandas:
    @pytest.fixture
    def pd(self):
        return pytest.importorskip("pandas")

    def test_columns(self, pd):
        frame = pd.DataFrame({name: given for name, (given, _) in columns().items()}, index=[7, 3])
        frame["when"] = pd.to_datetime([DAY, None]).astype("datetime64[ns]")
        one = whole(frame)
        wanted = {name: array for name, (_, array) in columns().items()}
        wanted["when"] = np.array([DAY, "NaT"], "M8[ns]")
        same(one, wanted)
        same(whole((frame[["int"]], frame["str"])), ({"int": wanted["int"]}, wanted["str"]))
        same(whole(frame.index), np.array([7, 3]))
        same(whole(dict(frame))["list"], wanted["list"])

    @pytest.mark.parametrize("dtype", ["Int8", "boolean", "Float32", "UInt64"])
    def test_nullable_columns_without_nulls(self, pd, dtype):
        column = pd.Series([1, 0], dtype=dtype)
        same(whole(column), column.to_numpy(dtype=column.dtype.numpy_dtype))
        assert whole(column).dtype == column.dtype.numpy_dtype

    def test_categories_are_their_values(self, pd):
        same(whole(pd.Series(["a", "b"], dtype="category")), np.array(["a", "b"], object))
        same(whole(pd.Series([3, 5, 3], dtype="category")), np.array([3, 5, 3]))
        refused(pd.Series(["a", None], dtype="category"), "1 missing value")

    def test_missing_values(self, pd):
        for column in (
            pd.Series([1, None], dtype="Int64"),
            pd.Series([True, None], dtype="boolean"),
            pd.Series(["a", None]),
            pd.Series(["a", None], dtype=object),
            pd.Series(["a", float("nan")], dtype=object),
            pd.Series(["a", pd.NA], dtype=object),
        ):
            words = ("column 'c' of the pandas.DataFrame", "1 missing value", "fillna")
            refused(pd.DataFrame({"c": column}), *words)
        for dtype in ("Float64", "float64"):
            same(whole(pd.Series([1, None], dtype=dtype)), np.array([1.0, np.nan]))

    def test_arrow_columns(self, pd):
        pa = pytest.importorskip("pyarrow")
        for dtype, values in ((pa.int32(), [1, 2]), (pa.string(), ["a", "b"])):
            found = whole(pd.Series(values, dtype=pd.ArrowDtype(dtype)))
            assert found.tolist() == values
        assert whole(pd.Series([1], dtype=pd.ArrowDtype(pa.int32()))).dtype == np.int32
        lists = pd.Series([[1, 2], [3, 4]], dtype=pd.ArrowDtype(pa.list_(pa.int64())))
        same(whole(lists), np.array([[1, 2], [3, 4]]))
        when = pd.Series([DAY], dtype=pd.ArrowDtype(pa.timestamp("us")))
        same(whole(when), np.array([DAY], "M8[us]"))

    def test_what_no_array_holds(self, pd):
        refused(pd.DataFrame({"t": [UTC]}), "column 't'", "times of the zone UTC", "tz_convert")
        refused(pd.Series(pd.period_range("2020", periods=2)), "period")
        refused(pd.DataFrame({"l": [[1], [2, 3]]}), "column 'l'", "shapes", "from_list")
        refused(pd.DataFrame([[1, 2]], columns=["a", "a"]), "unique, a in the pandas.DataFrame")
        refused(pd.DataFrame(index=[1, 2]), "at least one column was expected")

    def test_frames_without_rows(self, pd):
        frame = pd.DataFrame({"x": np.zeros(0, np.float32), "s": np.zeros(0, object)})
        ds = slices(frame)
        assert len(ds) == 0
        assert ds.element_spec["x"] == ps.TensorSpec((), np.float32)

    def test_columns_of_mixed_objects_stay_objects(self, pd):
        values = [decimal.Decimal(1), "a"]
        assert whole(pd.Series(values, dtype=object)).tolist() == values


class TestPolars:
    @pytest.fixture
    def pl(self):
        return pytest.importorskip("polars")

    def test_columns(self, pl):
        frame = pl.DataFrame({name: given for name, (given, _) in columns().items()})
        frame = frame.with_columns(
            pl.Series("when", [DAY, None]),
            pl.Series("day", [DAY.date(), None]),
            pl.Series("array", [[1, 2], [3, 4]], dtype=pl.Array(pl.Int8, 2)),
            pl.Series("cat", ["u", "v"], dtype=pl.Categorical),
            pl.Series("struct", [{"a": 1, "b": "x"}, {"a": 2, "b": "y"}]),
            pl.Series("gap", [1.0, None]),
        )
        one = whole(frame)
        wanted = {name: array for name, (_, array) in columns().items()} | {
            "when": np.array([DAY, "NaT"], "M8[us]"),
            "day": one["day"],
            "array": np.array([[1, 2], [3, 4]], np.int8),
            "cat": np.array(["u", "v"], object),
            "struct": {"a": np.array([1, 2]), "b": np.array(["x", "y"], object)},
            "gap": np.array([1, np.nan]),
        }
        same(one, wanted)
        assert one["day"].astype("M8[D]").tolist() == [DAY.date(), None]
        same(whole(frame["list"]), wanted["list"])

    def test_what_no_array_holds(self, pl):
        for values in ([1, None], ["a", None], [True, None], [b"a", None]):
            refused(pl.DataFrame({"c": values}), "column 'c'", "1 missing value", "fill_null")
        refused(pl.DataFrame({"c": [[1, None]]}), "column 'c'", "missing")
        refused(pl.DataFrame({"t": [UTC]}), "times of the zone UTC")
        refused(pl.DataFrame({"l": [[1], [2, 3]]}), "column 'l'", "shapes", "from_list")
        refused(pl.DataFrame({"d": [decimal.Decimal(1)]}), "column 'd'", "Decimal", "cast")
        refused(pl.DataFrame({"d": [datetime.time(1)]}), "column 'd'", "Time")
        refused(pl.DataFrame(), "at least one column was expected")
        refused(pl.LazyFrame({"a": [1]}), "collect() first")


class TestArrow:
    @pytest.fixture
    def pa(self):
        return pytest.importorskip("pyarrow")

    @pytest.mark.parametrize("batches", [False, True])
    def test_columns(self, pa, batches):
        table = pa.table({name: given for name, (given, _) in columns().items()})
        more = {
            "when": pa.array([DAY, None], pa.timestamp("us")),
            "words": pa.array(["u", "v"]).dictionary_encode(),
            "fixed": pa.array([[1, 2], [3, 4]], pa.list_(pa.int8(), 2)),
            "struct": pa.array([{"a": 1, "b": "x"}, {"a": 2, "b": "y"}]),
            "gap": pa.array([1.0, None]),
        }
        for name, column in more.items():
            table = table.append_column(name, pa.chunked_array([column[:1], column[1:]]))
        given = table.combine_chunks().to_batches()[0] if batches else table
        wanted = {name: array for name, (_, array) in columns().items()} | {
            "when": np.array([DAY, "NaT"], "M8[us]"),
            "words": np.array(["u", "v"], object),
            "fixed": np.array([[1, 2], [3, 4]], np.int8),
            "struct": {"a": np.array([1, 2]), "b": np.array(["x", "y"], object)},
            "gap": np.array([1, np.nan]),
        }
        same(whole(given), wanted)
        same(whole(given.column("fixed")), wanted["fixed"])

    def test_tensors_of_a_fixed_shape(self, pa):
        kind = pa.fixed_shape_tensor(pa.int32(), [2, 2])
        column = pa.ExtensionArray.from_storage(
            kind, pa.array([[1, 2, 3, 4]], pa.list_(pa.int32(), 4))
        )
        wanted = {"t": np.array([[[1, 2], [3, 4]]], np.int32)}
        same(whole(pa.table({"t": column})), wanted)

    def test_what_no_array_holds(self, pa):
        for values in ([1, None], ["a", None], [True, None], [b"a", None]):
            refused(pa.table({"c": values}), "column 'c'", "1 missing value", "fill_null")
        refused(pa.table({"c": [[1, None]]}), "column 'c'", "missing")
        refused(pa.table({"t": [UTC]}), "times of the zone UTC")
        refused(pa.table({"l": [[1], [2, 3]]}), "column 'l'", "shapes", "from_list")
        refused(pa.table({"d": [decimal.Decimal(1)]}), "column 'd'", "decimal", "cast")
        refused(pa.table([[1], [2]], names=["a", "a"]), "unique, a in the pyarrow.Table")
        refused(pa.table({}), "at least one column was expected")


def test_tables_of_other_libraries_are_told_of_arrow():
    class Frame:
        def __dataframe__(self):
            raise AssertionError("not looked at")

    refused(Frame(), "tables of pandas, polars and Arrow are taken", "pyarrow", error=TypeError)


def test_datasets_of_other_libraries_are_told_what_takes_them():
    data = pytest.importorskip("torch.utils.data")

    class Stream(data.IterableDataset):
        def __iter__(self):
            return iter(())

    pairs = data.TensorDataset(pytest.importorskip("torch").arange(3))
    refused(pairs, "from_indexable", error=TypeError)
    with pytest.raises(TypeError, match=r"from_(generator|indexable)"):
        slices(Stream())


def test_a_column_of_polars_that_numpy_cannot_have_is_named():
    polars = pytest.importorskip("polars")
    wide = polars.Series([1, 2], dtype=polars.Int128)
    for column in (
        wide,
        polars.Series([decimal.Decimal("1.5"), None], dtype=polars.Decimal(10, 2)).fill_null(0),
        polars.Series([[1], [2]], dtype=polars.List(polars.Int128)),
        polars.DataFrame({"inner": wide}).to_struct(),
    ):
        with pytest.raises(ValueError, match=r"column 'wide' of the polars.DataFrame .*cast them"):
            slices(polars.DataFrame({"narrow": [1, 2], "wide": column}))
