"""TFRecordDataset: records by length and checksum, complete or an error at their position."""

import itertools
import os
import struct

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import penstock as ps
from compare import assert_same
from contract import DatasetContract, steps
from records import COMPRESS, PLAIN_AND_COMPRESSED, frame, in_turn, masked

RECORDS = [[b"one", b"", b"\n\0\xff"], [], [b"x" * 5000], [bytes([i]) * i for i in range(9)]]


def write(folder, files, compression=None):
    paths = []
    for i, records in enumerate(files):
        path = folder / f"{i}.tfrecord"
        path.write_bytes(COMPRESS[compression](b"".join(map(frame, records))))
        paths.append(str(path))
    return paths


@pytest.fixture(scope="module", params=PLAIN_AND_COMPRESSED)
def made(request, tmp_path_factory):
    return write(tmp_path_factory.mktemp("records"), RECORDS, request.param), request.param


class OfFiles(DatasetContract):
    """The contract for plain and compressed files written by a fixture."""

    @pytest.fixture(autouse=True)
    def _files(self, made):
        type(self).files, type(self).compression = made


class TestOneFile(OfFiles):
    @classmethod
    def build(cls):
        return ps.TFRecordDataset(cls.files[3], cls.compression)

    expected = RECORDS[3]


class TestManyFiles(OfFiles):
    @classmethod
    def build(cls):
        return ps.TFRecordDataset(cls.files, cls.compression, buffer_size=1)

    expected = list(itertools.chain(*RECORDS))


class TestParallelReads(OfFiles):
    @classmethod
    def build(cls):
        return ps.TFRecordDataset(cls.files, cls.compression, num_parallel_reads=2)

    expected = list(in_turn(RECORDS, 2))


class TestBatched(OfFiles):
    @classmethod
    def build(cls):
        return ps.TFRecordDataset(cls.files, cls.compression).batch(4).unbatch()

    expected = list(itertools.chain(*RECORDS))


def test_the_checksums_are_those_of_the_format(tmp_path):
    # 123456789 has the CRC-32C e3069283; masking rotates it and adds a constant.
    rotated = (0xE3069283 >> 15 | 0xE3069283 << 17) & 0xFFFFFFFF
    crc = struct.pack("<I", (rotated + 0xA282EAD8) & 0xFFFFFFFF)
    assert masked(b"123456789") == crc
    path = tmp_path / "golden"
    path.write_bytes(frame(b"123456789"))
    assert list(ps.TFRecordDataset(path)) == [b"123456789"]


@pytest.mark.parametrize("size", [0, 1, 7, 8, 287, 288, 6143, 6144, 6145, 300_000, 5_000_000])
@pytest.mark.parametrize("buffer_size", [0, None])
def test_records_of_all_sizes_come_whole(tmp_path, size, buffer_size):
    record = os.urandom(size)
    path = tmp_path / "sizes"
    with ps.io.TFRecordWriter(path) as writer:
        for each in (record, b"after", record):
            writer.write(each)
    ds = ps.TFRecordDataset(path, buffer_size=buffer_size)
    assert list(ds) == [record, b"after", record]


def model(data):
    """Return the expected steps for these bytes: records, and errors by a word of their text."""
    came, at = [], 0
    while at < len(data):
        head = data[at : at + 12]
        if len(head) < 12:
            return [*came, "before a record"]
        if masked(head[:8]) != head[8:]:
            return [*came, "checksum of a record's length"]
        (length,) = struct.unpack("<Q", head[:8])
        record = data[at + 12 : at + 12 + length]
        crc = data[at + 12 + length : at + 16 + length]
        if len(crc) < 4:
            return [*came, "within a record"]
        came.append(record if masked(record) == crc else "checksum of a record of")
        at += 16 + length
    return came


def check(path, data, **arguments):
    path.write_bytes(data)
    came = steps(iter(ps.TFRecordDataset(path, **arguments)))
    wanted = model(data)
    assert len(came) == len(wanted)
    for got, want in zip(came, wanted, strict=True):
        if isinstance(want, bytes):
            assert got == want
        else:
            assert got.kind == "DataError"
            assert want in got.text
            assert str(path) in got.text


@st.composite
def damaged(draw):
    records = draw(st.lists(st.binary(max_size=40), max_size=6))
    data = bytearray(b"".join(map(frame, records)))
    for _ in range(draw(st.integers(0, 3))):
        where = draw(st.integers(0, len(data)))
        match draw(st.sampled_from(["change", "insert", "cut", "drop", "frame"])):
            case "change" if where < len(data):
                data[where] ^= 1 << draw(st.integers(0, 7))
            case "insert":
                data[where:where] = draw(st.binary(max_size=9))
            case "cut":
                del data[where:]
            case "drop":
                del data[where : where + draw(st.integers(0, 20))]
            case "frame":  # a length with a valid checksum
                length = draw(st.sampled_from([0, 1, 2**31, 2**32, 2**62, 2**63 - 1, 2**64 - 1]))
                data[where:where] = frame(b"abc", length)
    return bytes(data)


@pytest.mark.slow
@settings(max_examples=300)
@given(data=damaged(), buffer_size=st.sampled_from([0, None]))
def test_damaged_files_give_what_is_whole_and_errors_for_the_rest(
    tmp_path_factory, data, buffer_size
):
    path = tmp_path_factory.getbasetemp() / "damaged"
    if not data.startswith(b"\x1f\x8b\x08"):
        check(path, data, buffer_size=buffer_size)


def test_a_damaged_record_is_left_out_and_named(tmp_path):
    path = tmp_path / "bad"
    frames = [frame(b"first"), bytearray(frame(b"second")), frame(b"third")]
    frames[1][14] ^= 1
    path.write_bytes(b"".join(frames))
    it = iter(ps.TFRecordDataset([path, path]))
    for _ in range(2):
        assert next(it) == b"first"
        with pytest.raises(
            ps.DataError, match="record 1: the checksum of a record of 6 bytes"
        ) as e:
            next(it)
        assert (e.value.file, e.value.offset, e.value.element) == (str(path), 21, 1)
        assert next(it) == b"third"
    assert list(it) == []


def test_behind_a_damaged_length_the_next_file_follows(tmp_path):
    bad = bytearray(frame(b"1") + frame(b"2") + frame(b"3"))
    bad[17] ^= 1
    paths = [tmp_path / "bad", tmp_path / "good"]
    paths[0].write_bytes(bad)
    paths[1].write_bytes(frame(b"4"))
    came = steps(iter(ps.TFRecordDataset(paths)))
    assert came[::2] == [b"1", b"4"]
    assert "byte 17" in came[1].text


@pytest.mark.parametrize("compression", [None, "GZIP"])
def test_a_length_that_the_file_has_not_is_an_error_without_the_memory(tmp_path, compression):
    path = tmp_path / "huge"
    path.write_bytes(COMPRESS[compression](frame(b"1") + frame(b"2", length=2**45)))
    came = steps(iter(ps.TFRecordDataset(path, compression)))
    assert came[0] == b"1"
    assert [s.kind for s in came[1:]] == ["DataError"]
    assert f"a record of {2**45} bytes" in came[1].text


@pytest.mark.parametrize("reads", [None, 2])
def test_states_jump_over_what_was_read(tmp_path, reads):
    # The data before the saved position is destroyed. It is not read again, except the last records
    # before the position: a stage saves its input's position about every half millisecond.
    count, taken, destroyed = 100_000, 90_000, 40_000
    record = os.urandom(300)
    path = tmp_path / "long"
    path.write_bytes(frame(record) * count)
    ds = ps.TFRecordDataset([str(path)], buffer_size=4096, num_parallel_reads=reads)
    it = iter(ds)
    for _ in range(taken):
        assert next(it) == record
    state = it.get_state()
    it.close()
    with path.open("r+b") as file:
        file.write(bytes(destroyed * 316))
    it = iter(ds)
    it.set_state(state)
    assert list(it) == [record] * (count - taken)


def test_a_state_of_a_longer_file_is_an_error(tmp_path):
    path = tmp_path / "shrunk"
    path.write_bytes(frame(b"1") + frame(b"2"))
    it = iter(ps.TFRecordDataset(path))
    next(it)
    state = it.get_state()
    path.write_bytes(b"")
    it = iter(ps.TFRecordDataset(path))
    with pytest.warns(RuntimeWarning, match=r"tf_record: file 1 .* has 0 bytes, the state has 34"):
        it.set_state(state, strict=False)
    (came,) = steps(it)
    assert came.kind == "DataError"
    assert "it is not the same file" in came.text


def test_an_error_of_a_function_names_the_place_of_its_record(tmp_path):
    path = tmp_path / "numbers"
    path.write_bytes(b"".join(frame(b"%d" % i) for i in range(9)) + frame(b"x"))
    it = iter(ps.TFRecordDataset(path).map(int))
    assert [next(it) for _ in range(9)] == list(range(9))
    with pytest.raises(ValueError, match="invalid literal") as e:
        next(it)
    assert any(f"byte {9 * 17}" in note and str(path) in note for note in e.value.__notes__)


def test_names_can_be_paths_or_a_dataset(tmp_path):
    paths = [tmp_path / "a", tmp_path / "b"]
    for path in paths:
        path.write_bytes(frame(path.name.encode()))
    assert list(ps.TFRecordDataset(paths[0])) == [b"a"]
    assert list(ps.TFRecordDataset(paths)) == [b"a", b"b"]
    files = ps.Dataset.list_files(tmp_path / "*", shuffle=False)
    assert_same(list(ps.TFRecordDataset(files, num_parallel_reads=ps.AUTOTUNE)), [b"a", b"b"])


def test_another_parallelism_of_the_reads_is_another_order_and_refused(tmp_path):
    paths = write(tmp_path, RECORDS)
    it = iter(ps.TFRecordDataset(paths, num_parallel_reads=2))
    next(it)
    next(it)
    words_of = {None: "another pipeline", 3: "cycle_length 3, the state has 2", 1: "cycle_length 1"}
    for reads, words in words_of.items():
        other = iter(ps.TFRecordDataset(paths, num_parallel_reads=reads))
        with pytest.raises(ps.StateError, match=words):
            other.set_state(it.get_state())
    with (
        pytest.warns(RuntimeWarning),
        pytest.raises(ValueError, match=r"2 inputs in turn, .* has 1"),
    ):
        other.set_state(it.get_state(), strict=False)


def test_wrong_arguments_are_refused_at_the_call():
    for names in ("a", ["a"]):
        with pytest.raises(ValueError, match=r'TFRecordDataset: compression_type.*"gz"'):
            ps.TFRecordDataset(names, compression_type="gz")
        with pytest.raises(ValueError, match="buffer_size must be >= 0 bytes, got -1"):
            ps.TFRecordDataset(names, buffer_size=-1)


def test_the_spec_is_known_without_reading():
    assert ps.TFRecordDataset(["nowhere"]).element_spec == ps.TensorSpec((), bytes)
