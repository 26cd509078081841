"""Paths with a null character are refused everywhere: systems would truncate them there."""

import numpy as np
import pytest

import penstock as ps
from penstock import experimental as ex

NUMBERS = ps.Dataset.range(2)

READ = {
    "lines": lambda path: list(ps.TextLineDataset(path)),
    "lines of bytes": lambda path: list(ps.TextLineDataset(path.encode())),
    "lines in parallel": lambda path: list(ps.TextLineDataset([path, path], num_parallel_reads=2)),
    "lines of an element": lambda path: list(
        ps.Dataset.from_tensor_slices([path]).flat_map(ps.TextLineDataset)
    ),
    "records": lambda path: list(ps.TFRecordDataset(path)),
    "fixed": lambda path: list(ps.FixedLengthRecordDataset(path, 1)),
    "csv": lambda path: list(ex.CsvDataset(path, [np.int32])),
    "csv columns": lambda path: list(ex.make_csv_dataset(path, 2)),
    "sql": lambda path: list(ex.SqlDataset("sqlite", path, "select 1", (np.int64,))),
    "list": lambda path: list(ps.Dataset.list_files([path])),
    "match": lambda path: ps.io.matching_files(path),
    "read_file": lambda path: ps.io.read_file(path),
    "read_file in C++": lambda path: list(
        ps.Dataset.from_tensors(path).map(ps.native(lambda name: ps.io.read_file(name)))
    ),
    "cache": lambda path: list(NUMBERS.cache(path)),
    "snapshot": lambda path: list(NUMBERS.snapshot(path)),
    "save": lambda path: NUMBERS.save(path),
    "load": lambda path: ps.Dataset.load(path),
    "write_file": lambda path: ps.io.write_file(path, b"x"),
    "write records": lambda path: ps.io.TFRecordWriter(path),
    "write a dataset": lambda path: ex.TFRecordWriter(path).write(NUMBERS),
}


@pytest.mark.parametrize("how", READ)
def test_a_null_character_is_refused(tmp_path, how):
    there = tmp_path / "there"
    there.write_text("1\n")
    with pytest.raises(ValueError, match="null"):
        READ[how](f"{there}\0.txt")
    assert [p.name for p in tmp_path.iterdir()] == ["there"]
    assert there.read_text() == "1\n"
