"""save and load: reading returns the written data, and damage is reported."""

import collections
import dataclasses
import os
import pickle
import subprocess
import sys
import tempfile
import textwrap
from pathlib import Path
from typing import NamedTuple

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import penstock as ps
from compare import assert_same
from contract import DatasetContract, Failure, steps

FOLDER = tempfile.TemporaryDirectory()
GOLDEN = Path(__file__).parent / "golden" / "saved"


def saved(name, ds, **arguments):
    folder = Path(FOLDER.name, name)
    if not folder.exists():
        ds.save(folder, **arguments)
    return folder


class Point(NamedTuple):
    x: int
    name: str


@dataclasses.dataclass
class Record:
    a: float
    b: str


NUMBERS = saved("numbers", ps.Dataset.range(12))
NAMES = saved("names", ps.Dataset.range(12).map(lambda x: {"x": x, "s": "é" * x}))
SHARDS = saved("shards", ps.Dataset.range(12), shard_func=lambda x: x % 3)


class TestOfOneSize(DatasetContract):
    build = staticmethod(lambda: ps.Dataset.load(NUMBERS))
    expected = list(range(12))


class TestOfManySizes(DatasetContract):
    build = staticmethod(lambda: ps.Dataset.load(NAMES))
    expected = [{"x": x, "s": "é" * x} for x in range(12)]


class TestSkipping(DatasetContract):
    build = staticmethod(lambda: ps.Dataset.load(SHARDS).skip(5).take(6))
    expected = [4, 7, 10, 2, 5, 8]


class TestShuffled(DatasetContract):
    build = staticmethod(lambda: ps.Dataset.load(SHARDS).shuffle(4, seed=1))
    ordered = False
    reshuffles = True
    expected = list(range(12))


class TestInterleaved(DatasetContract):
    build = staticmethod(
        lambda: ps.Dataset.load(
            SHARDS,
            reader_func=lambda files: files.interleave(
                lambda file: file, cycle_length=3, num_parallel_calls=2
            ),
        )
    )
    pickles = False  # its functions are lambdas
    expected = list(range(12))


# --- all kinds of elements ---

DTYPES = [
    *("bool", "int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64"),
    *("float16", "float32", "float64", "longdouble", "complex64", "complex128", "clongdouble"),
    *("datetime64[ns]", "datetime64[D]", "timedelta64[s]"),
]


@pytest.mark.parametrize("compression", [None, "ZLIB", "zstd"])
@pytest.mark.parametrize("dtype", DTYPES)
def test_all_dtypes_come_back(tmp_path, dtype, compression):
    if compression == "zstd" and not ps.build_info()["zstd"]["native"]:
        pytest.skip("built without zstd")
    raw = np.random.default_rng(0).integers(0, 2, (50, 3, 2)).astype(dtype)
    ds = ps.Dataset.from_tensor_slices((raw, raw[:, 0, 0], raw[:, :0]))
    ds.save(tmp_path / "saved", compression=compression)
    assert_same(list(ps.Dataset.load(tmp_path / "saved")), list(ds))


ELEMENTS = [
    3,
    "text",
    b"\x00bytes\x00",
    "",
    None,
    (),
    {},
    (1, None, ("a", b"b")),
    {"x": 1.5, "y": {"z": np.arange(3)}},
    {1: "int key", b"b": 2, (1, "t"): 3, None: 4, 2.5: 5, False: 6},
    Point(1, "p"),
    (Point(2, "q"), Record(0.5, "r")),
    np.array(["a", "bc"], dtype=object),
    np.zeros((0, 3), np.float32),
    np.zeros((2, 0), np.int16),
    np.array([["x"], [""]], dtype=object),
]


@pytest.mark.parametrize("element", ELEMENTS, ids=repr)
def test_all_structures_come_back(tmp_path, element):
    ds = ps.Dataset.range(3).map(lambda _: element)
    ds.save(tmp_path / "saved")
    loaded = ps.Dataset.load(tmp_path / "saved")
    assert_same(list(loaded), list(ds))
    assert repr(loaded.element_spec) == repr(ds.element_spec)
    assert_same(list(loaded.skip(1)), list(ds)[1:])


def test_elements_that_differ_in_everything_come_back_in_order(tmp_path):
    ds = ps.Dataset.range(len(ELEMENTS) * 2).map(lambda x: ELEMENTS[x % len(ELEMENTS)])
    ds.save(tmp_path / "saved")
    assert_same(list(ps.Dataset.load(tmp_path / "saved")), list(ds))


@pytest.mark.slow
@settings(max_examples=60)
@given(
    shapes=st.lists(st.tuples(st.integers(0, 4), st.integers(0, 3)), max_size=20),
    texts=st.lists(st.text(max_size=5), max_size=20),
)
def test_rows_of_unequal_shapes_come_back(shapes, texts):
    def make(i):
        shape, text = shapes[i], texts[i]
        return np.full(shape, i, np.int16), text, np.array([text] * shape[0], dtype=object)

    ds = ps.Dataset.range(min(len(shapes), len(texts))).map(make)
    with tempfile.TemporaryDirectory() as folder:
        ds.save(folder)  # an empty folder may be replaced
        assert_same(list(ps.Dataset.load(folder)), list(ds))


def test_an_empty_dataset_keeps_its_types(tmp_path):
    empty = ps.Dataset.range(3).map(lambda x: {"a": x}).filter(lambda x: False)
    assert empty.element_spec == {"a": ps.TensorSpec((), np.int64)}
    empty.save(tmp_path / "saved")
    loaded = ps.Dataset.load(tmp_path / "saved")
    assert list(loaded) == []
    assert loaded.element_spec == empty.element_spec


def test_large_elements_have_chunks_of_their_own(tmp_path):
    ds = ps.Dataset.range(4).map(lambda x: np.full(3_000_000, x, np.uint8))
    ds.save(tmp_path / "saved")
    assert_same(list(ps.Dataset.load(tmp_path / "saved")), list(ds))


def test_what_no_file_can_hold_is_refused(tmp_path):
    class Key:
        pass

    key = Key()
    cases = {
        r"save: .* object in element 1": lambda x: object() if x == 1 else 5,
        r"leaf \['o'\]": lambda x: {"n": 1, "o": {1, 2}},
        r"dict keys that are strings": lambda x: {key: 1},
    }
    for message, function in cases.items():
        with pytest.raises(TypeError, match=message):
            ps.Dataset.range(3).map(function).save(tmp_path / "saved")
    assert list(tmp_path.iterdir()) == []


def test_text_that_is_no_unicode_is_refused_as_an_object(tmp_path):
    with pytest.raises(TypeError, match="Python object"):
        ps.Dataset.range(1).map(lambda _: "\ud800").save(tmp_path / "saved")


# --- classes in another process ---


def run_python(script, *arguments):
    command = [sys.executable, "-c", textwrap.dedent(script), *map(str, arguments)]
    return subprocess.run(command, capture_output=True, text=True, check=False)


def test_classes_that_cannot_be_imported(tmp_path):
    Local = collections.namedtuple("Local", "a b")
    ps.Dataset.range(2).map(lambda x: Local(x, "s")).save(tmp_path / "tuple")
    assert type(ps.Dataset.load(tmp_path / "tuple").first()) is Local
    ps.Dataset.range(2).map(lambda x: Record(x, "s")).save(tmp_path / "record")
    script = """
    import sys, dataclasses, numpy as np, penstock as ps
    first = ps.Dataset.load(sys.argv[1]).first()
    print(type(first).__name__, first._fields, first.b)
    try:
        ps.Dataset.load(sys.argv[2])
    except TypeError as error:
        print(error)
    @dataclasses.dataclass
    class Record:
        a: float
        b: str
    spec = Record(ps.TensorSpec((), np.int64), ps.TensorSpec((), str))
    """
    run = run_python(script, tmp_path / "tuple", tmp_path / "record")
    lines = run.stdout.splitlines()
    assert lines[0] == "Local ('a', 'b') s", run.stderr
    assert "Record' of its elements cannot be found" in lines[1]


def test_wrong_arguments():
    with pytest.raises(TypeError, match="reader_func must return a Dataset"):
        ps.Dataset.load(NUMBERS, reader_func=lambda files: 3)
    spec = ps.TensorSpec((), np.float32)
    with pytest.raises(ValueError, match=r"expected to be float32, .* got int64"):
        ps.Dataset.load(NUMBERS, element_spec=spec)
    wide = {"x": ps.TensorSpec((), np.int64), "s": ps.TensorSpec((), str)}
    assert len(ps.Dataset.load(NAMES, element_spec=wide)) == 12


# --- missing and incomplete files ---


def test_a_missing_or_foreign_folder(tmp_path):
    with pytest.raises(FileNotFoundError, match="load"):
        ps.Dataset.load(tmp_path / "nothing")
    with pytest.raises(ValueError, match=r"load: .* has no penstock-dataset\.txt"):
        ps.Dataset.load(tmp_path)


def copy_of(folder, to):
    to.mkdir()
    for file in folder.iterdir():
        (to / file.name).write_bytes(file.read_bytes())
    return to


def test_a_missing_file_is_told(tmp_path):
    folder = copy_of(SHARDS, tmp_path / "copy")
    (folder / "shard-00001.rows").unlink()
    with pytest.raises(FileNotFoundError, match=r"shard-00001\.rows"):
        ps.Dataset.load(folder)


def test_a_file_of_another_dataset_is_told(tmp_path):
    folder = copy_of(SHARDS, tmp_path / "copy")
    (folder / "shard-00001.rows").write_bytes((folder / "shard-00002.rows").read_bytes())
    with pytest.raises(ps.DataError, match=r"shard-00001\.rows, got another file"):
        ps.Dataset.load(folder)


@pytest.mark.parametrize("file", ["penstock-dataset.txt", "shard-00000.rows"])
def test_truncation_anywhere_is_told(tmp_path, file):
    folder = copy_of(NAMES, tmp_path / "copy")
    whole = (folder / file).read_bytes()
    for length in range(0, len(whole), 13):
        (folder / file).write_bytes(whole[:length])
        with pytest.raises(ps.DataError) as raised:
            list(ps.Dataset.load(folder))
        assert file in str(raised.value)


@settings(max_examples=150)
@given(
    at=st.floats(0, 1, exclude_max=True),
    bit=st.integers(0, 7),
    file=st.sampled_from(["penstock-dataset.txt", "shard-00000.rows"]),
)
def test_a_flipped_bit_is_told_or_does_not_matter(at, bit, file):
    with tempfile.TemporaryDirectory() as temporary:
        folder = copy_of(NAMES, Path(temporary, "copy"))
        data = bytearray((folder / file).read_bytes())
        data[int(at * len(data))] ^= 1 << bit
        (folder / file).write_bytes(bytes(data))
        try:
            came = list(ps.Dataset.load(folder))
        except ps.DataError as error:
            told = str(error)
        else:
            assert_same(came, list(ps.Dataset.load(NAMES)))
            told = file
        assert file in told


def test_damaged_rows_are_one_error_and_the_others_come(tmp_path):
    rows = np.arange(5000 * 256).reshape(5000, 256)
    folder = tmp_path / "saved"
    ps.Dataset.from_tensor_slices(rows).save(folder)
    file = folder / "shard-00000.rows"
    data = bytearray(file.read_bytes())
    data[3_000_000] ^= 1
    file.write_bytes(bytes(data))
    lost = slice(1024, 1536)  # chunks of 512 rows of 2 KiB
    for ds in (ps.Dataset.load(folder), ps.Dataset.load(folder).batch(1)):
        came = steps(iter(ds))
        errors = [s for s in came if isinstance(s, Failure)]
        assert len(errors) == 1
        assert "rows 1024 to 1535" in errors[0].text
        assert "checksum" in errors[0].text
        good = np.stack([np.ravel(s) for s in came if not isinstance(s, Failure)])
        assert (good == np.delete(rows, lost, axis=0)).all()
    shuffled = steps(iter(ps.Dataset.load(folder).shuffle(10).batch(1)))
    good = {int(s[0, 0]) for s in shuffled if not isinstance(s, Failure)}
    assert good == set(np.delete(rows, lost, axis=0)[:, 0].tolist())


# --- random access ---


def test_shuffle_and_skip_read_rows_where_they_are(tmp_path):
    rows = np.random.default_rng(0).integers(0, 1000, (20_000, 7))
    label = np.arange(20_000, dtype=np.int32)
    ps.Dataset.from_tensor_slices({"r": rows, "l": label}).save(
        tmp_path / "saved", shard_func=lambda e: int(e["l"]) // 8000
    )
    ds = ps.Dataset.load(tmp_path / "saved")
    seen = np.zeros(20_000, bool)
    for batch in ds.shuffle(20_000).batch(64):
        assert (rows[batch["l"]] == batch["r"]).all()
        seen[batch["l"]] = True
    assert seen.all()
    assert int(ds.skip(19_990).first()["l"]) == 19_990
    it = iter(ds.skip(15_000).take(10))
    assert [int(e["l"]) for e in it] == list(range(15_000, 15_010))


ORDERS = {
    "shuffled": lambda ds: ds.shuffle(5000, seed=3),
    "shuffled batches": lambda ds: ds.shuffle(5000, seed=3).batch(16),
    "selected": lambda ds: ds.select(range(4999, -1, -1)),
    "in order": lambda ds: ds,
}


@pytest.mark.parametrize("order", ORDERS.values(), ids=ORDERS)
def test_rows_that_are_overwritten_between_epochs_are_errors(tmp_path, order):
    rows = np.arange(1, 5000 * 64 + 1).reshape(5000, 64)
    ps.Dataset.from_tensor_slices(rows).save(tmp_path / "saved")
    ds = order(ps.Dataset.load(tmp_path / "saved"))
    assert not [step for step in steps(iter(ds), most=6000) if isinstance(step, Failure)]
    (file,) = (tmp_path / "saved").glob("*.rows")
    whole, before = file.read_bytes(), file.stat()

    def written(contents, later_ns):
        with file.open("r+b") as opened:
            opened.write(contents)
        os.utime(file, ns=(before.st_atime_ns, before.st_mtime_ns + later_ns))
        return steps(iter(ds), most=6000)

    damaged = written(whole[:1_000_000] + bytes(800_000) + whole[1_800_000:], 1_000_000_000)
    errors = [step for step in damaged if isinstance(step, Failure)]
    assert errors
    assert {error.kind for error in errors} == {"DataError"}
    assert all("checksum does not match" in error.text for error in errors)
    assert all((step > 0).all() for step in damaged if not isinstance(step, Failure))
    repaired = written(whole, 2_000_000_000)
    assert not [step for step in repaired if isinstance(step, Failure)]
    assert sum(int(step.sum()) for step in repaired) == int(rows.sum())


def test_rows_that_are_overwritten_during_an_epoch_are_errors(tmp_path):
    rows = np.arange(1, 5000 * 64 + 1).reshape(5000, 64)
    ps.Dataset.from_tensor_slices(rows).save(tmp_path / "saved")
    ds = ps.Dataset.load(tmp_path / "saved")
    assert int(ds[4000][0]) == 4000 * 64 + 1
    (file,) = (tmp_path / "saved").glob("*.rows")
    before = file.stat()
    with file.open("r+b") as opened:
        opened.seek(2_000_000)
        opened.write(bytes(100_000))
    os.utime(file, ns=(before.st_atime_ns, before.st_mtime_ns + 1_000_000_000))
    assert int(ds[1][0]) == 65
    with pytest.raises(ps.DataError, match="checksum does not match"):
        ds[4000]


def test_a_load_is_fingerprinted_by_its_files(tmp_path):
    folder = tmp_path / "saved"
    ps.Dataset.range(3).save(folder)
    list(ps.Dataset.load(folder).cache(tmp_path / "cache"))
    ps.Dataset.range(4).save(folder)
    with pytest.warns(RuntimeWarning, match="another pipeline"):
        assert len(list(ps.Dataset.load(folder).cache(tmp_path / "cache"))) == 4


# --- the format ---


def test_the_golden_file_is_read():
    sys.path.insert(0, str(GOLDEN.parent))
    from make_saved import elements  # the script that wrote it

    loaded = ps.Dataset.load(GOLDEN)
    assert_same(list(loaded), elements())
    assert_same(list(pickle.loads(pickle.dumps(loaded))), elements())


def test_the_golden_file_is_what_is_written(tmp_path):
    sys.path.insert(0, str(GOLDEN.parent))
    from make_saved import dataset

    dataset().save(tmp_path / "saved")
    name = "shard-00000.rows"
    assert (tmp_path / "saved" / name).stat().st_size < 10_000
    written = (tmp_path / "saved" / name).read_bytes()
    golden = (GOLDEN / name).read_bytes()
    # After the header, which contains the pipeline's fingerprint.
    assert written[64:] == golden[64:]
