"""NumpyDataset: rows of arrays in NumPy's files, mapped into memory."""

import contextlib
import io
import os
import pickle
import zipfile

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import penstock as ps
from compare import assert_same
from contract import DatasetContract
from penstock import _core

ROWS = [
    np.arange(6, dtype=np.int16).reshape(3, 2),
    np.zeros((0, 2), np.int16),
    np.full((4, 2), 7, np.int16),
]
needs_zlib = pytest.mark.skipif(
    not _core.build_info()["zlib"]["native"], reason="built without zlib"
)


def npy(array, version=None):
    made = io.BytesIO()
    np.lib.format.write_array(made, np.asanyarray(array), version)
    return made.getvalue()


@pytest.fixture(scope="module")
def files(tmp_path_factory):
    folder = tmp_path_factory.mktemp("arrays")
    for i, rows in enumerate(ROWS):
        np.save(folder / f"{i}.npy", rows)
    for i, rows in enumerate(ROWS):
        save = np.savez_compressed if i % 2 and _core.build_info()["zlib"]["native"] else np.savez
        save(folder / f"{i}.npz", x=rows, y=np.arange(len(rows)) + 10 * i)
    return folder


class OfFiles(DatasetContract):
    """The contract over files that a fixture makes."""

    @pytest.fixture(autouse=True)
    def _files(self, files):
        type(self).files = files


class TestOneFile(OfFiles):
    @classmethod
    def build(cls):
        return ps.NumpyDataset(cls.files / "0.npy")

    expected = list(ROWS[0])


class TestManyFiles(OfFiles):
    @classmethod
    def build(cls):
        return ps.NumpyDataset([cls.files / f"{i}.npy" for i in (1, 0, 1, 2)])

    expected = [*ROWS[0], *ROWS[2]]


class TestArraysOfFiles(OfFiles):
    @classmethod
    def build(cls):
        return ps.NumpyDataset([cls.files / f"{i}.npz" for i in range(3)])

    expected = [
        {"x": row, "y": np.int64(10 * i + n)}
        for i, rows in enumerate(ROWS)
        for n, row in enumerate(rows)
    ]


TYPES = [
    *("bool", "int8", "uint16", "int32", "uint64", "float16", "float32", "float64"),
    *("complex64", "complex128", "datetime64[D]", "timedelta64[25s]", "datetime64"),
]


@pytest.mark.parametrize("dtype", TYPES)
@pytest.mark.parametrize("version", [None, (1, 0), (2, 0), (3, 0)])
def test_every_type_of_numbers_is_read(tmp_path, dtype, version):
    array = np.arange(24).reshape(4, 3, 2).astype(dtype)
    (tmp_path / "a.npy").write_bytes(npy(array, version))
    ds = ps.NumpyDataset(tmp_path / "a.npy")
    assert ds.element_spec == ps.TensorSpec((3, 2), array.dtype)
    assert_same(list(ds), list(array))
    assert_same(ds.batch(3).first(), array[:3])


@settings(max_examples=60)
@given(
    st.lists(st.integers(0, 7), min_size=1, max_size=4),
    st.sampled_from(TYPES[:8]),
    st.integers(1, 5),
)
def test_rows_are_those_of_numpy(tmp_path_factory, shape, dtype, batch):
    path = tmp_path_factory.getbasetemp() / "any.npy"
    array = (np.arange(np.prod(shape)) % 7).reshape(shape).astype(dtype)
    np.save(path, array)
    assert_same(list(ps.NumpyDataset(path)), list(array))
    shuffled = list(ps.NumpyDataset(path).shuffle(10_000, seed=1).batch(batch))
    again = list(ps.Dataset.from_tensor_slices(array).shuffle(10_000, seed=1).batch(batch))
    assert [len(rows) for rows in shuffled] == [len(rows) for rows in again]
    if array.size:
        assert np.sort(np.concatenate(shuffled), 0).tolist() == np.sort(array, 0).tolist()


def test_rows_share_the_memory_of_the_file_and_batches_do_not(files):
    row = ps.NumpyDataset(files / "0.npy").first()
    assert not row.flags.writeable or row.base is not None
    batch = ps.NumpyDataset(files / "0.npy").batch(2).first()
    batch += 1
    assert_same(list(ps.NumpyDataset(files / "0.npy")), list(ROWS[0]))


def test_fields_are_nested_as_elements_shall_be(files):
    ds = ps.NumpyDataset(files / "2.npz", {"a": ("y", "x")})
    assert ds.element_spec == {"a": (ps.TensorSpec((), np.int64), ps.TensorSpec((2,), np.int16))}
    assert_same(ds.first(), {"a": (np.int64(20), ROWS[2][0])})
    assert_same(pickle.loads(pickle.dumps(ds)).first(), ds.first())
    assert len(ds) == 4


@pytest.mark.parametrize("arrays", [None, "x"])
def test_an_npz_file_that_is_cut_off_is_said_to_be(files, arrays):
    path = files / "2.npz"
    path.write_bytes(path.read_bytes()[:-30])
    with pytest.raises(
        ps.DataError, match=r"directory of the .npz.* was not written to its end"
    ) as e:
        ps.NumpyDataset(path, arrays)
    assert e.value.file == str(path)


def test_positions_are_looked_up(files):
    ds = ps.NumpyDataset([files / "0.npy", files / "2.npy"])
    assert_same([ps.experimental.at(ds, i) for i in range(7)], [*ROWS[0], *ROWS[2]])


REFUSED = {
    "a single number": np.array(3),
    "in Fortran order": np.asfortranarray(np.eye(3)),
    r"of strings \('<U1'\)": np.array(["a"]),
    r"of strings \('\|S2'\)": np.array([b"ab"]),
    "of Python objects": np.array([{}], object),
    "'>i4'": np.arange(3, dtype=">i4"),
    "with fields": np.zeros(2, [("a", np.int8)]),
    "one of 9": np.zeros((1,) * 9),
    r"type '\|V3'": np.zeros(2, "V3"),
}


@pytest.mark.parametrize("words", REFUSED)
def test_what_has_no_rows_of_numbers_is_refused_with_advice(tmp_path, words):
    np.save(tmp_path / "a.npy", REFUSED[words])
    with pytest.raises(ValueError, match=f"a.npy: .* expected, got.*{words}"):
        ps.NumpyDataset(tmp_path / "a.npy")


def test_one_axis_is_in_either_order(tmp_path):
    data = npy(np.arange(3)).replace(b"'fortran_order': False", b"'fortran_order': True ")
    (tmp_path / "a.npy").write_bytes(data)
    assert_same(list(ps.NumpyDataset(tmp_path / "a.npy")), list(np.arange(3)))


DAMAGED = {
    "does not begin so": b"no array at all",
    "got version 9": npy(np.arange(3)).replace(b"NUMPY\1", b"NUMPY\x09"),
    "within its header": npy(np.arange(3))[:40],
    "header of the array is damaged": npy(np.arange(3)).replace(b"'shape'", b"'shapo'"),
    "got only 23 bytes": npy(np.arange(3))[:-1],
    "was not written to its end": npy(np.arange(3)).replace(b"(3,)", b"(9" + b"9" * 9 + b",)")[
        :128
    ],
}


@pytest.mark.parametrize("words", DAMAGED)
def test_a_damaged_file_is_an_error_that_names_it(tmp_path, words):
    (tmp_path / "a.npy").write_bytes(DAMAGED[words])
    with pytest.raises(ps.DataError, match=rf"NumpyDataset: .*a.npy: .*{words}"):
        ps.NumpyDataset(tmp_path / "a.npy")


def test_an_empty_file_is_an_error(tmp_path):
    (tmp_path / "a.npy").touch()
    with pytest.raises(ps.DataError, match="does not begin so"):
        ps.NumpyDataset(tmp_path / "a.npy")


def test_a_missing_file_and_a_folder_are_errors(tmp_path, files):
    with pytest.raises(FileNotFoundError, match="missing"):
        ps.NumpyDataset([files / "0.npy", tmp_path / "missing.npy"])
    with pytest.raises(IsADirectoryError):
        ps.NumpyDataset(tmp_path)


@pytest.mark.parametrize("save", [np.savez, pytest.param(np.savez_compressed, marks=needs_zlib)])
def test_a_damaged_npz_file_is_an_error(tmp_path, save):
    made = io.BytesIO()
    save(made, x=np.arange(1000))
    data = made.getvalue()
    path = tmp_path / "a.npz"
    for length in range(0, len(data), len(data) // 20):
        path.write_bytes(data[:length])
        with pytest.raises(ps.DataError):
            ps.NumpyDataset(path, "x")
    for at in range(0, len(data), len(data) // 50):
        damaged = bytearray(data)
        damaged[at] ^= 0x10
        path.write_bytes(damaged)
        with contextlib.suppress(ps.DataError, ValueError):
            list(ps.NumpyDataset(path, "x"))


@needs_zlib
def test_compressed_numbers_are_checked(tmp_path):
    made = io.BytesIO()
    np.savez_compressed(made, x=np.arange(1000))
    data = bytearray(made.getvalue())
    data[500] ^= 1
    (tmp_path / "a.npz").write_bytes(data)
    with pytest.raises(ps.DataError, match="array 'x': the compressed data is damaged"):
        ps.NumpyDataset(tmp_path / "a.npz", "x")


def test_large_zip_files_are_read(tmp_path, monkeypatch):
    monkeypatch.setattr(zipfile, "ZIP64_LIMIT", 100)
    monkeypatch.setattr(zipfile, "ZIP_FILECOUNT_LIMIT", 0)
    with zipfile.ZipFile(tmp_path / "a.npz", "w") as file:
        file.writestr("x.npy", npy(np.arange(100)))
        file.writestr("y.npy", npy(np.arange(100)))
        file.comment = b"a comment"
    assert_same(ps.NumpyDataset(tmp_path / "a.npz").batch(100).first()["y"], np.arange(100))


@pytest.mark.parametrize(
    ("second", "words"),
    [
        (np.zeros((2, 3), np.int16), "rows of .* were expected, as in the first file"),
        (np.zeros((2, 2), np.int32), "rows of .* were expected, as in the first file"),
    ],
)
def test_files_must_have_the_same_rows(tmp_path, files, second, words):
    np.save(tmp_path / "b.npy", second)
    with pytest.raises(ValueError, match=words):
        ps.NumpyDataset([files / "0.npy", tmp_path / "b.npy"])


def test_arrays_of_a_file_must_have_as_many_rows(tmp_path):
    np.savez(tmp_path / "a.npz", x=np.arange(2), y=np.arange(3))
    with pytest.raises(
        ValueError, match=r"as many rows were expected, got 2 and, in element\['y'\], 3"
    ):
        ps.NumpyDataset(tmp_path / "a.npz")


@pytest.mark.parametrize(
    ("arguments", "error", "words"),
    [
        (("0.npz", "z"), ValueError, "an array 'z' was expected"),
        (("0.npz", 3), TypeError, "arrays must be names"),
        (("0.npz", ()), ValueError, "arrays must be names.*got no names"),
        (("0.npy", "x"), ps.DataError, "a .npz file with an array 'x' was expected"),
    ],
)
def test_wrong_arrays_are_refused(files, arguments, error, words):
    name, *rest = arguments
    with pytest.raises(error, match=words):
        ps.NumpyDataset(files / name, *rest)


def test_kinds_of_files_are_not_mixed(files):
    with pytest.raises(ValueError, match=r"a \.npy file was expected, got a \.npz"):
        ps.NumpyDataset([files / "0.npy", files / "0.npz"])
    with pytest.raises(ps.DataError, match=r"a \.npz file with an array 'x' was expected"):
        ps.NumpyDataset([files / "0.npz", files / "0.npy"])


@pytest.mark.parametrize("names", [3, [3], None, io.BytesIO()])
def test_what_is_no_name_is_refused(names):
    with pytest.raises(TypeError):
        ps.NumpyDataset(names)
    with pytest.raises(ValueError, match="at least one file was expected"):
        ps.NumpyDataset([])


def test_states_and_fingerprints_know_the_files(files, tmp_path):
    path = tmp_path / "a.npy"
    np.save(path, np.arange(5))
    it = iter(ps.NumpyDataset(path))
    next(it)
    state = it.get_state()
    before = ps.NumpyDataset(path).fingerprint()
    np.save(path, np.arange(9))
    os.utime(path, (1, 1))
    assert ps.NumpyDataset(path).fingerprint() != before
    other = iter(ps.NumpyDataset(path))
    with pytest.raises(ps.StateError, match=r"a\.npy"):
        other.set_state(state)
