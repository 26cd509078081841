"""ParquetDataset and ArrowDataset: rows of table files."""

import contextlib
import os
import pickle
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import penstock as ps
from arrow_tables import ROWS, row, table
from compare import assert_same
from contract import DatasetContract, Failure, steps

pa = pytest.importorskip("pyarrow")
feather = pytest.importorskip("pyarrow.feather")
parquet = pytest.importorskip("pyarrow.parquet")


def write_stream(table, path, rows):
    with pa.ipc.new_stream(path, table.schema) as writer:
        writer.write_table(table, rows)


WRITERS = {
    "parquet": lambda t, path, rows: parquet.write_table(t, path, row_group_size=rows),
    "feather": lambda t, path, rows: feather.write_feather(t, path, "uncompressed", chunksize=rows),
    "lz4": lambda t, path, rows: feather.write_feather(t, path, "lz4", chunksize=rows),
    "stream": write_stream,
}
SOURCES = {
    "parquet": ps.ParquetDataset,
    "feather": ps.ArrowDataset,
    "lz4": ps.ArrowDataset,
    "stream": ps.ArrowDataset,
}


@pytest.fixture(scope="class", params=WRITERS)
def files(request, tmp_path_factory):
    """Write two files of one kind, of 9 and 14 rows in chunks of 4, and return their source."""
    folder = tmp_path_factory.mktemp("tables")
    whole = table()
    names = [folder / "a", folder / "b"]
    WRITERS[request.param](whole.slice(0, 9), names[0], 4)
    WRITERS[request.param](whole.slice(9), names[1], 4)
    return SOURCES[request.param], list(map(str, names))


class Files:
    """Base class of the tests for the files of the fixture."""

    @pytest.fixture(autouse=True)
    def use(self, files):
        type(self).source_class, type(self).files = files


class TestRows(Files, DatasetContract):
    @classmethod
    def build(cls):
        return cls.source_class(cls.files)

    expected = [row(n) for n in range(ROWS)]

    def test_each_row_has_a_position(self):
        ds = self.build()
        assert len(ds) == ROWS
        for n in (5, 0, 22, 8, 9):
            assert_same([ps.experimental.at(ds, n)], [row(n)])

    @pytest.mark.parametrize("reads", [1, 2, 5, -1])
    def test_the_order_does_not_depend_on_how_many_are_read_at_a_time(self, reads):
        ds = self.source_class(self.files, num_parallel_reads=reads)
        assert_same(list(ds), self.expected)

    def test_a_pickled_dataset_reads_the_files_again(self):
        assert_same(list(pickle.loads(pickle.dumps(self.build()))), self.expected)

    def test_lists_are_ragged_and_padded(self):
        ds = self.source_class(self.files, ["list", "i"])
        values, splits = ds.ragged_batch(ROWS).first()["list"]
        wanted = [np.arange(n % 5) for n in range(ROWS)]
        assert_same([values], [np.concatenate(wanted).astype(np.int32)])
        assert splits.tolist() == np.cumsum([0, *map(len, wanted)]).tolist()
        assert ds.padded_batch(5).first()["list"].tolist()[3] == [0, 1, 2, 0]

    def test_batches(self):
        ds = self.source_class(self.files, ["f", "s"], 10)
        assert [len(batch["f"]) for batch in ds] == [10, 10, 3]
        assert list(ds.first()) == ["f", "s"]
        assert len(self.source_class(self.files, ["i"], batch_size=10, drop_remainder=True)) == 2
        batch = ds.first()["f"]
        batch[0] = 7  # the array does not share memory

    def test_filters(self):
        ds = self.source_class(self.files, ["s", "i"], filters=[("i", ">", 6), ("i", "<", 12)])
        assert [int(e["i"]) for e in ds] == [7, 8, 9, 10, 11]
        ds = self.source_class(self.files, ["u"], filters=[("i", "=", 20)], batch_size=4)
        assert_same(list(ds), [{"u": np.array([20], np.uint8)}])
        assert list(self.source_class(self.files, filters=[("i", ">", 99)])) == []

    def test_a_missing_file_is_one_error(self, tmp_path):
        files = [self.files[0], str(tmp_path / "none"), self.files[1]]
        ds = self.source_class(files, ["i"])
        came = steps(iter(ds))
        assert [c.kind for c in came if isinstance(c, Failure)] == ["FileNotFoundError"]
        assert len(came) == ROWS + 1
        assert isinstance(came[9], Failure)
        kept = self.source_class(files, ["i"], on_error="skip")
        assert [int(e["i"]) for e in kept] == list(range(ROWS))
        with pytest.raises(FileNotFoundError):
            self.source_class(str(tmp_path / "none"))

    def test_files_that_are_none(self, tmp_path):
        (tmp_path / "empty").write_bytes(b"")
        (tmp_path / "text").write_bytes(b"no table at all, but some text\n" * 9)
        whole = Path(self.files[1]).read_bytes()
        (tmp_path / "cut").write_bytes(whole[: len(whole) // 2])
        for name in ("empty", "text"):
            with pytest.raises(ps.DataError) as raised:
                self.source_class(tmp_path / name)
            assert raised.value.file == str(tmp_path / name)
            assert str(raised.value).startswith(self.source_class.__name__ + ": ")
        ds = self.source_class([tmp_path / "cut", self.files[0]], ["i"], on_error="skip")
        assert [int(e["i"]) for e in ds][-9:] == list(range(9))

    def test_columns_that_are_not_there(self):
        with pytest.raises(ValueError, match=r"columns must be among i, u, f.*got zz"):
            self.source_class(self.files, ["i", "zz"])
        with pytest.raises(ValueError, match=r"columns must be among i, u, f.*got struct.zz"):
            self.source_class(self.files, ["struct.zz"])
        with pytest.raises(ValueError, match="columns must name at least one"):
            self.source_class(self.files, [])

    @pytest.mark.parametrize("wrong", [("zz", ">", 1), ("s", ">", 1)])
    def test_filters_that_fit_no_column_are_errors_at_once(self, wrong):
        with pytest.raises(ValueError, match=r"filters must compare columns .* has i, u, f"):
            self.source_class(self.files, ["i"], filters=[wrong])


def test_a_damaged_row_group_is_one_error_and_the_next_one_follows(tmp_path):
    path = tmp_path / "a.parquet"
    parquet.write_table(table().select(["i"]), path, row_group_size=8, compression="snappy")
    at = parquet.ParquetFile(path).metadata.row_group(1).column(0)
    whole = bytearray(path.read_bytes())
    whole[at.dictionary_page_offset : at.dictionary_page_offset + 40] = b"\xff" * 40
    path.write_bytes(whole)
    came = steps(iter(ps.ParquetDataset(path)))
    (failure,) = [c for c in came if isinstance(c, Failure)]
    assert failure.kind == "DataError"
    assert "ParquetDataset: row group 1: " in failure.text
    assert str(path) in failure.text
    assert [int(c["i"]) for c in came if not isinstance(c, Failure)] == [*range(8), *range(16, 23)]


@pytest.fixture(scope="module")
def wide(tmp_path_factory):
    """Write three files of 4,000 rows of 1 KiB or more, with missing values, in groups of 1,000."""
    folder = tmp_path_factory.mktemp("wide")
    names = []
    for number in range(3):
        rows = range(4000 * number, 4000 * number + 4000)
        columns = {
            "n": pa.array(rows, pa.int64()),
            "wide": pa.array(
                np.repeat(rows, 128).reshape(-1, 128).tolist(), pa.list_(pa.int64(), 128)
            ),
            "text": pa.array([None if n % 7 == 0 else f"row {n}" * (n % 3) for n in rows]),
            "kind": pa.array([f"kind {n % 5}" for n in rows]).dictionary_encode(),
            "list": pa.array([[n] * (n % 4) for n in rows], pa.list_(pa.int32())),
            "score": pa.array([None if n % 5 == 0 else n / 2 for n in rows]),
        }
        names.append(str(folder / f"{number}.parquet"))
        parquet.write_table(pa.table(columns), names[-1], row_group_size=1000)
    return names


def wide_row(n):
    return {
        "n": np.int64(n),
        "wide": np.full(128, n),
        "text": b"?" if n % 7 == 0 else b"row %d" % n * (n % 3),
        "kind": b"kind %d" % (n % 5),
        "list": np.full(n % 4, n, np.int32),
        "score": np.nan if n % 5 == 0 else np.float64(n / 2),
    }


def limited(ds, memory_limit):
    options = ps.Options()
    options.memory_limit = memory_limit
    return ds.with_options(options)


@pytest.fixture
def decoded(monkeypatch):
    """Return a list that receives the number of each row group when it is decoded."""
    numbers = []
    read = parquet.ParquetFile.read_row_group

    def noted(file, number, *args, **kwargs):
        numbers.append(number)
        return read(file, number, *args, **kwargs)

    monkeypatch.setattr(parquet.ParquetFile, "read_row_group", noted)
    return numbers


# All 12 row groups take about 13 MB, and half of the limit is usable: windows grow to 3,000 rows.
@pytest.mark.parametrize(("memory_limit", "passes"), [(2**28, 1), (2**23, 9)])
def test_global_shuffle_decodes_each_row_group_once_for_each_window(
    wide, decoded, memory_limit, passes
):
    ds = ps.ParquetDataset(wide, null_values={"text": "?"})
    order = [int(n) for n in ps.Dataset.range(12_000).global_shuffle(seed=5)]
    came = list(limited(ds.global_shuffle(seed=5), memory_limit))
    assert_same(came, [wide_row(n) for n in order])
    assert 12 <= len(decoded) <= 12 * passes


@pytest.mark.parametrize("position", [1, 700, 5003, 11_999])
def test_a_state_of_global_shuffle_restores_within_a_window(wide, position):
    def build():
        ds = ps.ParquetDataset(wide, ["n", "wide", "list"]).global_shuffle(seed=5)
        return limited(ds.ragged_batch(1).prefetch(2), 2**23)

    order = [int(n) for n in ps.Dataset.range(12_000).global_shuffle(seed=5)]
    it = iter(build())
    for _ in range(position):
        next(it)
    restored = iter(build())
    restored.set_state(it.get_state())
    assert [int(next(restored)["n"][0]) for _ in order[position : position + 99]] == order[
        position : position + 99
    ]


@pytest.mark.parametrize("memory_limit", [2**28, 2**23])
def test_a_damaged_row_group_is_an_error_at_each_of_its_rows(wide, tmp_path, memory_limit):
    path = tmp_path / "damaged.parquet"
    at = parquet.ParquetFile(wide[1]).metadata.row_group(2).column(1)
    whole = bytearray(Path(wide[1]).read_bytes())
    begin = at.dictionary_page_offset or at.data_page_offset
    whole[begin : begin + 40] = b"\xff" * 40
    path.write_bytes(whole)
    ds = ps.ParquetDataset([wide[0], path, wide[2]], ["n", "wide"])
    order = [int(n) for n in ps.Dataset.range(12_000).global_shuffle(seed=5)]
    it = iter(limited(ds.global_shuffle(seed=5), memory_limit))
    for n in order:
        if not 6000 <= n < 7000:
            assert int(next(it)["n"]) == n
            continue
        with pytest.raises(ps.DataError, match="ParquetDataset: row group 2: ") as caught:
            next(it)
        assert str(path) in str(caught.value)


def test_a_file_that_has_changed_is_an_error(tmp_path):
    path = tmp_path / "a.parquet"
    parquet.write_table(table().select(["i"]), path, row_group_size=8)
    ds = ps.ParquetDataset(path)
    copy = pickle.loads(pickle.dumps(ds))  # its modification time is unknown
    parquet.write_table(table().select(["i"]), path, row_group_size=7)
    with pytest.raises(ps.DataError, match="was modified after this dataset was created"):
        list(ds)
    with pytest.raises(ps.DataError, match="another number of rows"):
        list(copy)
    ds = pickle.loads(pickle.dumps(ps.ParquetDataset(path)))
    parquet.write_table(pa.table({"i": [1.5] * 7}), path)
    with pytest.raises(ps.DataError, match=r"got {'i': float64} in .*a.parquet"):
        list(ds)


def test_files_of_other_columns_are_errors(tmp_path):
    parquet.write_table(pa.table({"x": [1, 2]}), tmp_path / "a")
    parquet.write_table(pa.table({"x": ["1"]}), tmp_path / "b")
    came = steps(iter(ps.ParquetDataset([tmp_path / "a", tmp_path / "b"])))
    assert len(came) == 3
    assert "rows of {'x': int64} were expected" in came[2].text
    assert f"in {tmp_path / 'b'}" in came[2].text


def test_missing_values(tmp_path):
    path = tmp_path / "a.parquet"
    columns = {
        "f": [1.5, None],
        "t": pa.array([None, 5], pa.timestamp("ms")),
        "i": pa.array([None, 3], pa.int8()),
        "s": ["a", None],
        "l": [[1], None],
        "q": [{"x": None}, {"x": 1}],
    }
    parquet.write_table(pa.table(columns), path)
    first = ps.ParquetDataset(path, ["f", "t"], batch_size=2).first()
    assert np.isnan(first["f"][1])
    assert np.isnat(first["t"][0])
    for name in ("i", "s", "l", "q"):
        with pytest.raises(ValueError, match=f"column {name}.* has 1 missing values"):
            ps.ParquetDataset(path, [name]).first()
    filled = ps.ParquetDataset(path, null_values={"i": -1, "s": "?", "f": 0, "l": [], "q.x": 9})
    wanted = [
        {"f": 1.5, "t": np.datetime64("NaT", "ms"), "i": np.int8(-1), "s": b"a", "l": [1]},
        {"f": 0.0, "t": np.datetime64(5, "ms"), "i": np.int8(3), "s": b"?", "l": []},
    ]
    for came, want, x in zip(filled, wanted, (9, 1), strict=True):
        assert (came["l"].tolist(), int(came["q"]["x"])) == (want.pop("l"), x)
        assert_same([{key: came[key] for key in want}], [want])
    with pytest.raises(ValueError, match=r"null_values\['i'\] must be a value of type int8"):
        ps.ParquetDataset(path, null_values={"i": "x"}).first()
    with pytest.raises(ValueError, match="null_values must name columns, got zz"):
        ps.ParquetDataset(path, null_values={"zz": 1}).first()


def test_types_that_numpy_does_not_have(tmp_path):
    path = tmp_path / "a.parquet"
    parquet.write_table(pa.table({"d": pa.array([1], pa.time32("ms")), "i": [1]}), path)
    with pytest.raises(TypeError, match=r"ParquetDataset: column d has .* time of day"):
        ps.ParquetDataset(path)
    assert_same(list(ps.ParquetDataset(path, ["i"])), [{"i": np.int64(1)}])


def test_a_field_of_a_struct(tmp_path):
    path = tmp_path / "a.parquet"
    parquet.write_table(table().select(["struct", "i"]), path)
    first = ps.ParquetDataset(path, ["struct.x"]).skip(3).first()
    assert_same([first], [{"struct": {"x": np.int64(3)}}])
    with pytest.raises(ValueError, match="whole ones"):
        ps.ParquetDataset(path, ["struct.x"], filters=[("i", ">", 1)])


@pytest.mark.parametrize("kind", WRITERS)
def test_a_dot_may_be_in_the_name_of_a_column(tmp_path, kind):
    struct = pa.array([{"b": 5, "c.d": 6}] * 2)
    made = pa.table({"a.b": [1, 2], "a": struct, "x": [None, 4]})
    WRITERS[kind](made, tmp_path / "a", 2)
    source = SOURCES[kind]
    filled = {"a.b": 0, "x": 3}
    with pytest.raises(ValueError, match="null_values must name columns, got zz"):
        source(tmp_path / "a", ["x"], null_values={"x": 1, "zz.b": 1})
    assert list(source(tmp_path / "a", ["a.b", "x"], null_values=filled)) == [
        {"a.b": 1, "x": 3},
        {"a.b": 2, "x": 4},
    ]
    filters = [("a.b", ">", 1)]
    assert list(source(tmp_path / "a", ["a.b"], filters=filters)) == [{"a.b": 2}]
    if kind == "parquet":
        assert source(tmp_path / "a", ["a.c.d"]).first() == {"a": {"c.d": 6}}


def test_a_value_for_a_column_is_none_for_the_field_of_another(tmp_path):
    parquet.write_table(pa.table({"a": [1, None], "a.b": [None, 2]}), tmp_path / "a")
    ds = ps.ParquetDataset(tmp_path / "a", null_values={"a": 5, "a.b": 6})
    assert list(ds) == [{"a": 1, "a.b": 6}, {"a": 5, "a.b": 2}]


@pytest.mark.parametrize("kind", WRITERS)
def test_columns_of_one_name_are_refused_if_they_are_read(tmp_path, kind):
    made = pa.table([pa.array([1, 2]), pa.array([3, 4]), pa.array([5, 6])], names=["x", "x", "y"])
    WRITERS[kind](made, tmp_path / "a", 2)
    for columns in (None, ["x"], ["y", "x"]):
        with pytest.raises(ps.DataError, match="names of columns must be unique, got x more"):
            SOURCES[kind](tmp_path / "a", columns)
    assert list(SOURCES[kind](tmp_path / "a", ["y"], filters=[("y", ">", 5)])) == [{"y": 6}]


@pytest.mark.filterwarnings("ignore:Feather V1")
def test_feather_of_version_1_is_refused(tmp_path):
    feather.write_feather(pa.table({"x": [1]}), tmp_path / "a", version=1)
    with pytest.raises(
        ps.DataError, match="version 2 was expected, got one of version 1; write it"
    ):
        ps.ArrowDataset(tmp_path / "a")


def test_arguments_that_are_wrong(tmp_path):
    with pytest.raises(ValueError, match="at least one file"):
        ps.ParquetDataset([])
    with pytest.raises(TypeError, match=r"columns must be a sequence"):
        ps.ParquetDataset("a", "column")
    with pytest.raises(TypeError, match="filenames must be"):
        ps.ParquetDataset(3)


def test_a_state_is_small_and_reads_the_row_group_again(tmp_path):
    path = tmp_path / "a.parquet"
    parquet.write_table(table(1000).select(["i"]), path, row_group_size=100)
    it = iter(ps.ParquetDataset(path))
    for _ in range(457):
        next(it)
    state = it.get_state()
    assert len(state) < 1024
    other = iter(ps.ParquetDataset(path))
    other.set_state(state)
    assert [int(e["i"]) for e in other] == list(range(457, 1000))


def test_a_program_may_end_within_a_file(tmp_path):
    path = tmp_path / "a.parquet"
    parquet.write_table(table(1000), path, row_group_size=100)
    script = f"import penstock as ps; it = iter(ps.ParquetDataset({str(path)!r})); next(it)"
    ended = subprocess.run(
        [sys.executable, "-P", "-c", script], capture_output=True, text=True, check=False
    )
    assert (ended.returncode, ended.stderr) == (0, "")


def test_damaged_offsets_of_strings_are_an_error(tmp_path):
    path = tmp_path / "a.arrow"
    feather.write_feather(pa.table({"s": ["aa", "bb"] * 200}), path, compression="uncompressed")
    data = bytearray(path.read_bytes())
    at = data.find(np.arange(0, 10, 2, dtype="<i4").tobytes())
    data[at + 40 : at + 44] = (2**30).to_bytes(4, "little")
    path.write_bytes(data)
    with pytest.raises(ps.DataError, match=r"a\.arrow"):
        list(ps.ArrowDataset(path))


def test_a_file_that_is_rewritten_meanwhile_is_an_error(tmp_path):
    path = tmp_path / "a.parquet"
    parquet.write_table(pa.table({"x": np.arange(20000)}), path, row_group_size=1000)
    rows = iter(ps.ParquetDataset(path))
    next(rows)
    parquet.write_table(pa.table({"x": np.arange(10)}), path)
    with pytest.raises((ps.DataError, OSError)):
        list(rows)


@pytest.mark.parametrize("form", ["feather", "lz4", "stream"])
@pytest.mark.parametrize("change", ["cut", "written again"])
def test_an_arrow_file_that_changes_while_it_is_read_is_an_error(tmp_path, form, change):
    path = tmp_path / "a.arrow"
    rows = pa.table({"x": np.arange(20_000), "s": [str(n) for n in range(20_000)]})
    WRITERS[form](rows, path, 100)
    it = iter(ps.ArrowDataset(path))
    next(it)
    if change == "cut":
        os.truncate(path, 1000)
    else:
        WRITERS[form](rows.slice(7), path, 100)
    failed = [step for step in steps(it, most=30_000) if isinstance(step, Failure)]
    assert failed
    assert {error.kind for error in failed} == {"DataError"}
    assert all(f"file {path}" in error.text for error in failed)


def test_streams_with_dictionaries_are_read_at_any_position(tmp_path):
    path = tmp_path / "a.arrow"
    words = [[f"{batch}-{n % (2 + batch)}" for n in range(20)] for batch in range(5)]
    batches = [pa.record_batch({"d": pa.array(each).dictionary_encode()}) for each in words]
    with pa.OSFile(str(path), "wb") as file, pa.ipc.new_stream(file, batches[0].schema) as writer:
        for batch in batches:
            writer.write_batch(batch)
    wanted = [word.encode() for each in words for word in each]
    ds = ps.ArrowDataset(path)
    assert [row["d"] for row in ds] == wanted
    assert [ps.experimental.at(ds, n)["d"] for n in (99, 3, 45)] == [wanted[n] for n in (99, 3, 45)]


def test_damaged_arrow_files_are_read_or_rejected(tmp_path):
    path = tmp_path / "a.arrow"
    random = np.random.default_rng(5)
    for form in ("stream", "feather"):
        WRITERS[form](table(40).select(["i", "s"]), path, 10)
        whole = path.read_bytes()
        for _ in range(60):
            data = bytearray(whole)
            at = int(random.integers(len(data)))
            number = random.choice([0, 0x7FFFFFFF, 0xFFFFFFFF, int(random.integers(2**32))])
            data[at : at + 4] = int(number).to_bytes(4, "little")
            path.write_bytes(data[: int(random.integers(len(data)))] if at % 4 == 0 else data)
            with contextlib.suppress(ps.DataError, ValueError, TypeError, MemoryError):
                assert all(isinstance(row, dict) for row in ps.ArrowDataset(path))


@pytest.mark.parametrize("filters", [None, [("x", ">=", 0)]])
@pytest.mark.parametrize("change", ["replaced", "written in place"])
@pytest.mark.parametrize("kind", ["parquet", "arrow"])
def test_a_file_of_the_same_size_that_changes_while_it_is_read_is_not_mixed(
    tmp_path, kind, change, filters
):
    def write(path, first):
        rows = pa.table({"x": np.arange(first, first + 20_000)})
        if kind == "arrow":
            WRITERS["feather"](rows, path, 1000)
        else:
            parquet.write_table(
                rows, path, row_group_size=1000, use_dictionary=False, compression="none"
            )

    path, other = tmp_path / "a", tmp_path / "b"
    write(path, 0)
    write(other, 50_000)
    assert path.stat().st_size == other.stat().st_size
    later = path.stat().st_mtime_ns + 1_000_000_000
    dataset = ps.ParquetDataset if kind == "parquet" else ps.ArrowDataset
    ds = dataset(str(path), filters=filters, num_parallel_reads=1)
    it = iter(ds)
    assert next(it)["x"] == 0
    if change == "replaced":
        other.replace(path)
    else:
        path.write_bytes(other.read_bytes())
    os.utime(path, ns=(later, later))
    for came in (steps(it, most=30_000), steps(iter(ds), most=30_000)):
        errors = [step for step in came if isinstance(step, Failure)]
        assert {error.kind for error in errors} <= {"DataError"}
        assert all(step["x"] < 20_000 for step in came if not isinstance(step, Failure))
        assert errors or change == "replaced"
