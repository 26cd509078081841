"""write_tfrecords, write_tar, write_jsonl: elements written to files of other formats."""

import gzip
import io
import json
import re
import subprocess
import sys
import tarfile
import threading
import time
from pathlib import Path

import numpy as np
import pytest

import penstock as ps
from compare import assert_same
from penstock.writers.shards import write_shards

NUMBERS = ps.Dataset.range(10)
BYTES = NUMBERS.map(lambda n: b"%d" % n)
FIELDS = NUMBERS.map(
    lambda n: {"x": n, "f": np.float32(n / 4), "l": np.arange(n % 3), "s": f"é {n}", "b": b"b"}
)


def names(folder):
    return sorted(path.name for path in folder.iterdir())


@pytest.mark.parametrize("shards", [1, 3, 12])
@pytest.mark.parametrize(("ending", "kind"), [("", ""), (".gz", "GZIP"), (".zst", "ZSTD")])
def test_records_come_back_in_their_order(tmp_path, shards, ending, kind):
    if kind and not ps.build_info()["zstd" if kind == "ZSTD" else "zlib"]["native"]:
        pytest.skip("built without it")
    files = BYTES.write_tfrecords(tmp_path / f"a.tfrecord{ending}", shards=shards)
    assert len(files) == shards
    assert sorted(files) == [str(tmp_path / name) for name in names(tmp_path)]
    came = ps.TFRecordDataset(files, kind, num_parallel_reads=shards)
    assert list(came) == list(BYTES)


def test_dicts_become_examples(tmp_path):
    (file,) = FIELDS.write_tfrecords(tmp_path / "a")
    features = {"x": ps.io.FixedLenFeature((), np.int64), "s": ps.io.FixedLenFeature((), bytes)}
    came = [ps.io.parse_single_example(record, features) for record in ps.TFRecordDataset(file)]
    assert_same(came, [{"x": np.int64(n), "s": f"é {n}".encode()} for n in range(10)])


def test_an_element_that_is_no_example_is_named(tmp_path):
    wrong = NUMBERS.map(lambda n: {"x": 2**62 * int(n)})
    with pytest.raises(ValueError, match="write_tfrecords: element 2: make_example: feature 'x'"):
        wrong.write_tfrecords(tmp_path / "a")
    with pytest.raises(TypeError, match="write_tfrecords: element 1: make_example: feature 'x'"):
        NUMBERS.map(lambda n: {"x": 1j if n == 1 else 1.5}).write_tfrecords(tmp_path / "a")
    assert names(tmp_path) == []


@pytest.mark.parametrize(("shards", "ending"), [(1, ""), (3, ""), (2, ".gz")])
def test_lines_come_back_in_their_order(tmp_path, shards, ending):
    files = FIELDS.write_jsonl(tmp_path / f"a.b.jsonl{ending}", shards=shards)
    if shards == 2:
        assert names(tmp_path) == [f"a.b-0000{i}-of-00002.jsonl.gz" for i in range(2)]
        json.loads(gzip.decompress((tmp_path / names(tmp_path)[0]).read_bytes()).split(b"\n")[0])
    signature = {
        "x": ps.TensorSpec((), np.int64),
        "f": ps.TensorSpec((), np.float32),
        "l": ps.TensorSpec((None,), np.int64),
        "s": ps.TensorSpec((), str),
        "b": ps.TensorSpec((), bytes),
    }
    came = ps.JSONLinesDataset(files, signature, num_parallel_reads=shards)
    assert_same(list(came), list(FIELDS))


def test_what_json_does_not_have(tmp_path):
    times = ps.Dataset.from_tensor_slices(np.array(["2020-01-02"], "datetime64[D]"))
    (file,) = times.write_jsonl(tmp_path / "times")
    assert list(ps.TextLineDataset(file)) == [b'"2020-01-02"']
    for wrong in (np.nan, b"\xff", np.array([np.inf])):
        with pytest.raises(ValueError, match="write_jsonl: element 0 has no form in JSON"):
            ps.Dataset.from_tensors(wrong).write_jsonl(tmp_path / "a")
    assert names(tmp_path) == ["times"]


@pytest.mark.parametrize("ending", ["", ".gz"])
def test_samples_are_files_in_a_tar(tmp_path, ending):
    ds = NUMBERS.map(
        lambda n: {
            "__key__": f"{n // 5}/{n:03}",
            "__url__": "elsewhere",
            "jpg": b"%d" % n,
            "cls": n,
            "txt": "é",
            "json": {"a": np.ones(2), "b": "c"},
            "left.npy": np.arange(3),
        }
    )
    files = ds.write_tar(tmp_path / f"a.tar{ending}", shards=2)
    assert files == [str(tmp_path / f"a-0000{i}-of-00002.tar{ending}") for i in range(2)]
    with tarfile.open(files[1]) as archive:
        assert archive.getnames()[:6] == [
            *(f"0/001.{field}" for field in ("jpg", "cls", "txt", "json", "left.npy")),
            "0/003.jpg",
        ]
        read = {name: archive.extractfile(f"0/003.{name}").read() for name in ("jpg", "cls", "txt")}
        assert read == {"jpg": b"3", "cls": b"3", "txt": "é".encode()}
        assert json.load(archive.extractfile("0/003.json")) == {"a": [1.0, 1.0], "b": "c"}
        assert np.load(io.BytesIO(archive.extractfile("1/009.left.npy").read())).tolist() == [
            0,
            1,
            2,
        ]


def test_samples_that_are_wrong(tmp_path):
    for element, problem in (
        (b"x", "elements must be dicts"),
        ({"jpg": np.ones(2)}, "element 0: field 'jpg' must be bytes, str"),
        ({"__key__": "a.b", "txt": "c"}, "__key__ must be a name without dots"),
        ({"npy": np.array([object()])}, "field 'npy'"),
    ):
        with pytest.raises((TypeError, ValueError), match=f"write_tar: .*{problem}"):
            ps.Dataset.from_tensors(element).write_tar(tmp_path / "a.tar")
    assert names(tmp_path) == []


def test_an_error_leaves_what_was_there(tmp_path):
    path = tmp_path / "a.tfrecord"
    path.write_bytes(b"old")

    def fails(n):
        if n == 700:
            raise KeyError("boom")
        return b"x"

    for shards in (1, 2):
        with pytest.raises(KeyError, match="boom"):
            ps.Dataset.range(1000).map(fails).write_tfrecords(path, shards=shards)
        with pytest.raises(TypeError, match="element 0 is"):
            ps.Dataset.range(1000).write_tfrecords(path, shards=shards)
    assert names(tmp_path) == ["a.tfrecord"]
    assert path.read_bytes() == b"old"
    assert not [each for each in threading.enumerate() if each.name.startswith("write_")]
    BYTES.write_tfrecords(path)
    assert list(ps.TFRecordDataset(path)) == list(BYTES)


@pytest.mark.parametrize("kind", ["write_jsonl", "index"])
def test_what_a_killed_writer_has_left_is_removed(tmp_path, kind):
    import fcntl

    (tmp_path / "a.jsonl").write_text("1\n")
    target = "a.jsonl" if kind == "write_jsonl" else "a.jsonl.psindex"
    found = [f".{target}.tmp-{'0' * 15}{i}" for i in range(2)]
    found += [f".{target}.tmp-mine", f".other.tmp-{'0' * 16}"]
    for name in found:
        (tmp_path / name).touch()
    with (tmp_path / found[1]).open() as locked:
        fcntl.flock(locked, fcntl.LOCK_EX)
        if kind == "write_jsonl":
            ps.Dataset.range(3).write_jsonl(tmp_path / "a.jsonl")
        else:
            ps.index(tmp_path / "a.jsonl")
    assert names(tmp_path) == sorted({"a.jsonl", target, *found[1:]})


LIMITED = """
import resource, sys
import penstock as ps
resource.setrlimit(resource.RLIMIT_NOFILE, (64, 64))
try:
    ps.Dataset.range(100).write_jsonl("a.jsonl", shards=90)
except OSError as error:
    print(error)
"""


def test_more_shards_than_files_may_be_open_are_one_error(tmp_path):
    command = [sys.executable, "-c", LIMITED]
    done = subprocess.run(command, capture_output=True, text=True, check=True, cwd=tmp_path)
    assert "write_jsonl: 90 files are written at a time" in done.stdout
    assert "ulimit -n" in done.stdout
    assert list(tmp_path.iterdir()) == []


FULL = """
import resource, signal
import numpy as np, penstock as ps
signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
resource.setrlimit(resource.RLIMIT_FSIZE, (100_000, 100_000))
ds = ps.Dataset.range(3000).map(lambda n: {"x": np.random.default_rng(int(n)).bytes(300).hex()})
texts = ds.map(lambda e: e["x"])
for shards in (1, 2):
    for ending in ("", ".gz"):
        for write in (texts.write_tfrecords, ds.write_tar, ds.write_jsonl):
            try:
                write(f"out{ending}", shards=shards)
            except OSError as error:
                print(error)
try:
    with ps.io.TFRecordWriter("alone") as writer:
        for _ in range(300):
            writer.write(bytes(1000))
except OSError as error:
    print(error)
"""


def test_a_file_that_may_not_grow_is_named(tmp_path):
    command = [sys.executable, "-c", FULL]
    done = subprocess.run(command, capture_output=True, text=True, check=True, cwd=tmp_path)
    lines = done.stdout.splitlines()
    assert len(lines) == 13
    for line in lines[:12]:
        assert re.fullmatch(r"\[Errno 27\] .*: '.*out(-0000.-of-00002)?(\.gz)?'", line), line
    assert lines[12].endswith("'alone'")
    assert names(tmp_path) == ["alone"]


def test_a_folder_is_not_replaced(tmp_path):
    (tmp_path / "a").mkdir()
    with pytest.raises(FileExistsError):
        BYTES.write_tfrecords(tmp_path / "a")
    assert names(tmp_path) == ["a"]
    BYTES.write_tfrecords(tmp_path / "new" / "a")
    assert names(tmp_path / "new") == ["a"]


def test_an_empty_dataset_gives_empty_files(tmp_path):
    for file in BYTES.take(0).write_tfrecords(tmp_path / "a", shards=2):
        assert list(ps.TFRecordDataset(file)) == []


def test_progress(tmp_path, capsys):
    BYTES.write_tfrecords(tmp_path / "a")
    assert capsys.readouterr().err == ""
    BYTES.write_tfrecords(tmp_path / "a", progress=True)
    assert "10/10" in capsys.readouterr().err.replace(" ", "")


def test_arguments_that_are_wrong(tmp_path):
    for method in (BYTES.write_tfrecords, BYTES.write_tar, BYTES.write_jsonl):
        with pytest.raises(ValueError, match=r"compression.* must be .*got 'LZ'"):
            method(tmp_path / "a", compression="LZ")
        with pytest.raises(ValueError, match="shards must be >= 1"):
            method(tmp_path / "a", shards=0)


def test_samples_that_no_reader_would_find_are_refused(tmp_path):
    for element, match in (
        ({"txt": "a", "__key__": "a/"}, "without dots"),
        ({"txt": "a", "__key__": "../a"}, "without dots"),
        ({"txt": "a", "__key__": "/a"}, "without dots"),
        ({"a/b": "x"}, "extensions in lower case; element 0 has 'a/b'"),
        ({"TXT": "x"}, "has 'TXT'"),
        ({"__key__": "only"}, "has none"),
        ({"txt": "a", "__key__": "a\0b"}, "without dots"),
        ({"t\0t": "a"}, "has 't"),
        ({1: "a"}, "element 0 has 1"),
    ):
        with pytest.raises(ValueError, match=match):
            ps.Dataset.from_tensors(element).write_tar(tmp_path / "a.tar")
    twice = ps.Dataset.from_tensor_slices({"__key__": ["a", "a"], "txt": ["1", "2"]})
    with pytest.raises(ValueError, match="element 1 has 'a'"):
        twice.write_tar(tmp_path / "a.tar")


def test_files_that_cannot_be_closed_do_not_hide_the_first_error(tmp_path):
    abandoned = []

    class FullDisk:
        def __init__(self, path):
            self.path = path

        def write(self, number, element):
            pass

        def abandon(self):
            abandoned.append(self.path)
            raise OSError(28, "No space left on device", self.path)

    def elements():
        yield 1
        raise ValueError("the first error")

    with pytest.raises(ValueError, match="the first error"):
        write_shards("write", elements(), str(tmp_path / "out"), 2, False, FullDisk)
    assert len(abandoned) == 2
    assert names(tmp_path) == []


LONE = "\ud800"  # a lone surrogate, which cannot be encoded
WRITES = {
    "write_tfrecords of str": lambda ds, to: ds.map(lambda x: LONE).write_tfrecords(to),
    "write_tfrecords of dicts": lambda ds, to: ds.map(lambda x: {"a": LONE}).write_tfrecords(to),
    "write_jsonl": lambda ds, to: ds.map(lambda x: {"a": LONE}).write_jsonl(to),
    "write_tar": lambda ds, to: ds.map(lambda x: {"txt": LONE}).write_tar(to),
    "write_tar of keys": lambda ds, to: ds.map(
        lambda x: {"__key__": f"{LONE}{x}", "txt": "a"}
    ).write_tar(to),
    "write_tar of fields": lambda ds, to: ds.map(lambda x: {LONE: "a"}).write_tar(to),
}


@pytest.mark.parametrize("case", WRITES)
def test_text_that_cannot_be_encoded_is_an_error_of_its_element(tmp_path, case):
    ds = ps.Dataset.range(3)
    with pytest.raises((TypeError, ValueError), match=rf"^{case.split()[0]}: element 0\b"):
        WRITES[case](ds, tmp_path / "a")
    assert list(tmp_path.iterdir()) == []


def test_empty_file_names_are_rejected():
    ds = ps.Dataset.range(3)
    for write in (ds.save, ds.snapshot, ps.io.TFRecordWriter, ds.write_tar, ds.write_jsonl):
        with pytest.raises(ValueError, match=r"path must (be the name of a file|name a folder)"):
            write("")
    for stage, write in {"save": ds.save, "write_tar": ds.write_tar}.items():
        with pytest.raises(ValueError, match=rf"^{stage}: path: '\\ud800' has no form in bytes"):
            write(LONE)


def test_few_large_elements_wait_for_a_slow_file(tmp_path):
    pulled, may_write = 0, threading.Event()

    def elements():
        nonlocal pulled
        for i in range(400):
            pulled = i + 1
            yield {"x": [np.zeros(2 << 20, np.uint8), b"one"]}

    class Slow:
        def write(self, number, element):
            assert may_write.wait(60)

        def close(self):
            pass

        abandon = close

    def opens(path):
        Path(path).touch()
        return Slow()

    writing = threading.Thread(
        target=write_shards, args=("write", elements(), str(tmp_path / "a"), 1, False, opens)
    )
    writing.start()
    before = -1
    while before != pulled:  # until it waits
        before = pulled
        time.sleep(0.3)
    waiting = pulled
    may_write.set()
    writing.join(60)
    assert waiting < 10
    assert pulled == 400
