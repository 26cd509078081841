"""``python -m penstock inspect`` over Parquet, Arrow and HDF5 files."""

import json

import numpy as np
import pytest

from penstock import cli

pa = pytest.importorskip("pyarrow")
parquet = pytest.importorskip("pyarrow.parquet")
h5py = pytest.importorskip("h5py")

TABLE = {"label": [3, 4], "name": ["a", "b"]}


def write_parquet(path):
    parquet.write_table(pa.table(TABLE), path)


def write_file(path):
    with pa.ipc.new_file(path, pa.table(TABLE).schema) as writer:
        writer.write_table(pa.table(TABLE))


def write_stream(path):
    with pa.ipc.new_stream(path, pa.table(TABLE).schema) as writer:
        writer.write_table(pa.table(TABLE))


def write_hdf5(path):
    with h5py.File(path, "w") as file:
        file["label"] = np.array([3, 4])


FORMATS = {
    "Parquet": write_parquet,
    "Arrow file": write_file,
    "Arrow stream": write_stream,
    "HDF5": write_hdf5,
}


@pytest.mark.parametrize("form", FORMATS)
def test_rows_are_counted_and_shown(tmp_path, capsys, form):
    path = str(tmp_path / "file")
    FORMATS[form](path)
    assert cli.main(["inspect", "--json", path]) == 0
    (report,) = json.loads(capsys.readouterr().out)
    assert (report["format"], report["elements"]) == (form, 2)
    assert "'label': TensorSpec(shape=(), dtype=int64)" in report["rows"]
    assert "'label': np.int64(3)" in report["first"][0]


@pytest.mark.parametrize("form", FORMATS)
def test_a_file_that_is_cut_off_is_damaged(tmp_path, capsys, form):
    path = tmp_path / "file"
    FORMATS[form](str(path))
    path.write_bytes(path.read_bytes()[:200])
    assert cli.main(["inspect", "--json", str(path)]) == 1
    (report,) = json.loads(capsys.readouterr().out)
    assert report["format"] == form
    assert report["damage"]
