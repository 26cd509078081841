"""Dataset.from_zarr: rows and crops of arrays in Zarr folders."""

import json

import numpy as np
import pytest

import penstock as ps
from contract import DatasetContract

tensorstore = pytest.importorskip("tensorstore")

X = np.arange(60, dtype=np.int16).reshape(6, 10)


def write(path, array, driver):
    """Write an array in one of the Zarr formats."""
    spec = {"driver": driver, "kvstore": {"driver": "file", "path": f"{path}/"}}
    store = tensorstore.open(
        spec, create=True, dtype=array.dtype.name, shape=array.shape, chunk_layout=None
    ).result()
    store[...] = array


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    path = tmp_path_factory.mktemp("zarr")
    write(path / "old.zarr", X, "zarr")
    write(path / "group.zarr" / "x", X, "zarr3")
    write(path / "group.zarr" / "y", np.arange(6.0), "zarr3")
    (path / "group.zarr" / "zarr.json").write_text(
        json.dumps({"zarr_format": 3, "node_type": "group"})
    )
    return path


class OfFolder(DatasetContract):
    """The contract for the folder of the fixture."""

    @pytest.fixture(autouse=True)
    def _folder(self, folder):
        type(self).folder = folder


class TestZarrRows(OfFolder):
    @classmethod
    def build(cls):
        return ps.Dataset.from_zarr(cls.folder / "group.zarr")

    expected = [{"x": row, "y": np.float64(i)} for i, row in enumerate(X)]


class TestZarrCrops(OfFolder):
    @classmethod
    def build(cls, num_parallel_calls=None):
        return ps.Dataset.from_zarr(
            cls.folder / "old.zarr", crop_shape=[2, 5], num_parallel_calls=num_parallel_calls
        )

    expected = [X[top : top + 2, left : left + 5] for top in (0, 2, 4) for left in (0, 5)]


def test_opened_arrays_and_groups(folder):
    store = tensorstore.open(
        {"driver": "zarr", "kvstore": {"driver": "file", "path": f"{folder / 'old.zarr'}/"}}
    ).result()
    assert (ps.Dataset.from_zarr(store).batch(6).first() == X).all()
    assert (ps.Dataset.from_zarr({"a": X, "b": X}, "a").batch(6).first() == X).all()
    assert (ps.Dataset.from_zarr(X, crop_shape=[3]).first() == X[:3]).all()


def test_wrong_arguments(folder, tmp_path):
    (tmp_path / "empty").mkdir()
    for call, kind, message in (
        (lambda: ps.Dataset.from_zarr(tmp_path / "none"), FileNotFoundError, "no folder"),
        (lambda: ps.Dataset.from_zarr(tmp_path / "empty"), ps.DataError, "no array or group"),
        (lambda: ps.Dataset.from_zarr(folder / "group.zarr", "z"), ValueError, "among 'x', 'y'"),
        (lambda: ps.Dataset.from_zarr(5), TypeError, "store must be a path, an array or a group"),
        (lambda: ps.Dataset.from_zarr(np.zeros(())), ValueError, "no axes"),
    ):
        with pytest.raises(kind, match=message):
            call()


def test_a_damaged_array(folder, tmp_path):
    write(tmp_path / "a.zarr", X, "zarr3")
    (tmp_path / "a.zarr" / "zarr.json").write_text('{"zarr_format": 3, "node_type": "array"')
    with pytest.raises(ps.DataError, match="cannot be opened"):
        ps.Dataset.from_zarr(tmp_path / "a.zarr")


def test_a_damaged_array_of_a_group_is_not_skipped(tmp_path):
    for name in ("x", "y"):
        write(tmp_path / name, X, "zarr3")
    (tmp_path / "in").mkdir()
    (tmp_path / "in" / "zarr.json").write_text('{"zarr_format": 3, "node_type": "group"}')
    assert list(ps.Dataset.from_zarr(tmp_path).first()) == ["x", "y"]
    meta = tmp_path / "y" / "zarr.json"
    whole = meta.read_bytes()
    for damaged in (whole.replace(b'"array"', b'"arraz"'), whole[:20], b"\xff", b"[]"):
        meta.write_bytes(damaged)
        with pytest.raises(ps.DataError, match=r"^from_zarr: the array cannot be opened") as caught:
            ps.Dataset.from_zarr(tmp_path)
        assert caught.value.file == str(meta)


OTHER_TYPES = {
    "times": np.array(["2020-01-01", "NaT", "2021-02-03"], "M8[s]"),
    "durations": np.array([1, 2, 3], "m8[ms]"),
    "text": np.array(["ab", "cdé", ""], "U3"),
    "strings": np.array(["ab", "cdé", ""], object),
    "bytes": np.array([b"ab", b"cde", b""], "S3"),
}


@pytest.mark.filterwarnings("ignore:.*Zarr")
@pytest.mark.parametrize("zarr_format", [2, 3])
def test_strings_and_times_in_folders_are_read(tmp_path, zarr_format):
    zarr = pytest.importorskip("zarr")
    group = zarr.open_group(str(tmp_path), mode="w", zarr_format=zarr_format)
    for name, array in OTHER_TYPES.items():
        dtype = str if name == "strings" else array.dtype
        group.create_array(name, shape=array.shape, dtype=dtype, chunks=(2,))[:] = array
    rows = list(ps.Dataset.from_zarr(tmp_path))
    for name, array in OTHER_TYPES.items():
        expected = array.tolist() if array.dtype.kind in "OUS" else list(array)
        for values in (
            [row[name] for row in rows],
            list(ps.Dataset.from_zarr(tmp_path / name)),
            list(ps.Dataset.from_zarr(group[name])),
        ):
            np.testing.assert_array_equal(values, expected)
            assert type(values[0]) is type(expected[0])
