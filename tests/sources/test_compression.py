"""Compressed files: detection, zstd frames, and limits on the decompressed size."""

import bz2
import lzma
import re
import subprocess
import sys

import pytest

import penstock as ps
from compare import assert_same
from contract import DatasetContract, Failure, steps
from records import COMPRESS, COMPRESSIONS, frame, needs_zstd, zstd
from sources.test_file_faults import FORMATS

LINES = [b"%06d" % i for i in range(3000)]
TEXT = b"".join(line + b"\n" for line in LINES)
LZ4 = bytes.fromhex("04224d18")
FOREIGN = {"bzip2": (bz2.compress, ".bz2"), "xz": (lzma.compress, ".xz")}
FOREIGN["LZ4"] = (lambda data: LZ4 + data, ".lz4")
OURS = {name: (COMPRESS[name], {"GZIP": ".gz", "ZSTD": ".zst"}.get(name)) for name in COMPRESSIONS}
OURS.pop("ZLIB")  # its magic bytes are two letters of text
SEEN = OURS | FOREIGN


@pytest.mark.parametrize("name", SEEN)
@pytest.mark.parametrize("form", FORMATS.values(), ids=FORMATS)
def test_a_compressed_file_is_told_in_every_format(tmp_path, form, name):
    compress, suffix = SEEN[name]
    path = tmp_path / f"data{suffix}"
    path.write_bytes(compress(b"".join(form[1](i) for i in range(600))))
    other = tmp_path / "other"
    other.write_bytes(form[1](7))
    (error, after) = steps(iter(form[0]([path, other])))
    assert error.kind == "DataError"
    advice = f'try compression_type="{name}"' if name in COMPRESSIONS else "decompress it first"
    assert f"it begins as {name} does" in error.text
    assert advice in error.text
    assert str(path) in error.text
    assert after == form[2](7)


@pytest.mark.parametrize("name", FOREIGN)
@pytest.mark.parametrize("wanted", COMPRESSIONS)
def test_another_compression_is_told(tmp_path, name, wanted):
    path = tmp_path / "data"
    path.write_bytes(FOREIGN[name][0](TEXT))
    (error,) = steps(iter(ps.TextLineDataset(path, wanted)))
    assert f"a {wanted} file was expected" in error.text
    assert f"it begins as {name} does" in error.text


TEXTS = [
    b"BZ",
    b"BZh\n",
    b"BZh9 is no magic\n",
    b"(",
    b"(x)\n",
    b"P*",
    b"\xfd7z",
    b"x\x9cy\n",
    b"\x1f",
]


@pytest.mark.parametrize("text", TEXTS)
def test_a_text_may_begin_nearly_so(tmp_path, text):
    path = tmp_path / "text"
    path.write_bytes(text)
    assert list(ps.TextLineDataset(path)) == [text.strip()]


def test_fixed_length_records_may_begin_with_any_bytes(tmp_path):
    for compress, _ in SEEN.values():
        packed = compress(TEXT)[:40]
        (tmp_path / "data").write_bytes(packed)
        came = list(ps.FixedLengthRecordDataset(tmp_path / "data", 10))
        assert came == [packed[i : i + 10] for i in range(0, 40, 10)]


def test_the_length_of_a_first_record_may_look_like_a_compressed_file(tmp_path):
    record = bytes(int.from_bytes(b"\x1f\x8b\x08", "little"))
    with ps.io.TFRecordWriter(tmp_path / "data") as writer:
        writer.write(record)
    assert (tmp_path / "data").read_bytes()[:3] == b"\x1f\x8b\x08"
    assert list(ps.TFRecordDataset(tmp_path / "data")) == [record]


# Made by the zstd tool, version 1.5.4: `printf 'one\ntwo\n' | zstd -19`.
GOLDEN = bytes.fromhex("28b52ffd2408410000" + "6f6e650a74776f0a" + "e6a60e40")
SKIPPABLE = b"\x5a\x2a\x4d\x18" + (4).to_bytes(4, "little") + b"note"


@needs_zstd
@pytest.mark.parametrize("buffer_size", [0, None])
@pytest.mark.parametrize(
    "parts",
    [
        [TEXT],
        [TEXT[:5000], b"", TEXT[5000:]],
        [TEXT[:1], TEXT[1:]],
    ],
)
def test_frames_of_zstd_are_one_stream(tmp_path, parts, buffer_size):
    path = tmp_path / "data.zst"
    packed = SKIPPABLE + b"".join(zstd(part) + SKIPPABLE for part in parts)
    path.write_bytes(packed)
    assert list(ps.TextLineDataset(path, "ZSTD", buffer_size)) == LINES
    path.write_bytes(packed + b"garbage")
    *came, error = steps(iter(ps.TextLineDataset(path, "ZSTD", buffer_size)))
    assert came == LINES
    assert f"follows the end of the ZSTD data, at byte {len(packed)}" in error.text


@needs_zstd
def test_frames_of_the_zstd_tool(tmp_path):
    path = tmp_path / "data.zst"
    path.write_bytes(GOLDEN * 3)
    assert list(ps.TextLineDataset(path, "ZSTD")) == [b"one", b"two"] * 3
    path.write_bytes(SKIPPABLE + GOLDEN)  # the beginning of a pzstd file
    (error,) = steps(iter(ps.TextLineDataset(path)))
    assert 'try compression_type="ZSTD"' in error.text
    path.write_bytes(GOLDEN[:-1] + b"\0")  # the checksum
    *_, error = steps(iter(ps.TextLineDataset(path, "ZSTD")))
    assert "the ZSTD data is damaged" in error.text


@needs_zstd
@pytest.mark.parametrize("version", [2, 3, 4, 5, 6, 7])
@pytest.mark.parametrize("buffer_size", [0, 1, 3, None])
def test_frames_from_before_zstd_0_8_are_refused(tmp_path, version, buffer_size):
    path = tmp_path / "data.zst"
    old = bytes([0x20 + version]) + GOLDEN[1:]
    path.write_bytes(old)
    (error,) = steps(iter(ps.TextLineDataset(path, "ZSTD", buffer_size)))
    assert error.kind == "DataError"
    path.write_bytes(GOLDEN + old)
    *came, error = steps(iter(ps.TextLineDataset(path, "ZSTD", buffer_size)))
    assert came == [b"one", b"two"]
    assert error.kind == "DataError"


@needs_zstd
@pytest.mark.parametrize("buffer_size", [0, 1, 7, 20, 1000, None])
def test_what_comes_before_the_damage_of_zstd_does_not_depend_on_the_reads(tmp_path, buffer_size):
    path = tmp_path / "data.zst"
    path.write_bytes(GOLDEN + GOLDEN[:-1] + b"\0")  # the checksum
    *came, error = steps(iter(ps.TextLineDataset(path, "ZSTD", buffer_size)))
    assert came == [b"one", b"two"] * 2
    assert error.kind == "DataError"


@needs_zstd
def test_a_block_that_the_input_ends_with_is_given_whole(tmp_path):
    # Nothing follows the last block of a frame without a checksum. It decompresses to 128 KiB, and
    # is read in small parts.
    frame_of_zeros = bytes.fromhex("28b52ffda0000002000300106f")  # 128 KiB of "o", run length
    path = tmp_path / "data.zst"
    path.write_bytes(frame_of_zeros)
    ds = ps.FixedLengthRecordDataset(path, 1024, compression_type="ZSTD", buffer_size=1024)
    assert list(ds) == [b"o" * 1024] * 128


@needs_zstd
def test_a_window_of_zstd_that_is_too_large_is_refused(tmp_path):
    path = tmp_path / "data.zst"
    # A frame of `zstd --long=31`: its window is 2 GiB.
    path.write_bytes(bytes.fromhex("28b52ffd04a8" + "09000061" + "00000000"))
    (error,) = steps(iter(ps.TextLineDataset(path, "ZSTD")))
    assert error.kind == "DataError"
    assert "its window is larger than 128 MiB" in error.text


@needs_zstd
class TestZstd(DatasetContract):
    @pytest.fixture(autouse=True)
    def _files(self, tmp_path_factory):
        type(self).path = str(tmp_path_factory.mktemp("zstd") / "lines.zst")
        with open(self.path, "wb") as file:  # noqa: PTH123
            file.write(zstd(TEXT[:21]) + zstd(TEXT[21:70]))

    @classmethod
    def build(cls):
        return ps.TextLineDataset(cls.path, "ZSTD", buffer_size=1)

    expected = LINES[:10]


@pytest.mark.parametrize("compression", [None, *COMPRESSIONS])
@pytest.mark.parametrize("end", [b"\n", b"\r\n"])
@pytest.mark.parametrize("buffer_size", [None, 0])
def test_lines_up_to_max_record_bytes(tmp_path, compression, end, buffer_size):
    path = tmp_path / "lines"
    most = 10_000
    for lines in ([b"a", b"b" * most, b"c"], [b"a", b"b" * most]):
        path.write_bytes(COMPRESS[compression](end.join(lines)))
        read = {"buffer_size": buffer_size, "max_record_bytes": most}
        assert list(ps.TextLineDataset(path, compression, **read)) == lines
        read["max_record_bytes"] -= 1
        *came, error = steps(iter(ps.TextLineDataset([path], compression, **read)))
        assert came == [b"a"]
        assert "is longer than max_record_bytes, which is 9999" in error.text
        assert "record 1: " in error.text


def test_what_is_too_long_may_be_anywhere_in_a_window(tmp_path):
    path, other = tmp_path / "lines", tmp_path / "other"
    other.write_bytes(b"end\n")
    for place in (0, 1, 63, 64, 65, 199):
        lines = [b"x" * 5] * 200
        lines[place] = b"y" * 9
        path.write_bytes(b"\n".join(lines))
        came = steps(iter(ps.TextLineDataset([path, other], max_record_bytes=8)))
        assert came[:place] == lines[:place]
        assert f"record {place}: a record of 9 bytes" in came[place].text
        assert came[place + 1 :] == [b"end"]


@pytest.mark.parametrize("compression", [None, *COMPRESSIONS])
def test_records_up_to_max_record_bytes(tmp_path, compression):
    path = tmp_path / "records"
    path.write_bytes(COMPRESS[compression](b"".join(map(frame, [b"a", b"b" * 9, b"c"]))))
    assert len(list(ps.TFRecordDataset(path, compression, max_record_bytes=9))) == 3
    came = steps(iter(ps.TFRecordDataset([path], compression, max_record_bytes=8)))
    assert came[0] == b"a"
    assert "a record of 9 bytes is longer than max_record_bytes, which is 8" in came[1].text
    assert len(came) == 2


def test_csv_records_up_to_max_record_bytes(tmp_path):
    path = tmp_path / "data.csv"
    path.write_bytes(b'name\n"' + b"x\n" * 6000 + b'"\nb\n')

    def read(most):
        return steps(
            iter(ps.experimental.CsvDataset(path, [""], header=True, max_record_bytes=most))
        )

    assert_same(read(12002), [("x\n" * 6000,), ("b",)])
    (error,) = read(12001)
    assert "is longer than max_record_bytes, which is 12001" in error.text
    batches = ps.experimental.make_csv_dataset(
        str(path), 1, column_defaults=[""], num_epochs=1, shuffle=False, max_record_bytes=100
    )
    (error,) = steps(iter(batches))
    assert isinstance(error, Failure)
    assert "max_record_bytes" in error.text


@pytest.mark.parametrize(
    ("most", "error"), [(0, ValueError), (-1, ValueError), ("1", TypeError), (1.5, TypeError)]
)
def test_max_record_bytes_is_checked(most, error):
    for reader in (ps.TextLineDataset, ps.TFRecordDataset):
        for names in ("a", ["a"]):
            with pytest.raises(error, match="max_record_bytes"):
                reader(names, max_record_bytes=most)


BOMB = """
import resource, sys
import penstock as ps
resource.setrlimit(resource.RLIMIT_AS, (2_000_000_000, 2_000_000_000))
for reader in (ps.TextLineDataset, ps.TFRecordDataset):
    try:
        list(reader(sys.argv[1], sys.argv[2], max_record_bytes=50_000_000))
    except ps.DataError as error:
        print(error)
# Not ru_maxrss: a process that is started again keeps that of the process that forked it.
status = open("/proc/self/status").read()
print(status.partition("VmHWM:")[2].split()[0])
"""


@pytest.mark.slow
@pytest.mark.skipif(sys.platform != "linux", reason="limits of Linux")
@pytest.mark.parametrize("compression", [name for name in COMPRESSIONS if name != "ZLIB"])
def test_a_small_file_takes_no_more_than_the_limit(tmp_path, compression):
    path = tmp_path / "bomb"
    one = COMPRESS[compression](b"a" * 30_000_000)
    path.write_bytes(one * 20)
    run = subprocess.run(
        [sys.executable, "-c", BOMB, str(path), compression],
        capture_output=True,
        text=True,
        check=True,
    )
    lines, records, kilobytes = run.stdout.splitlines()
    assert "is longer than max_record_bytes, which is 50000000" in lines
    assert "checksum" in records
    assert int(kilobytes) < 400_000


@needs_zstd
def test_zstd_in_other_readers(tmp_path):
    path = tmp_path / "data.csv.zst"
    path.write_bytes(zstd(b"x,y\n1,2.5\n3,4.5\n"))
    ex = ps.experimental
    read = {"num_epochs": 1, "shuffle": False}
    (batch,) = ex.make_csv_dataset(str(path), 2, compression_type="ZSTD", **read)
    assert {name: column.tolist() for name, column in batch.items()} == {
        "x": [1, 3],
        "y": [2.5, 4.5],
    }
    assert len(list(ex.CsvDataset(path, [0, 0.0], "ZSTD", header=True))) == 2
    path = tmp_path / "examples.zst"
    with ps.io.TFRecordWriter(path, "ZSTD") as writer:
        for i in range(4):
            writer.write(ps.io.make_example({"i": i}))
    features = {"i": ps.io.FixedLenFeature([], "int64")}
    (batch,) = ex.make_batched_features_dataset(
        str(path), 4, features, reader_args=["ZSTD"], **read
    )
    assert batch["i"].tolist() == [0, 1, 2, 3]
    ex.TFRecordWriter(str(path), "ZSTD").write(ps.Dataset.from_tensor_slices([b"one", b"two"]))
    names = ps.Dataset.from_tensor_slices([str(path)])
    read = ps.native(lambda name: ps.TFRecordDataset(name, "ZSTD"))
    assert list(names.flat_map(read)) == [b"one", b"two"]


def test_the_error_for_another_name_lists_those_that_there_are():
    words = re.escape('compression_type must be None, "", "GZIP", "ZLIB" or "ZSTD", got "BZ2"')
    with pytest.raises(ValueError, match=words):
        ps.TextLineDataset("a", "BZ2")


def test_names_of_compressions_may_be_in_lower_case(tmp_path):
    path = str(tmp_path / "a.tfrecord")
    with ps.io.TFRecordWriter(path, ps.io.TFRecordOptions("gzip")) as writer:
        writer.write(b"x")
    assert list(ps.TFRecordDataset(path, compression_type="gzip")) == [b"x"]
    assert list(ps.TFRecordDataset(path, "Gzip")) == [b"x"]
    ds = ps.Dataset.from_tensor_slices([b"x"])
    ds.save(str(tmp_path / "saved"), compression="gzip")
    assert list(ps.Dataset.load(str(tmp_path / "saved"))) == [b"x"]
    assert list(ds.snapshot(str(tmp_path / "kept"), compression="gzip")) == [b"x"]
    (name,) = ds.write_tfrecords(str(tmp_path / "out"), compression="gzip")
    assert list(ps.TFRecordDataset(name, "GZIP")) == [b"x"]
    (name,) = ds.write_tfrecords(str(tmp_path / "zlib"), compression="zlib")
    assert list(ps.TFRecordDataset(name, "ZLIB")) == [b"x"]
