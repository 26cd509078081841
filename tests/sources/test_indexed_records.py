"""Sources with indexed=True: the same steps, with random access."""

import io
import os
import pickle
import random
import struct
import subprocess
import sys
import tarfile
import threading
from pathlib import Path

import numpy as np
import pytest

import penstock as ps
from compare import assert_same
from contract import DatasetContract, Failure, steps
from records import crc32c, frame

RECORDS = [
    [b"one", b"", b"\n\0\xff"],
    [],
    [b"x" * 5000],
    [bytes([i % 256]) * (i % 37) for i in range(600)],
]
LINES = [b"one\r\ntwo\n\nthree", b"", b"\n" * 300, b"x" * 70_000 + b"\nlast\n"]
TABLE = b'name,age\r\n"Tom, the\ncat",3\rRex,\n"a ""b""",7'


def write(folder, files, ending):
    paths = []
    for i, content in enumerate(files):
        path = folder / f"{i}.{ending}"
        path.write_bytes(content)
        paths.append(str(path))
    return paths


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    folder = tmp_path_factory.mktemp("indexed")
    files = {
        "records": write(folder, [b"".join(map(frame, each)) for each in RECORDS], "tfrecord"),
        "lines": write(folder, LINES, "txt"),
        "table": write(folder, [TABLE], "csv"),
    }
    for kind, names in files.items():
        ps.index(names, header=kind == "table")
    return files


class OfFiles(DatasetContract):
    """The contract for files written by a fixture."""

    @pytest.fixture(autouse=True)
    def _files(self, made):
        type(self).files = made


class TestRecords(OfFiles):
    @classmethod
    def build(cls):
        return ps.TFRecordDataset(cls.files["records"], indexed=True).take(30)

    expected = [record for file in RECORDS for record in file][:30]


def beginning(line):
    return line[:9]


class TestLines(OfFiles):
    @classmethod
    def build(cls):
        ds = ps.TextLineDataset(cls.files["lines"], indexed=True)
        return ds.map(beginning).skip(290)

    expected = [b""] * 14 + [b"x" * 9, b"last"]


class TestTable(OfFiles):
    @classmethod
    def build(cls):
        return ps.experimental.CsvDataset(cls.files["table"], [str, -1], header=True, indexed=True)

    expected = [("Tom, the\ncat", np.int32(3)), ("Rex", np.int32(-1)), ('a "b"', np.int32(7))]


class TestShuffled(OfFiles):
    @classmethod
    def build(cls):
        ds = ps.TFRecordDataset(cls.files["records"], indexed=True)
        return ds.shuffle(1000, seed=2, reshuffle_each_iteration=False).take(20)

    @classmethod
    def expected(cls):
        return list(cls.build())


def write_tar(path, samples):
    with tarfile.open(path, "w") as archive:
        for number in range(samples):
            info = tarfile.TarInfo(f"{number:03}.txt")
            info.size = 3
            archive.addfile(info, io.BytesIO(b"%03d" % number))


def number_of(text):
    SEEN.append(text)
    if len(SEEN) >= 20:
        assert OPEN.wait(60)
    return int(text)


SEEN = []
OPEN = threading.Event()
OPEN.set()


def numbered(folder, kind):
    """Return an indexed source of the numbers below 100, and a function from element to number."""
    if kind == "tar":
        write_tar(folder / "a.tar", 100)
        ps.index(folder / "a.tar")
        decode = {"txt": number_of}
        return ps.TarDataset(folder / "a.tar", "txt", decode=decode, indexed=True), int
    if kind == "tar of all":
        write_tar(folder / "a.tar", 100)
        ps.index(folder / "a.tar")
        return ps.TarDataset(folder / "a.tar", indexed=True), lambda sample: int(sample["txt"])
    if kind == "csv":
        (folder / "a.csv").write_text("".join(f"{i},x\n" for i in range(100)))
        ps.index(folder / "a.csv")
        ds = ps.experimental.CsvDataset(folder / "a.csv", [np.int64, str], indexed=True)
        return ds, lambda row: int(row[0])
    (folder / "a.jsonl").write_text("".join(f'{{"x": {i}}}\n' for i in range(100)))
    ps.index(folder / "a.jsonl")
    signature = {"x": ps.TensorSpec((), np.int64)} if kind == "json" else None
    return ps.JSONLinesDataset(folder / "a.jsonl", signature, indexed=True), lambda row: row["x"]


@pytest.mark.parametrize("kind", ["tar", "tar of all", "csv", "json", "json objects"])
def test_shuffle_draws_positions_of_what_is_made_of_records(tmp_path, kind):
    ds, number = numbered(tmp_path, kind)
    # The expected order is that of a source with built-in random access and no decoding.
    (tmp_path / "records").write_bytes(b"".join(b"%03d" % i for i in range(100)))
    records = ps.FixedLengthRecordDataset(tmp_path / "records", 3, indexed=True)
    order = {"seed": 4, "reshuffle_each_iteration": False}
    shuffled = ds.shuffle(20, **order)
    assert list(map(number, shuffled)) == list(map(int, records.shuffle(20, **order)))
    assert shuffled.element_spec == ds.element_spec
    again = pickle.loads(pickle.dumps(ds)).shuffle(20, **order)
    assert list(map(number, again)) == list(map(number, shuffled))
    SEEN.clear()
    OPEN.clear()
    try:
        iterator = iter(shuffled)
        first = next(iterator)  # fewer of them are read than the buffer holds
    finally:
        OPEN.set()
    state = iterator.get_state()
    rest = list(map(number, iterator))
    assert sorted([number(first), *rest]) == list(range(100))
    iterator.set_state(state)
    assert list(map(number, iterator)) == rest


def plain_and_indexed(made, kind):
    if kind == "records":
        return [ps.TFRecordDataset(made[kind], indexed=i) for i in (False, True)]
    return [ps.TextLineDataset(made[kind], indexed=i) for i in (False, True)]


@pytest.mark.parametrize("kind", ["records", "lines"])
def test_every_record_is_found_alone_and_among_others(made, kind):
    plain, indexed = map(list, plain_and_indexed(made, kind))
    assert_same(indexed, plain)
    ds = plain_and_indexed(made, kind)[1]
    assert len(ds) == len(plain)
    rng = random.Random(1)
    positions = [rng.randrange(-len(plain), len(plain)) for _ in range(2000)]
    assert_same(list(ds.select(positions)), [plain[i] for i in positions])
    for i in positions[:50]:
        assert ds[i] == plain[i]
    assert sorted(ds.shuffle(len(plain))) == sorted(plain)
    assert_same(list(ds.batch(50).unbatch()), plain)
    assert list(ds.batch(50)[1]) == plain[50:100]


def test_a_folder_holds_the_indexes(made, tmp_path):
    names = made["records"]
    ps.index(names, tmp_path / "new" / "folder")
    ds = ps.TFRecordDataset(names, indexed=tmp_path / "new" / "folder")
    assert ds[3] == b"x" * 5000
    assert len(list((tmp_path / "new" / "folder").iterdir())) == len(names)


def test_names_may_come_from_a_dataset(made):
    names = ps.Dataset.from_tensor_slices(made["lines"])
    assert len(ps.TextLineDataset(names, indexed=True)) == 306


def damaged(count, *bad):
    frames = [frame(b"record %d" % i) for i in range(count)]
    for i in bad:
        frames[i] = frames[i][:-5] + b"?" + frames[i][-4:]
    return b"".join(frames)


def broken_files():
    yield "one", damaged(9, 4)
    yield "several", damaged(9, 2, 3, 8)
    yield "cut off", damaged(9)[:-7]
    length = bytearray(damaged(9))
    length[4 * len(frame(b"record 0"))] ^= 1
    yield "a length", bytes(length)


@pytest.mark.parametrize("content", [pytest.param(c, id=n) for n, c in broken_files()])
@pytest.mark.filterwarnings("ignore:index.*nothing can be found:RuntimeWarning")
def test_what_is_damaged_is_the_same_error_at_the_same_position(tmp_path, content):
    paths = write(tmp_path, [content, damaged(2)], "tfrecord")
    ps.index(paths)
    wanted = steps(iter(ps.TFRecordDataset(paths)))
    indexed = ps.TFRecordDataset(paths, indexed=True)
    assert steps(iter(indexed)) == wanted
    assert any(isinstance(each, Failure) for each in wanted)
    backwards = indexed[::-1]
    assert steps(iter(backwards)) == wanted[::-1]
    shuffled = steps(iter(indexed.shuffle(20, seed=1)))
    assert sorted(map(str, shuffled)) == sorted(map(str, wanted))
    for i, step in enumerate(wanted):
        if isinstance(step, Failure):
            with pytest.raises(ps.DataError) as caught:
                indexed[i]
            assert str(caught.value) == step.text
            assert caught.value.file in paths
    left = ps.TFRecordDataset(paths, indexed=True, on_error="skip")
    assert list(left) == [each for each in wanted if isinstance(each, bytes)]


@pytest.mark.filterwarnings("ignore:index.*nothing can be found:RuntimeWarning")
def test_states_work_across_errors(tmp_path):
    paths = write(tmp_path, [damaged(9, 2, 3, 8)], "tfrecord")
    ps.index(paths)
    contract = DatasetContract()
    ds = ps.TFRecordDataset(paths, indexed=True)
    for make in (
        lambda: ds,
        lambda: ds.shuffle(4, seed=1, reshuffle_each_iteration=False),
        lambda: ds.global_shuffle(seed=1, reshuffle_each_iteration=False),
        lambda: ds.select([3, 1, 8, 8, -1, 2]).batch(2),
        lambda: ds.shard_evenly(2, 1),
    ):
        contract.check_states(make)


def test_a_file_that_was_written_to_is_refused(made, tmp_path):
    path = write(tmp_path, [damaged(9)], "tfrecord")[0]
    ps.index(path)
    ds = ps.TFRecordDataset(path, indexed=True)
    with Path(path).open("ab") as file:
        file.write(frame(b"more"))
    for use in (lambda: ps.TFRecordDataset(path, indexed=True), lambda: ds[0], lambda: list(ds)):
        with pytest.raises(ps.DataError, match=r"has been written to since .*run ps.index again"):
            use()
    assert ps.index(path) == {path: 10}
    assert ps.TFRecordDataset(path, indexed=True)[-1] == b"more"
    os.utime(path, ns=(0, 0))
    with pytest.raises(ps.DataError, match="has been written to"):
        ps.TFRecordDataset(path, indexed=True)


def test_a_file_that_is_written_to_while_it_is_open_is_an_error_from_then_on(tmp_path):
    path = write(tmp_path, [damaged(9)], "tfrecord")[0]
    ps.index(path)
    it = iter(ps.TFRecordDataset(path, indexed=True).select([0, 1, 2, 3]).batch(2))
    first = next(it)
    before = Path(path).stat()
    os.utime(path, ns=(before.st_atime_ns, before.st_mtime_ns + 1_000_000))
    with pytest.raises(ps.DataError, match=r"has been written to since .*run ps.index again"):
        next(it)
    assert list(first) == [b"record 0", b"record 1"]


def test_a_file_that_is_replaced_while_it_is_open_is_read_as_it_was(tmp_path):
    path = write(tmp_path, [damaged(9)], "tfrecord")[0]
    ps.index(path)
    ds = ps.TFRecordDataset(path, indexed=True)
    assert ds[0] == b"record 0"
    other = tmp_path / "other"
    other.write_bytes(frame(b"new"))
    other.replace(path)
    assert ds[8] == b"record 8"
    with pytest.raises(ps.DataError, match="has been written to since"):
        ps.TFRecordDataset(path, indexed=True)


def test_a_file_that_is_truncated_while_it_is_read_gives_errors(tmp_path):
    path = write(tmp_path, [damaged(900)], "tfrecord")[0]
    ps.index(path)
    ds = ps.TFRecordDataset(path, indexed=True)
    it = iter(ds.select([1, 899, 2, 3]).prefetch(1).map(lambda x: x))
    direct = iter(ds.select([0] * 3 + [899]))
    assert next(direct) == b"record 0"
    os.truncate(path, 1000)
    came = steps(direct)
    assert [each for each in came if isinstance(each, Failure)]
    assert all(each == b"record 0" or each.kind == "DataError" for each in came)
    assert len(steps(it)) == 4


LIMITED = """
import resource, sys
import penstock as ps
resource.setrlimit(resource.RLIMIT_NOFILE, (64, 64))
names = [f"{i}.txt" for i in range(90)]
ds = ps.TextLineDataset(names, indexed=True)
print(len(list(ds)), len(list(ds.global_shuffle(seed=1).batch(300))))
"""


def test_more_files_than_may_be_open_are_read(tmp_path):
    for i in range(90):
        (tmp_path / f"{i}.txt").write_text("a\nb\n")
    ps.index(map(str, tmp_path.glob("*.txt")))
    command = [sys.executable, "-c", LIMITED]
    done = subprocess.run(command, capture_output=True, text=True, check=True, cwd=tmp_path)
    assert done.stdout == "180 1\n"


def test_an_index_that_is_missing_is_an_error_with_the_command(tmp_path):
    path = write(tmp_path, [b"a\n"], "txt")[0]
    with pytest.raises(FileNotFoundError, match="python -m penstock index") as caught:
        ps.TextLineDataset(path, indexed=True)
    assert caught.value.filename == path + ".psindex"


def test_arguments_that_decide_where_records_begin_are_those_of_the_index(made):
    with pytest.raises(ValueError, match=r"header=0 .*was expected.*header=1"):
        ps.experimental.CsvDataset(made["table"], [str, -1], indexed=True)
    with pytest.raises(ValueError, match=r"an index of text_line was expected.*one of tf_record"):
        ps.TextLineDataset(made["records"], indexed=True)


def test_compressed_files_and_parallel_reads_are_refused(made):
    with pytest.raises(ValueError, match=r"not compressed was expected.*as GZIP"):
        ps.TFRecordDataset(made["records"], "GZIP", indexed=True)
    with pytest.raises(ValueError, match="num_parallel_reads must be None"):
        ps.TFRecordDataset(made["records"], num_parallel_reads=2, indexed=True)


def test_a_damaged_index_is_refused_whichever_byte_it_is(tmp_path):
    path = write(tmp_path, [b"".join(frame(b"x" * (i % 7)) for i in range(300))], "tfrecord")[0]
    ps.index(path)
    index = tmp_path / "0.tfrecord.psindex"
    good = index.read_bytes()
    for at in range(0, len(good), 3):
        index.write_bytes(good[:at] + bytes([good[at] ^ 0x10]) + good[at + 1 :])
        with pytest.raises(ps.DataError, match="index"):
            list(ps.TFRecordDataset(path, indexed=True))
    for size in range(0, len(good), 7):
        index.write_bytes(good[:size])
        with pytest.raises(ps.DataError, match="index"):
            ps.TFRecordDataset(path, indexed=True)


def index_of(starts, header):
    """Return an index in the format of docs/reference/formats.md, with 64-bit distances."""
    distances = b"".join(struct.pack("<Q", start) for start in starts)
    magic = b"PSINDX\r\n"
    block = struct.pack("<QQQII", 0, 64, len(magic), crc32c(distances), 0) if starts else b""
    footer = block + header
    trailer = struct.pack(
        "<QQQII", len(magic) + len(distances), bool(starts), len(header), crc32c(footer), 1
    )
    return magic + distances + footer + trailer + b"\x1aPSINDE\n"


def varint(value):
    out = b""
    while value > 127:
        out += bytes([value & 127 | 128])
        value >>= 7
    return out + bytes([value])


def header_of(path, records, size, end):
    def text(value):
        return varint(len(value)) + value

    def whole(value):
        return varint(value << 1)

    version = str(Path(path).stat().st_mtime_ns).encode()
    return (
        text(b"tf_record") + text(version) + whole(size) + whole(records) + whole(end) + text(b"")
    )


def test_records_may_lie_far_into_a_file(tmp_path):
    path = tmp_path / "far.tfrecord"
    far = 5 * 2**30 + 3
    with path.open("wb") as file:
        file.write(frame(b"near"))
        file.seek(far)
        file.write(frame(b"far away"))
    size = path.stat().st_size
    index = tmp_path / "far.tfrecord.psindex"
    index.write_bytes(index_of([0, 20, far], header_of(path, 3, size, size)))
    ds = ps.TFRecordDataset(path, indexed=True)
    assert (ds[0], ds[2]) == (b"near", b"far away")
    with pytest.raises(ps.DataError, match=r"record 1: .* longer than max_record_bytes"):
        ds[1]


@pytest.mark.parametrize("starts", [[0, 21, 40], [2**63, 0, 5], [40, 20, 0], [0, 20, 2**64 - 1]])
def test_an_index_that_was_forged_is_an_error(tmp_path, starts):
    path = write(tmp_path, [frame(b"near") * 3], "tfrecord")[0]
    size = Path(path).stat().st_size
    index = tmp_path / "0.tfrecord.psindex"
    index.write_bytes(index_of(starts, header_of(path, 3, size, size)))
    came = steps(iter(ps.TFRecordDataset(path, indexed=True)))
    assert len(came) == 3
    errors = [each for each in came if isinstance(each, Failure)]
    assert errors
    assert {each.kind for each in errors} == {"DataError"}


def test_reading_in_threads_gives_the_same(made):
    ds = ps.TFRecordDataset(made["records"], indexed=True)
    order = ds.global_shuffle(seed=5, reshuffle_each_iteration=False)
    wanted = list(order)
    both = ps.Dataset.zip(order.prefetch(2), order.prefetch(3))
    came = list(both)
    assert [a for a, _ in came] == wanted == [b for _, b in came]


HAMMER = """
import os, sys, threading
import penstock as ps

path, faults = sys.argv[1], sys.argv[2] == "faulthandler"
if faults:
    import faulthandler
    faulthandler.enable()
content = open(path, "rb").read()
ps.index(path)
ds = ps.TFRecordDataset(path, indexed=True)
done = threading.Event()

def truncate():
    while not done.is_set():
        os.truncate(path, 5000)
        with open(path, "r+b") as file:
            file.write(content)

it = iter(ds.global_shuffle(seed=1).repeat(2))
first = next(it)
thread = threading.Thread(target=truncate)
thread.start()
kinds = set()
while True:
    try:
        record = next(it)
    except StopIteration:
        break
    except Exception as error:
        kinds.add(type(error).__name__)
    else:
        assert len(record) == 1000 and len(set(record)) == 1, record
done.set()
thread.join()
print("came to the end", sorted(kinds))
"""


@pytest.mark.parametrize("faults", ["plain", "faulthandler"])
@pytest.mark.slow
def test_truncating_a_file_again_and_again_ends_no_process(tmp_path, faults):
    records = [bytes([i % 256]) * 1000 for i in range(2000)]
    path = write(tmp_path, [b"".join(map(frame, records))], "tfrecord")[0]
    command = [sys.executable, "-c", HAMMER, path, faults]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    assert done.stdout in ("came to the end ['DataError']\n", "came to the end []\n")
