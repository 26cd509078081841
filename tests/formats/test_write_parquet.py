"""write_parquet: elements written to Parquet files."""

import numpy as np
import pytest

import penstock as ps
from compare import assert_same

parquet = pytest.importorskip("pyarrow.parquet")

ROWS = ps.Dataset.range(25).map(
    lambda n: {
        "n": n,
        "pair": np.array([n, -n], np.int16),
        "list": np.arange(n % 4),
        "words": np.array([b"w"] * (n % 3), object),
        "in": {"b": n % 2 == 0, "t": np.datetime64(int(n), "ms"), "s": b"%d" % n},
    },
    output_signature={
        "n": ps.TensorSpec((), np.int64),
        "pair": ps.TensorSpec((2,), np.int16),
        "list": ps.TensorSpec((None,), np.int64),
        "words": ps.TensorSpec((None,), bytes),
        "in": {
            "b": ps.TensorSpec((), bool),
            "t": ps.TensorSpec((), "datetime64[ms]"),
            "s": ps.TensorSpec((), bytes),
        },
    },
)


@pytest.mark.parametrize("compression", [None, "", "ZSTD"])
def test_rows_come_back(tmp_path, compression):
    (file,) = ROWS.write_parquet(tmp_path / "a.parquet", compression=compression, row_group_size=10)
    came = ps.ParquetDataset(file)
    assert came.element_spec == ROWS.element_spec
    assert_same(list(came), list(ROWS))
    assert parquet.ParquetFile(file).num_row_groups == 3


def test_row_groups_go_to_shards_in_turn(tmp_path):
    files = ROWS.write_parquet(tmp_path / "a.parquet", shards=2, row_group_size=10)
    came = [[int(e["n"]) for e in ps.ParquetDataset(file)] for file in files]
    assert came == [[*range(10), *range(20, 25)], list(range(10, 20))]


def test_a_shard_may_be_empty(tmp_path):
    files = ROWS.take(3).write_parquet(tmp_path / "a.parquet", shards=2)
    assert [len(ps.ParquetDataset(file)) for file in files] == [3, 0]


def test_shapes_of_traced_functions(tmp_path):
    ds = ps.Dataset.range(5).map(lambda n: {"x": n * np.ones((2, 3)), "y": n + 1})
    (file,) = ds.write_parquet(tmp_path / "a.parquet")
    assert_same(list(ps.ParquetDataset(file)), list(ds))


def test_elements_that_are_no_rows(tmp_path):
    for wrong in (ps.Dataset.range(3), ps.Dataset.from_tensors(({"x": 1},))):
        with pytest.raises(TypeError, match="write_parquet: elements must be dicts"):
            wrong.write_parquet(tmp_path / "a")
    with pytest.raises(TypeError, match=r"elements must be dicts of arrays, elements are \{\}"):
        ps.Dataset.from_tensors({}).write_parquet(tmp_path / "a")
    with pytest.raises(TypeError, match=r"column in\.x must have no axis of size 0"):
        ps.Dataset.from_tensors({"in": {"x": np.ones((0, 3))}}).write_parquet(tmp_path / "a")
    with pytest.raises(TypeError, match="column x must be of numbers"):
        ps.Dataset.from_tensors({"x": 1j}).write_parquet(tmp_path / "a")
    assert list(tmp_path.iterdir()) == []
