"""HDF5Dataset: rows and crops of arrays in HDF5 files."""

import pickle
import subprocess
import sys

import numpy as np
import pytest

import penstock as ps
from contract import DatasetContract

h5py = pytest.importorskip("h5py")

X = np.arange(60, dtype=np.float32).reshape(6, 10)
NAMES = [b"a", b"bb", b"ccc", b"", b"e", b"f\xff"]


@pytest.fixture(scope="module")
def file(tmp_path_factory):
    path = tmp_path_factory.mktemp("hdf5") / "a.h5"
    with h5py.File(path, "w") as made:
        made["x"] = X
        made["y"] = np.arange(6)
        made["in/it"] = np.arange(6) * 2
        made.create_dataset("names", data=NAMES)
        made["short"] = np.arange(3)
    return path


class OfFile(DatasetContract):
    """The contract for the file of the fixture."""

    @pytest.fixture(autouse=True)
    def _file(self, file):
        type(self).file = file


class TestHDF5Rows(OfFile):
    @classmethod
    def build(cls):
        return ps.HDF5Dataset([cls.file, cls.file], ["x", "y"])

    expected = [{"x": row, "y": np.int64(i)} for i, row in enumerate(X)] * 2


class TestHDF5Crops(OfFile):
    @classmethod
    def build(cls):
        return ps.HDF5Dataset(cls.file, "x", crop_shape=[2, 4], crop_stride=[3, 2])

    expected = [X[top : top + 2, left : left + 4] for top in (0, 3) for left in (0, 2, 4, 6)]


class TestHDF5Shuffled(OfFile):
    @classmethod
    def build(cls, num_parallel_calls=None):
        rows = ps.HDF5Dataset(cls.file, "in/it", num_parallel_calls=num_parallel_calls)
        return rows.shuffle(6, 1, False).batch(4)

    @staticmethod
    def expected():
        rows = np.array([int(i) for i in ps.Dataset.range(6).shuffle(6, 1, False)]) * 2
        return [rows[:4], rows[4:]]


def test_strings_are_bytes(file):
    assert list(ps.HDF5Dataset(file, "names")) == NAMES


def test_values_of_different_sizes_are_ragged_rows(tmp_path):
    with h5py.File(tmp_path / "a.h5", "w") as made:
        values = made.create_dataset("x", (3,), h5py.vlen_dtype(np.int16))
        for i in range(3):
            values[i] = np.arange(i)
        made.create_dataset("square", (2, 2), h5py.vlen_dtype(np.int16))
    ds = ps.HDF5Dataset(tmp_path / "a.h5", "x")
    assert ds.element_spec == ps.TensorSpec((None,), np.int16)
    values, splits = ds.ragged_batch(3).first()
    assert (values.tolist(), splits.tolist()) == ([0, 0, 1], [0, 0, 1, 3])
    for arguments in ({"keys": "x", "crop_shape": [1]}, {"keys": "square"}):
        with pytest.raises(ValueError, match="different sizes, which make rows of one axis"):
            ps.HDF5Dataset(tmp_path / "a.h5", **arguments)


def test_types_that_are_refused(tmp_path):
    path = tmp_path / "a.h5"
    with h5py.File(path, "w") as made:
        made["fields"] = np.zeros(3, [("a", int), ("b", float)])
        made["opaque"] = np.zeros(3, "V4")
        made["refs"] = np.array([made["fields"].ref], dtype=h5py.ref_dtype)
        made.create_dataset("arrays", (3,), np.dtype((np.int32, (2,))))
    said = {"fields": r"fields \(a, b\)", "opaque": "V4", "refs": "references", "arrays": "i4"}
    for key, what in said.items():
        with pytest.raises(TypeError, match=f"HDF5Dataset: .*a.h5: {key} has .*{what}"):
            ps.HDF5Dataset(path, key)


def test_a_link_that_leads_nowhere_is_no_array(tmp_path):
    with h5py.File(tmp_path / "a.h5", "w") as made:
        made["x"] = np.arange(3)
        made["link"] = h5py.SoftLink("/nowhere")
    assert list(ps.HDF5Dataset(tmp_path / "a.h5").first()) == ["x"]


def test_all_arrays_at_the_top(file, tmp_path):
    path = tmp_path / "two.h5"
    with h5py.File(path, "w") as made:
        made["a"], made["b"] = np.arange(3), np.arange(3.0)
    assert ps.HDF5Dataset(path).element_spec.keys() == {"a", "b"}
    with pytest.raises(ValueError, match=r"the same length, got .*'short': 3"):
        ps.HDF5Dataset(file)


def test_rows_that_follow_one_another_are_read_together(file, monkeypatch):
    read = []
    plain = h5py.Dataset.__getitem__

    def noted(self, key, *rest, **named):
        read.append(key)
        return plain(self, key, *rest, **named)

    monkeypatch.setattr(h5py.Dataset, "__getitem__", noted)
    assert ps.HDF5Dataset(file, "y").batch(6).first().tolist() == [0, 1, 2, 3, 4, 5]
    assert len(read) < 6


def test_wrong_arguments(file, tmp_path):
    for call, kind, message in (
        (
            lambda: ps.HDF5Dataset(file, "z"),
            ValueError,
            "keys must be among 'in', 'names', .* got 'z'",
        ),
        (lambda: ps.HDF5Dataset(file, "in"), ValueError, "'in', a group of .* with it"),
        (lambda: ps.HDF5Dataset(file, "x", crop_shape=[1, 1, 1]), ValueError, "has shape"),
        (lambda: ps.HDF5Dataset(file, "x", crop_shape=[99]), ValueError, "no crop of shape .99,"),
        (lambda: ps.HDF5Dataset(file, "x", crop_shape=[0]), ValueError, "sizes >= 1"),
        (lambda: ps.HDF5Dataset(file, "x", crop_stride=[1]), ValueError, "give crop_shape"),
        (
            lambda: ps.HDF5Dataset(file, "x", crop_shape=[1, 1], crop_stride=[1]),
            ValueError,
            "as many sizes",
        ),
        (lambda: ps.HDF5Dataset(tmp_path / "none.h5"), FileNotFoundError, "none.h5"),
    ):
        with pytest.raises(kind, match=message):
            call()


def test_files_that_are_none(file, tmp_path):
    empty, text, cut = tmp_path / "empty.h5", tmp_path / "text.h5", tmp_path / "cut.h5"
    empty.write_bytes(b"")
    text.write_text("no data" * 100)
    cut.write_bytes(file.read_bytes()[:900])
    for path in (empty, text, cut):
        with pytest.raises(ps.DataError, match=f"not a complete HDF5 file.*{path.name}"):
            ps.HDF5Dataset(path, "x")


def test_a_damaged_chunk_is_an_error_and_the_others_follow(tmp_path):
    path = tmp_path / "chunks.h5"
    with h5py.File(path, "w") as made:
        made.create_dataset(
            "x", data=np.arange(400).reshape(4, 100), chunks=(1, 100), fletcher32=True
        )
        offset = made["x"].id.get_chunk_info(1).byte_offset
    data = bytearray(path.read_bytes())
    data[offset] ^= 255
    path.write_bytes(data)
    found = []
    rows = iter(ps.HDF5Dataset(path, "x"))
    while True:
        try:
            found.append(int(next(rows)[0]))
        except StopIteration:
            break
        except ps.DataError as error:
            assert error.file == str(path)  # noqa: PT017 - the row number matters too
            found.append("error")
    assert found == [0, "error", 200, 300]


def test_an_empty_array_and_pickling(tmp_path, file):
    path = tmp_path / "empty.h5"
    with h5py.File(path, "w") as made:
        made["x"] = np.zeros((0, 3))
    assert list(ps.HDF5Dataset(path, "x")) == []
    dataset = pickle.loads(pickle.dumps(ps.HDF5Dataset(file, "y")))
    assert [int(i) for i in dataset] == list(range(6))


def test_files_of_other_types_and_shapes_are_named(tmp_path):
    for name, array in (
        ("a", np.arange(2)),
        ("b", np.array([1.5, 2])),
        ("c", np.ones((2, 3), int)),
    ):
        with h5py.File(tmp_path / name, "w") as made:
            made["x"] = array
    for other in "bc":
        with pytest.raises(ValueError, match=f"{other}: x has elements .* expected .* as in .*a"):
            ps.HDF5Dataset([tmp_path / "a", tmp_path / other], "x")
    with pytest.raises(ValueError, match="at least one file"):
        ps.HDF5Dataset([])


def test_a_damaged_array_is_not_skipped(tmp_path):
    path = tmp_path / "a.h5"
    with h5py.File(path, "w") as made:
        made["x"] = np.arange(3)
        made["y"] = np.arange(3)
        made["to nothing"] = h5py.SoftLink("/nothing")
        made["to no file"] = h5py.ExternalLink("none.h5", "/x")
        header = h5py.h5o.get_info(made["y"].id).addr
    assert list(ps.HDF5Dataset(path).first()) == ["x", "y"]
    content = path.read_bytes()
    damaged = tmp_path / "damaged.h5"
    damaged.write_bytes(content[:header] + b"\xff" * 8 + content[header + 8 :])
    with pytest.raises(ps.DataError, match=r"^HDF5Dataset: .*damaged\.h5"):
        ps.HDF5Dataset(damaged)


LOCKER = """
import sys, h5py
with h5py.File(sys.argv[1], "a") as file:
    print("open", flush=True)
    sys.stdin.read()
"""


def test_a_file_that_another_process_writes_to_is_locked_and_not_damaged(tmp_path):
    path = tmp_path / "locked.h5"
    with h5py.File(path, "w") as file:
        file["x"] = np.arange(3)
    with subprocess.Popen(
        [sys.executable, "-c", LOCKER, path],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
    ) as process:
        assert process.stdout.readline() == b"open\n"
        try:
            with pytest.raises(OSError, match=r"locked.*HDF5_USE_FILE_LOCKING") as found:
                ps.HDF5Dataset(str(path), "x").first()
        finally:
            process.stdin.close()
    assert not isinstance(found.value, ps.DataError)
    assert found.value.filename == str(path)
    assert int(ps.HDF5Dataset(str(path), "x").first()) == 0
