"""Arrays of HDF5 and Zarr at URLs."""

import io
import json

import numpy as np
import pytest

import penstock as ps

pytest.importorskip("obstore")
h5py = pytest.importorskip("h5py")
pytest.importorskip("tensorstore")

X = np.arange(600, dtype=np.int32).reshape(60, 10)


def test_hdf5_is_read_in_ranges(server):
    content = io.BytesIO()
    with h5py.File(content, "w") as file:
        file["x"] = X
    server.files = {"a.h5": content.getvalue()}
    server.faults = {"unavailable": 0.1}
    rows = ps.HDF5Dataset(server.urls()[0], "x")
    assert (rows.batch(60).first() == X).all()
    assert sorted(int(row[0]) for row in rows.shuffle(60)) == X[:, 0].tolist()


def test_hdf5_that_is_none(server):
    server.files = {"a.h5": b"no data" * 1000}
    with pytest.raises(ps.DataError, match=r"not a complete HDF5 file.*a\.h5"):
        ps.HDF5Dataset(server.urls()[0], "x")
    with pytest.raises(OSError, match=r"none\.h5"):
        ps.HDF5Dataset(f"{server.url}/none.h5", "x")


def test_zarr_is_read_by_tensorstore(server):
    codecs = [{"name": "bytes", "configuration": {"endian": "little"}}]
    chunks = {"name": "regular", "configuration": {"chunk_shape": [60, 10]}}
    names = {"name": "default", "configuration": {"separator": "/"}}
    meta = {"zarr_format": 3, "node_type": "array", "shape": [60, 10], "data_type": "int32"}
    meta |= {"chunk_grid": chunks, "chunk_key_encoding": names, "fill_value": 0, "codecs": codecs}
    server.files = {"a.zarr/x/zarr.json": json.dumps(meta).encode(), "a.zarr/x/c/0/0": X.tobytes()}
    url = f"{server.url}/a.zarr"
    assert (ps.Dataset.from_zarr(f"{url}/x").batch(60).first() == X).all()
    crops = ps.Dataset.from_zarr(url, ["x"], crop_shape=[20, 5])
    assert (crops.first()["x"] == X[:20, :5]).all()
    with pytest.raises(ps.DataError, match="cannot be opened"):
        ps.Dataset.from_zarr(url, "y")
