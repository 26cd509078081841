"""File operations: whole files, or an error that names the file."""

import errno
import os
import signal
import stat

import pytest

import penstock as ps


@pytest.mark.parametrize("size", [0, 1, 4095, 4096, 1_000_003])
def test_a_file_is_read_whole(tmp_path, size):
    content = os.urandom(size)
    (tmp_path / "file").write_bytes(content)
    assert ps.io.read_file(str(tmp_path / "file")) == content


@pytest.mark.parametrize(
    "kind", [str, os.fsencode, lambda path: path], ids=["str", "bytes", "Path"]
)
def test_a_path_may_be_of_any_type(tmp_path, kind):
    path = tmp_path / "naïve ☃.txt"
    path.write_bytes(b"\0snow\xff")
    assert ps.io.read_file(kind(path)) == b"\0snow\xff"


def test_a_name_that_is_not_utf8_works(tmp_path):
    path = os.fsencode(tmp_path) + b"/\xff\xfe"
    with open(path, "wb") as file:  # noqa: PTH123 - pathlib has no bytes
        file.write(b"content")
    assert ps.io.read_file(os.fsdecode(path)) == b"content"


def test_a_file_that_tells_no_size_is_read_whole():
    assert ps.io.read_file("/proc/self/status").startswith(b"Name:")


def test_a_missing_file_is_named(tmp_path):
    with pytest.raises(FileNotFoundError, match=r"missing\.txt"):
        ps.io.read_file(tmp_path / "missing.txt")


def test_a_folder_is_refused(tmp_path):
    with pytest.raises(IsADirectoryError, match="a file was expected"):
        ps.io.read_file(tmp_path)


@pytest.mark.skipif(os.geteuid() == 0, reason="root may read everything")
def test_a_file_without_permission_is_named(tmp_path):
    (tmp_path / "secret").touch(mode=0)
    with pytest.raises(PermissionError, match="secret"):
        ps.io.read_file(tmp_path / "secret")


@pytest.mark.parametrize("path", ["", b"", "a\0b"])
def test_a_path_that_cannot_be_one_is_refused(path):
    with pytest.raises(ValueError, match="read_file: filename must be a path"):
        ps.io.read_file(path)


def test_a_number_is_no_path():
    with pytest.raises(TypeError):
        ps.io.read_file(3)


def test_the_wait_for_a_pipe_ends_with_a_signal(tmp_path):
    class Signalled(Exception):
        pass

    def raise_it(*_):
        raise Signalled

    os.mkfifo(tmp_path / "pipe")
    before = signal.signal(signal.SIGALRM, raise_it)
    try:
        signal.setitimer(signal.ITIMER_REAL, 0.05)
        with pytest.raises(Signalled):
            ps.io.read_file(tmp_path / "pipe")
    finally:
        signal.signal(signal.SIGALRM, before)


def test_a_file_is_written_with_its_folders(tmp_path):
    path = tmp_path / "a" / "b" / "file"
    ps.io.write_file(path, b"\0one")
    assert path.read_bytes() == b"\0one"
    ps.io.write_file(os.fsencode(path), "zwölf")
    assert path.read_text(encoding="utf-8") == "zwölf"
    assert os.listdir(path.parent) == ["file"]  # noqa: PTH208


def test_a_written_file_keeps_its_mode_and_its_link(tmp_path):
    path, link = tmp_path / "file", tmp_path / "link"
    ps.io.write_file(path, b"1")
    (tmp_path / "other").write_bytes(b"")
    assert path.stat().st_mode == (tmp_path / "other").stat().st_mode
    path.chmod(0o640)
    link.symlink_to("file")
    ps.io.write_file(link, b"2")
    assert link.is_symlink()
    assert path.read_bytes() == b"2"
    assert path.stat().st_mode & 0o777 == 0o640


def test_a_full_disk_leaves_the_old_file(tmp_path, monkeypatch):
    path = tmp_path / "file"
    path.write_bytes(b"old")

    def full(*_):
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(os, "fdopen", full)
    with pytest.raises(OSError, match="No space"):
        ps.io.write_file(path, b"new")
    assert path.read_bytes() == b"old"
    assert os.listdir(tmp_path) == ["file"]  # noqa: PTH208


def test_writing_to_what_is_no_file(tmp_path):
    with pytest.raises(OSError, match="No space left"):
        ps.io.write_file("/dev/full", b"x")
    assert stat.S_ISCHR(os.stat("/dev/full").st_mode)  # noqa: PTH116
    with pytest.raises(IsADirectoryError):
        ps.io.write_file(tmp_path, b"x")
    with pytest.raises(TypeError, match="contents must be bytes or str, got int"):
        ps.io.write_file(tmp_path / "a", 3)


def test_matching_files_are_sorted(tmp_path):
    for name in ("b.txt", "a.txt", "c.csv", ".hidden.txt"):
        (tmp_path / name).touch()
    found = ps.io.matching_files(tmp_path / "*.txt")
    assert found.dtype == object
    assert found.tolist() == [str(tmp_path / "a.txt"), str(tmp_path / "b.txt")]
    found = ps.io.matching_files([str(tmp_path / "c*"), tmp_path / "a.*"])
    assert found.tolist() == [str(tmp_path / "a.txt"), str(tmp_path / "c.csv")]
    assert ps.io.matching_files(str(tmp_path / "none*")).shape == (0,)
    assert list(ps.TextLineDataset(found)) == []
