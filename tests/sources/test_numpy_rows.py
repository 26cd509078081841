"""NumpyDataset: rows of arrays in NumPy files."""

import contextlib
import io
import os
import pickle
import zipfile
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import penstock as ps
from compare import assert_same
from contract import DatasetContract, Failure, steps
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
    """The contract for files written by a fixture."""

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


def test_changed_batches_change_no_file(files):
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


@pytest.mark.parametrize("dtype", ["u1", "i2", "f4", "f8", "c16", "M8[s]"])
@pytest.mark.parametrize("shape", [(7, 5), (7, 3, 4), (7, 2, 1, 3), (1, 4, 2), (7, 0), (0, 3)])
def test_fortran_order(tmp_path, dtype, shape):
    parts = [np.arange(np.prod(shape)).reshape(shape).astype(dtype) for _ in range(2)]
    parts[1] = parts[1][::-1]
    np.save(tmp_path / "0.npy", np.asfortranarray(parts[0]))
    np.save(tmp_path / "1.npy", parts[1].copy())  # in C order
    np.save(tmp_path / "2.npy", np.asfortranarray(parts[1]))
    rows = [*parts[0], *parts[1], *parts[1]]
    ds = ps.NumpyDataset([tmp_path / f"{i}.npy" for i in range(3)])
    assert_same(list(ds), rows)
    if not rows:
        return
    assert_same(list(ds.batch(len(rows))), [np.stack(rows)])
    places = list(ps.Dataset.range(len(rows)).shuffle(len(rows), 5))
    assert_same(list(ds.shuffle(len(rows), 5).batch(4)), list(_batches([rows[i] for i in places])))
    assert_same(ps.experimental.at(ds, len(rows) - 1), rows[-1])


def _batches(rows):
    return (np.stack(rows[i : i + 4]) for i in range(0, len(rows), 4))


@pytest.mark.parametrize("save", [np.savez, np.savez_compressed])
def test_fortran_order_in_a_zip_file(tmp_path, save):
    x = np.arange(60.0).reshape(5, 3, 4)
    save(tmp_path / "a.npz", x=np.asfortranarray(x), y=np.arange(5))
    ds = ps.NumpyDataset(tmp_path / "a.npz", ("x", "y"))
    assert_same(list(ds), list(zip(x, np.arange(5), strict=True)))


def test_more_columns_in_fortran_order_than_are_read_together(tmp_path):
    x = np.arange(3 * 5000, dtype=np.int32).reshape(3, 50, 100)
    np.save(tmp_path / "a.npy", np.asfortranarray(x))
    assert_same(list(ps.NumpyDataset(tmp_path / "a.npy").batch(3)), [x])


def test_a_file_in_fortran_order_that_is_cut_off(tmp_path):
    path = tmp_path / "a.npy"
    np.save(path, np.asfortranarray(np.eye(4)))
    ds = ps.NumpyDataset(path)
    path.write_bytes(path.read_bytes()[:-40])
    with pytest.raises(ps.DataError, match=r"a\.npy"):
        list(ds)


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
    "type of NumPy was expected, got '<i0'": npy(np.arange(3)).replace(b"<i8", b"<i0"),
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


def test_an_array_whose_name_was_damaged_is_not_read_under_another_name(tmp_path):
    path = tmp_path / "a.npz"
    np.savez(path, left=np.arange(2), right=np.arange(2) + 5)
    data = path.read_bytes()
    for place in (data.find(b"left.npy"), data.rfind(b"left.npy")):
        path.write_bytes(data[:place] + b"lift" + data[place + 4 :])
        with pytest.raises(ps.DataError, match=r"names the array 'l.ft.npy', its data 'l.ft.npy'"):
            ps.NumpyDataset(path)


ZIP_ENTRY = b"PK\1\2"


@pytest.mark.parametrize(
    ("offset", "byte", "words"),
    [
        (8, 1, "'x.npy' is encrypted"),
        (10, 12, "'x.npy' is compressed by method 12"),
    ],
)
def test_an_npz_file_that_numpy_does_not_write_is_a_damaged_one(tmp_path, offset, byte, words):
    path = tmp_path / "a.npz"
    np.savez(path, x=np.arange(3))
    data = bytearray(path.read_bytes())
    data[data.find(ZIP_ENTRY) + offset] = byte
    path.write_bytes(data)
    with pytest.raises(ps.DataError, match=words) as raised:
        ps.NumpyDataset(path)
    assert raised.value.file == str(path)


def test_an_npz_file_without_arrays_is_an_error_that_names_it(tmp_path):
    path = tmp_path / "a.npz"
    with zipfile.ZipFile(path, "w") as file:
        file.comment = b"no arrays"
    path.write_bytes(b"PK\3\4" + path.read_bytes())
    with pytest.raises(ps.DataError) as raised:
        ps.NumpyDataset(path)
    assert raised.value.file == str(path)


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
    ds = ps.NumpyDataset(tmp_path / "a.npz", "x")
    with pytest.raises(ps.DataError, match="array 'x': the compressed data is damaged"):
        ds.first()


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


SAVES = {
    "npy": lambda path, rows: np.save(path, rows),
    "npz": lambda path, rows: np.savez(path, x=rows),
}
CHANGES = {
    "cut": lambda save, path: os.truncate(path, 10_000),
    "emptied": lambda save, path: os.truncate(path, 0),
    "saved again, shorter": lambda save, path: save(path, np.zeros((10, 16))),
    "saved again, longer": lambda save, path: save(path, np.zeros((9000, 16))),
}


@pytest.mark.parametrize("order", ["in order", "shuffled", "rows"])
@pytest.mark.parametrize("change", CHANGES.values(), ids=CHANGES)
@pytest.mark.parametrize("kind", SAVES)
def test_a_file_that_changes_while_it_is_read_is_an_error(tmp_path, kind, change, order):
    path = tmp_path / f"a.{kind}"
    SAVES[kind](path, np.ones((2000, 16)))
    ds = ps.NumpyDataset(path, "x" if kind == "npz" else None)
    ds = ds.shuffle(2000, seed=1).batch(100) if order == "shuffled" else ds
    ds = ds.batch(100) if order == "in order" else ds
    it = iter(ds)
    next(it)
    change(SAVES[kind], path)
    came = steps(it, most=3000)
    failed = [step for step in came if isinstance(step, Failure)]
    assert failed
    assert {error.kind for error in failed} == {"DataError"}
    assert all("was modified after this dataset was created" in e.text for e in failed)
    assert all(f"file {path}" in error.text for error in failed)
    assert all((step == 1).all() for step in came if not isinstance(step, Failure))


def test_a_replaced_file_is_still_read(tmp_path):
    path = tmp_path / "a.npy"
    np.save(path, np.arange(5000))
    it = iter(ps.NumpyDataset(path).batch(100))
    next(it)
    np.save(tmp_path / "b.npy", np.zeros(3))
    (tmp_path / "b.npy").replace(path)
    assert_same(np.concatenate(list(it)), np.arange(100, 5000))


def test_many_files_are_read_with_few_open(tmp_path, monkeypatch):
    for i in range(300):
        np.save(tmp_path / f"{i}.npy", np.array([2 * i, 2 * i + 1]))
    ds = ps.NumpyDataset([tmp_path / f"{i}.npy" for i in range(300)])
    assert sorted(np.concatenate(list(ds.shuffle(600, seed=1).batch(64)))) == list(range(600))
    assert_same(np.concatenate(list(ds.batch(7))), np.arange(600))


def stored(members, overlap=False):
    """Return a zip file of (name, contents) pairs, as written by np.savez."""
    made = io.BytesIO()
    with zipfile.ZipFile(made, "w") as file:
        for name, contents in members:
            file.writestr(name, contents)
        if overlap:
            for info in file.infolist():
                info.header_offset = 0
    return made.getvalue()


@pytest.mark.parametrize("shuffled", [False, True])
def test_the_checksum_of_a_stored_array_is_verified(tmp_path, shuffled):
    path = tmp_path / "a.npz"
    np.savez(path, x=np.arange(1000), y=np.arange(1000))
    data = bytearray(path.read_bytes())
    data[data.index(b"x.npy") + 4000] ^= 1
    path.write_bytes(data)
    assert len(list(ps.NumpyDataset(path, "y"))) == 1000
    ds = ps.NumpyDataset(path, "x")
    ds = ds.shuffle(1000, seed=1) if shuffled else ds
    with pytest.raises(ps.DataError, match="array 'x': the checksum of the array is wrong") as e:
        ds.batch(10).first()
    assert e.value.file == str(path)


@pytest.mark.filterwarnings("ignore:Duplicate name")
@pytest.mark.parametrize(
    "members",
    [
        [("x.npy", npy(np.arange(3))), ("x.npy", npy(np.arange(3, 6)))],
        [("x", npy(np.arange(3))), ("x.npy", npy(np.arange(3, 6)))],
        [("x.npy", npy(np.arange(3))), ("x", npy(np.arange(3, 6)))],
    ],
    ids=["twice", "without ending first", "without ending last"],
)
def test_duplicate_members_are_read_as_in_numpy(tmp_path, members):
    path = tmp_path / "a.npz"
    path.write_bytes(stored(members))
    with np.load(path) as file:
        assert_same(list(ps.NumpyDataset(path, "x")), list(file["x"]))


def test_overlapping_members_are_rejected(tmp_path):
    path = tmp_path / "a.npz"
    path.write_bytes(stored([("x.npy", npy(np.arange(3))), ("y.npy", npy(np.arange(3)))], True))
    with pytest.raises(ps.DataError, match=r"'x.npy' and 'y.npy' of the .npz file overlap"):
        ps.NumpyDataset(path, "x")


def resident():
    """Return the resident memory of this process in bytes."""
    return int(Path("/proc/self/statm").read_text().split()[1]) * os.sysconf("SC_PAGESIZE")


@needs_zlib
def test_compressed_arrays_take_no_memory_before_they_are_read(tmp_path):
    path = tmp_path / "a.npz"
    np.savez_compressed(path, x=np.zeros((64, 1 << 20), np.uint8), y=np.arange(64))
    before = resident()
    ds = ps.NumpyDataset(path)
    assert ds.element_spec["x"] == ps.TensorSpec((1 << 20,), np.uint8)
    assert resident() - before < 32 << 20
    assert int(ds.first()["y"]) == 0
