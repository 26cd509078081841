"""io.read_file: the bytes of a file, or an error that names it."""

import os

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
