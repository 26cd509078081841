"""Tables of Arrow's formats at URLs."""

import io

import pytest

import penstock as ps

pytest.importorskip("obstore")
pa = pytest.importorskip("pyarrow")
parquet = pytest.importorskip("pyarrow.parquet")

TABLE = pa.table({"x": list(range(1000)), "y": [f"{i}" for i in range(1000)]})


def written(write):
    file = io.BytesIO()
    write(file)
    return file.getvalue()


def ipc(file):
    with pa.ipc.new_file(file, TABLE.schema) as writer:
        writer.write_table(TABLE, max_chunksize=300)


def xs(dataset):
    return [int(x) for row in dataset for x in row["x"].reshape(-1)]


@pytest.mark.parametrize("filters", [None, [("x", ">=", 500)]])
def test_parquet_is_read_by_row_groups(server, filters):
    content = written(lambda file: parquet.write_table(TABLE, file, row_group_size=300))
    server.files = {"a.parquet": content}
    ds = ps.ParquetDataset(server.urls()[0], columns=["x"], batch_size=100, filters=filters)
    assert xs(ds) == list(range(500 if filters else 0, 1000))


def test_arrow_is_read_by_batches(server):
    server.files = {"a.arrow": written(ipc)}
    server.faults = {"reset": 0.2, "unavailable": 0.1}
    assert xs(ps.ArrowDataset(server.urls()[0], batch_size=64)) == list(range(1000))


def test_a_table_that_is_not_there_is_an_error(server):
    with pytest.raises(OSError, match=r"none\.parquet: cannot read"):
        list(ps.ParquetDataset(f"{server.url}/none.parquet"))
