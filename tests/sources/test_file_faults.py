"""Disk errors and changes to files during reading: each is reported once, at its position."""

import gzip
import os
import signal
import tarfile
import threading

import pytest

import penstock as ps
from contract import steps
from penstock.sources.files import file_args, read_files
from records import COMPRESS, COMPRESSIONS, frame


def csv_records(names, compression_type=None, buffer_size=None, num_parallel_reads=None):
    """Read the records that CsvDataset decodes."""
    args = {"header": False, "field_delim": ",", "use_quote_delim": True}
    args |= file_args("CsvDataset", compression_type, buffer_size)
    return read_files("csv_record", names, args, num_parallel_reads)


def tar_samples(names, compression_type="", **arguments):
    """Read the single file of each sample."""
    return ps.TarDataset(names, "txt", compression_type=compression_type, **arguments)


def member(i):
    """Return a file of an archive, including its header."""
    info = tarfile.TarInfo(f"{i}.txt")
    info.size = 6
    return info.tobuf() + b"%06d" % i + bytes(506)


FORMATS = {
    "lines": (ps.TextLineDataset, lambda i: b"%06d\n" % i, lambda i: b"%06d" % i),
    "csv": (csv_records, lambda i: b'"%06d"\r\n' % i, lambda i: b'"%06d"' % i),
    "records": (ps.TFRecordDataset, lambda i: frame(b"%d" % i), lambda i: b"%d" % i),
    "fixed": (
        lambda names, compression_type=None, **arguments: ps.FixedLengthRecordDataset(
            names, 6, compression_type=compression_type, **arguments
        ),
        lambda i: b"%06d" % i,
        lambda i: b"%06d" % i,
    ),
    "tar": (tar_samples, member, lambda i: b"%06d" % i),
}


@pytest.fixture(params=FORMATS)
def form(request):
    return FORMATS[request.param]


# An archive has a leading header, and a sample is complete only when the next one has begun.
@pytest.fixture(params=[name for name in FORMATS if name != "tar"])
def prompt_form(request):
    return FORMATS[request.param]


def content(form, count):
    return b"".join(form[1](i) for i in range(count))


def rows(form, *span):
    return [form[2](i) for i in range(*span)]


@pytest.mark.parametrize("reads", [None, 2])
def test_files_that_cannot_be_opened_are_errors_at_their_place(tmp_path, form, reads):
    good, folder, missing = tmp_path / "good", tmp_path / "folder", tmp_path / "missing"
    good.write_bytes(content(form, 2))
    folder.mkdir()
    came = steps(iter(form[0]([folder, good, missing, good], num_parallel_reads=reads)))
    errors = [s for s in came if not isinstance(s, bytes)]
    assert [s.kind for s in errors] == ["IsADirectoryError", "FileNotFoundError"]
    assert str(folder) in errors[0].text
    assert str(missing) in errors[1].text
    assert sorted(s for s in came if isinstance(s, bytes)) == sorted(rows(form, 2) * 2)
    if reads is None:
        assert came == [errors[0], *rows(form, 2), errors[1], *rows(form, 2)]


@pytest.mark.skipif(os.geteuid() == 0, reason="root may read everything")
def test_a_file_that_may_not_be_read_is_an_error(tmp_path, form):
    path = tmp_path / "secret"
    path.write_bytes(content(form, 2))
    path.chmod(0)
    (came,) = steps(iter(form[0](path)))
    assert came.kind == "PermissionError"


def test_an_empty_file_has_no_records(tmp_path, prompt_form):
    (tmp_path / "empty").touch()
    assert steps(iter(prompt_form[0](tmp_path / "empty"))) == []


@pytest.mark.parametrize("reads", [None, 2])
def test_a_file_that_is_deleted_while_it_is_read_is_read_to_its_end(tmp_path, form, reads):
    path = tmp_path / "gone"
    path.write_bytes(content(form, 5000))
    it = iter(form[0]([path], buffer_size=0, num_parallel_reads=reads))
    next(it)
    path.unlink()
    assert list(it) == rows(form, 1, 5000)


@pytest.mark.parametrize("reads", [None, 2])
def test_a_file_that_is_cut_while_it_is_read_is_an_error(tmp_path, form, reads):
    path = tmp_path / "cut"
    path.write_bytes(content(form, 20_000))
    other = tmp_path / "other"
    other.write_bytes(content(form, 1))
    it = iter(form[0]([path, other], buffer_size=0, num_parallel_reads=reads))
    next(it)
    os.truncate(path, 0)
    came = steps(it, most=20_000)
    (error,) = (s for s in came if not isinstance(s, bytes))
    assert error.kind == "DataError"
    assert "truncated while it was read" in error.text
    assert str(path) in error.text
    assert len(came) < 15_000
    if reads is None:
        assert came[-1] == form[2](0)


@pytest.mark.parametrize("compression", COMPRESSIONS)
def test_a_compressed_file_that_is_cut_gives_what_is_whole_and_an_error(
    tmp_path, form, compression
):
    packed = COMPRESS[compression](content(form, 3000))
    path = tmp_path / "cut"
    for length in [0, 1, 5, len(packed) // 3, len(packed) - 9, len(packed) - 1]:
        path.write_bytes(packed[:length])
        *came, error = steps(iter(form[0]([path], compression)))
        assert came == rows(form, len(came))
        assert error.kind == "DataError"
        assert f"ends within its {compression} data, after {length} bytes" in error.text


@pytest.mark.parametrize("compression", COMPRESSIONS)
def test_damaged_compression_is_one_error(tmp_path, form, compression):
    packed = bytearray(COMPRESS[compression](content(form, 3000)))
    path = tmp_path / "damaged"
    other = tmp_path / "other"
    other.write_bytes(COMPRESS[compression](content(form, 1)))
    for where in range(20, len(packed), len(packed) // 20):
        damaged = bytearray(packed)
        damaged[where] ^= 0x10
        path.write_bytes(damaged)
        came = steps(iter(form[0]([path, other], compression)))
        assert came[-1] == form[2](0)
        errors = [s for s in came if not isinstance(s, bytes)]
        assert len(errors) >= 1
        assert {s.kind for s in errors} == {"DataError"}
        assert all(str(path) in s.text for s in errors)


@pytest.mark.parametrize("compression", COMPRESSIONS)
def test_the_wrong_compression_is_told_with_advice(tmp_path, form, compression):
    other = {"GZIP": "ZLIB", "ZLIB": "GZIP", "ZSTD": "GZIP"}[compression]
    path = tmp_path / "wrong"
    path.write_bytes(content(form, 10))
    (came,) = steps(iter(form[0](path, compression)))
    assert came.kind == "DataError"
    assert f"a {compression} file was expected" in came.text
    assert "leave compression_type out" in came.text
    path.write_bytes(COMPRESS[other](content(form, 10)))
    (came,) = steps(iter(form[0](path, compression)))
    assert f'try compression_type="{other}"' in came.text


def test_gzip_files_of_several_members_are_one_stream(tmp_path, prompt_form):
    data = content(prompt_form, 1000)
    parts = [data[:1], data[1:5000], b"", data[5000:]]
    packed = b"".join(map(gzip.compress, parts))
    path = tmp_path / "members"
    for padding in (b"", bytes(600)):
        path.write_bytes(packed + padding)
        for buffer_size in (0, None):
            ds = prompt_form[0](path, "GZIP", buffer_size=buffer_size)
            assert list(ds) == rows(prompt_form, 1000)
    path.write_bytes(packed + b"garbage")
    *came, error = steps(iter(prompt_form[0](path, "GZIP")))
    assert came == rows(prompt_form, 1000)
    assert f"follows the end of the GZIP data, at byte {len(packed)}" in error.text


@pytest.fixture
def pipe(tmp_path):
    path = tmp_path / "pipe"
    os.mkfifo(path)
    return path


def test_a_pipe_is_read_as_it_is_written(pipe, prompt_form):
    it = iter(prompt_form[0](pipe))
    with pipe.open("r+b", buffering=0) as keep, pipe.open("wb", buffering=0) as end:
        for i in range(0, 6, 2):
            end.write(prompt_form[1](i) + prompt_form[1](i + 1))
            assert [next(it), next(it)] == rows(prompt_form, i, i + 2)
        assert keep.readable()
    assert list(it) == []


def test_a_pipe_waits_for_its_writer(pipe, form):
    def write():
        with pipe.open("wb") as end:  # waits for the reader
            end.write(content(form, 50_000))

    writer = threading.Thread(target=write)
    writer.start()
    assert list(form[0](pipe)) == rows(form, 50_000)
    writer.join()


def test_a_pipe_cannot_be_read_from_its_middle(pipe, prompt_form):
    it = iter(prompt_form[0](pipe))
    with pipe.open("r+b", buffering=0) as end:
        end.write(content(prompt_form, 2))
        next(it)
        next(it)
        state = it.get_state()
        other = iter(prompt_form[0](pipe))
        other.set_state(state)
        with pytest.raises(ValueError, match="can only be read from its beginning on"):
            next(other)
    it.close()


class Signalled(Exception):
    pass


@pytest.mark.parametrize("reads", [None, 2])
def test_a_signal_ends_the_wait_for_a_pipe(pipe, prompt_form, reads):
    def raise_it(*_):
        raise Signalled

    before = signal.signal(signal.SIGALRM, raise_it)
    try:
        with pipe.open("r+b", buffering=0) as end:
            it = iter(prompt_form[0]([pipe], num_parallel_reads=reads))
            end.write(prompt_form[1](0))
            assert next(it) == prompt_form[2](0)
            signal.setitimer(signal.ITIMER_REAL, 0.05)
            with pytest.raises(Signalled):
                next(it)
            end.write(prompt_form[1](1))  # nothing was lost
            assert next(it) == prompt_form[2](1)
            it.close()
    finally:
        signal.signal(signal.SIGALRM, before)


@pytest.mark.parametrize("stage", [lambda ds: ds, lambda ds: ds.prefetch(1)])
def test_closing_ends_the_wait_for_a_pipe(pipe, prompt_form, stage):
    with pipe.open("r+b", buffering=0) as end:
        it = iter(stage(prompt_form[0](pipe)))
        end.write(prompt_form[1](0))
        assert next(it) == prompt_form[2](0)
        waiting = threading.Event()
        ended = []

        def wait():
            waiting.set()
            ended.append(list(it))

        thread = threading.Thread(target=wait)
        thread.start()
        waiting.wait()
        it.close()
        thread.join(60)
        assert ended == [[]]
