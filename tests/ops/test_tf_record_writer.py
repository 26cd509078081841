"""io.TFRecordWriter: files are complete, or recognisably incomplete."""

import gzip
import os
import subprocess
import sys
import zlib

import pytest

import penstock as ps
from records import COMPRESSIONS, frame, needs_zstd

RECORDS = [b"one", b"", bytes(range(256)) * 40, b"\0"]
PLAIN = b"".join(map(frame, RECORDS))


def written(path, options=None, records=RECORDS):
    with ps.io.TFRecordWriter(path, options) as writer:
        for record in records:
            writer.write(record)
    return path


def test_the_bytes_are_those_of_the_format(tmp_path):
    assert written(tmp_path / "file").read_bytes() == PLAIN


@pytest.mark.parametrize(
    ("options", "unpack"),
    [
        ("GZIP", gzip.decompress),
        ("ZLIB", zlib.decompress),
        ("", bytes),
        (ps.io.TFRecordOptions("GZIP", 9), gzip.decompress),
        (ps.io.TFRecordOptions("ZLIB", compression_level=0), zlib.decompress),
        (ps.io.TFRecordOptions(), bytes),
    ],
    ids=lambda each: getattr(each, "__name__", repr(each)),
)
def test_compression(tmp_path, options, unpack):
    path = written(tmp_path / "file", options)
    assert unpack(path.read_bytes()) == PLAIN
    kind = options if isinstance(options, str) else options.compression_type
    assert list(ps.TFRecordDataset(path, kind)) == RECORDS


@needs_zstd
@pytest.mark.parametrize("level", [None, 0, 1, 22])
def test_zstd(tmp_path, level):
    options = ps.io.TFRecordOptions("ZSTD", level)
    path = written(tmp_path / "file", options)
    assert path.read_bytes()[:4] == b"\x28\xb5\x2f\xfd"
    assert path.stat().st_size < len(PLAIN)
    assert list(ps.TFRecordDataset(path, "ZSTD")) == RECORDS


@pytest.mark.parametrize("kind", [str, lambda path: path])
def test_a_path_may_be_of_any_type(tmp_path, kind):
    assert list(ps.TFRecordDataset(written(kind(tmp_path / "ä")))) == RECORDS


@pytest.mark.parametrize("options", [None, *COMPRESSIONS])
def test_what_was_flushed_can_be_read(tmp_path, options):
    path = tmp_path / "growing"
    with ps.io.TFRecordWriter(path, options) as writer:
        for i in range(3):
            writer.write(b"%d" % i)
            writer.flush()
            it = iter(ps.TFRecordDataset(path, options))
            assert [next(it) for _ in range(i + 1)] == [b"%d" % n for n in range(i + 1)]
            if options:  # the missing end is detectable
                with pytest.raises(ps.DataError, match="not written to its end"):
                    next(it)


def test_bytes_of_other_types(tmp_path):
    path = tmp_path / "file"
    written(path, records=[bytearray(b"a" * 5000), memoryview(b"bc")])
    assert list(ps.TFRecordDataset(path)) == [b"a" * 5000, b"bc"]


@pytest.mark.parametrize("record", ["text", 1, None, [b"a"]])
def test_what_is_no_bytes_is_refused_and_nothing_written(tmp_path, record):
    with ps.io.TFRecordWriter(tmp_path / "file") as writer:
        writer.write(b"before")
        with pytest.raises(TypeError, match="TFRecordWriter: bytes were expected"):
            writer.write(record)
        writer.write(b"after")
    assert list(ps.TFRecordDataset(tmp_path / "file")) == [b"before", b"after"]


def test_a_closed_writer_refuses_more(tmp_path):
    writer = ps.io.TFRecordWriter(tmp_path / "file")
    writer.close()
    writer.close()
    assert "closed" in repr(writer)
    for use in (lambda: writer.write(b""), writer.flush):
        with pytest.raises(ValueError, match="is closed"):
            use()


def test_an_error_in_the_block_keeps_what_was_written(tmp_path):
    def fail():
        with ps.io.TFRecordWriter(tmp_path / "file") as writer:
            writer.write(b"whole")
            raise KeyError("no more")

    with pytest.raises(KeyError):
        fail()
    assert list(ps.TFRecordDataset(tmp_path / "file")) == [b"whole"]


@pytest.mark.skipif(not os.path.exists("/dev/full"), reason="no /dev/full")  # noqa: PTH110
@pytest.mark.parametrize("options", [None, "GZIP", *COMPRESSIONS[2:]])
def test_a_full_disk_is_told_at_the_end_at_the_latest(options):
    writer = ps.io.TFRecordWriter("/dev/full", options)
    writer.write(b"small")  # fits into the buffer
    with pytest.raises(OSError, match="No space left"):
        writer.close()
    writer = ps.io.TFRecordWriter("/dev/full", options)
    writer.write(b"small")
    with pytest.raises(OSError, match="No space left"):
        writer.flush()
    with pytest.raises(ValueError, match="is incomplete"):
        writer.write(b"more")
    writer.close()

    def fill():
        with ps.io.TFRecordWriter("/dev/full", options) as writer:
            while True:
                writer.write(os.urandom(100_000))

    with pytest.raises(OSError, match="No space left"):
        fill()


LIMITED = """
import resource, signal, sys
import penstock as ps
signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
resource.setrlimit(resource.RLIMIT_FSIZE, (100_000, 100_000))
count = 0
try:
    with ps.io.TFRecordWriter(sys.argv[1]) as writer:
        while True:
            writer.write(b"x" * 984)
            count += 1
except OSError as error:
    print(error.errno, count)
"""


def test_a_file_that_may_not_grow_is_an_error(tmp_path):
    command = [sys.executable, "-c", LIMITED, str(tmp_path / "file")]
    run = subprocess.run(command, capture_output=True, text=True, check=True)
    assert int(run.stdout.split()[0]) == 27  # EFBIG
    it = iter(ps.TFRecordDataset(tmp_path / "file"))
    assert [next(it) for _ in range(100)] == [b"x" * 984] * 100
    assert list(it) == []


def test_a_file_that_cannot_be_opened(tmp_path):
    with pytest.raises(FileNotFoundError):
        ps.io.TFRecordWriter(tmp_path / "nowhere" / "file")
    with pytest.raises(IsADirectoryError):
        ps.io.TFRecordWriter(tmp_path)


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ({"compression_type": "gz"}, "compression_type must be .* got 'gz'"),
        ({"compression_level": 10}, "compression_level must be 0 to 9, got 10"),
        (
            {"compression_type": "ZSTD", "compression_level": 23},
            "compression_level must be 0 to 22, got 23",
        ),
    ],
)
def test_wrong_options_are_refused(arguments, words):
    with pytest.raises(ValueError, match=words):
        ps.io.TFRecordOptions(**arguments)
