"""Damaged files that libraries read: errors name the stage and the file."""

import sqlite3

import numpy as np
import pytest

import penstock as ps
from penstock.libraries import as_data_error

STEPS = 200  # number of damaged bytes, each tested separately
KINDS = (ps.DataError, ValueError, TypeError, OSError, MemoryError)


def parquet(path):
    pa = pytest.importorskip("pyarrow")
    table = pa.table({"i": [1, 2, 3], "s": ["a", "bb", "c"], "l": [[1], [], [2, 3]]})
    pytest.importorskip("pyarrow.parquet").write_table(table, path)
    return "ParquetDataset", lambda: ps.ParquetDataset(path)


def arrow(path):
    pa = pytest.importorskip("pyarrow")
    table = pa.table({"i": [1, 2, 3], "s": ["a", "bb", "c"], "l": [[1], [], [2, 3]]})
    table = table.append_column("v", pa.array([[1], [], [2, 3]], pa.list_view(pa.int8())))
    table = table.append_column("d", table["s"].dictionary_encode())
    with pa.OSFile(str(path), "wb") as file, pa.ipc.new_file(file, table.schema) as writer:
        writer.write_table(table)
    return "ArrowDataset", lambda: ps.ArrowDataset(path)


def hdf5(path):
    h5py = pytest.importorskip("h5py")
    with h5py.File(path, "w") as file:
        file.create_dataset("x", data=np.arange(12).reshape(4, 3), chunks=(2, 3), compression=1)
        file["g/y"] = np.arange(4)
    return "HDF5Dataset", lambda: ps.HDF5Dataset(path, ["x", "g/y"])


def array_record(path):
    module = pytest.importorskip("array_record.python.array_record_module")
    writer = module.ArrayRecordWriter(str(path), "group_size:2")
    for i in range(6):
        writer.write(b"%d" % i)
    writer.close()
    return "ArrayRecordDataset", lambda: ps.ArrayRecordDataset(path)


def sqlite(path):
    with sqlite3.connect(path) as database:
        database.execute("CREATE TABLE t (i INTEGER, s TEXT)")
        database.executemany("INSERT INTO t VALUES (?, ?)", [(i, "x" * i) for i in range(40)])
    database.close()
    types = (np.int64, str)
    return "SqlDataset", lambda: ps.experimental.SqlDataset(
        "sqlite", path, "SELECT i, s FROM t", types
    )


def csv(path):
    path.write_bytes(b'a,b\n1,"x, y"\n2,z\n')
    return "make_csv_dataset|CsvDataset", lambda: ps.experimental.make_csv_dataset(
        path, 2, num_epochs=1, shuffle=False
    )


def json_lines(path):
    path.write_bytes(b'{"a":1,"b":[1.5]}\n{"a":2,"b":[]}\n')
    return "JSONLinesDataset", lambda: ps.JSONLinesDataset(path)


@pytest.mark.parametrize(
    "form", [parquet, arrow, hdf5, array_record, sqlite, csv, json_lines], ids=lambda f: f.__name__
)
def test_errors_name_stage_and_file(tmp_path, form):
    path = tmp_path / "file"
    stages, build = form(path)
    whole = path.read_bytes()
    step = max(1, len(whole) // STEPS)
    failed = 0
    for i, at in enumerate(range(0, len(whole), step)):
        for damaged in (whole[:at], _flipped(whole, at, 0xFF if i % 2 else 1 << i // 2 % 8)):
            path.write_bytes(damaged)
            for error in errors_of(build):
                failed += 1
                assert isinstance(error, KINDS), repr(error)
                told = "\n".join([str(error), *getattr(error, "__notes__", [])])
                assert any(stage in told for stage in stages.split("|")), told
                named = str(path) in told or str(path) == getattr(error, "filename", None)
                assert named, told
    assert failed > 5


def write_parquet(table, path):
    pytest.importorskip("pyarrow.parquet").write_table(table, path)


def write_arrow(table, path):
    pa = pytest.importorskip("pyarrow")
    with pa.OSFile(str(path), "wb") as file, pa.ipc.new_file(file, table.schema) as writer:
        writer.write_table(table)


TABLES = {ps.ParquetDataset: write_parquet, ps.ArrowDataset: write_arrow}


@pytest.mark.parametrize("source", TABLES, ids=lambda source: source.__name__)
@pytest.mark.parametrize(
    ("names", "said"),
    [
        ([], "a file with columns was expected, got none"),
        (["x", "y", "x"], "names of columns must be unique, got x more than once"),
    ],
)
def test_columns_that_cannot_be_read_are_an_error_of_the_file(tmp_path, source, names, said):
    pa = pytest.importorskip("pyarrow")
    good, bad = tmp_path / "good", tmp_path / "bad"
    TABLES[source](pa.table([pa.array([1, 2])] * len(names), names=names), bad)
    with pytest.raises(ps.DataError, match=f"{source.__name__}: {said}") as raised:
        source(bad)
    assert raised.value.file == str(bad)
    TABLES[source](pa.table({"x": [1, 2]}), good)
    assert [int(row["x"]) for row in source([bad, good], on_error="skip")] == [1, 2]
    with pytest.raises(ValueError, match="columns must name at least one"):
        source(good, [])


def test_a_damaged_bit_of_an_arrow_file_is_no_wrong_argument(tmp_path):
    pa = pytest.importorskip("pyarrow")
    path = tmp_path / "a.arrow"
    write_arrow(pa.table({"i": [1, 2], "s": ["a", "b"]}), path)
    whole = path.read_bytes()
    footer = whole.rindex(b"ARROW1") - 4
    begin = footer - int.from_bytes(whole[footer : footer + 4], "little")
    kinds = set()
    for at in range(begin, footer):
        for bit in range(8):
            path.write_bytes(_flipped(whole, at, 1 << bit))
            kinds |= {
                type(error)
                for error in errors_of(lambda: ps.ArrowDataset(path), 3)
                if "missing values" not in str(error)
            }
    assert ps.DataError in kinds
    assert ValueError not in kinds


def _flipped(content, at, bits):
    return content[:at] + bytes([content[at] ^ bits]) + content[at + 1 :]


def errors_of(build, most=50):
    """Return the errors of creating a dataset and iterating over it."""
    found = []
    try:
        it = iter(build())
    except Exception as error:
        return [error]
    for _ in range(most):
        try:
            next(it)
        except StopIteration:
            return found
        except Exception as error:
            found.append(error)
    it.close()
    return found


def test_a_file_with_a_size_beyond_the_memory_is_damaged():
    for size, kind in ((2**56, ps.DataError), (4096, MemoryError)):
        error = MemoryError(f"malloc of size {size} failed")
        found = as_data_error("ArrowDataset", "a.arrow", "record batch 3: ", error)
        assert type(found) is kind
        assert str(size) in str(found)
