"""Folders of images at URLs, and formats that fetch whole files: ArrayRecord, SQLite."""

import errno
import os
import shutil
import sqlite3
import subprocess
import sys

import numpy as np
import pytest

import penstock as ps
from compare import assert_same
from penstock.ops.call import call

pytest.importorskip("obstore")


@pytest.fixture
def pets(tmp_path):
    folder = tmp_path / "pets"
    for i, name in enumerate(["cat/1.png", "cat/a/0.PNG", "dog/3.png", ".hidden/4.png", "top.png"]):
        pixels = np.full((2, 3, 3), i, np.uint8)
        ps.io.write_file(str(folder / name), ps.io.encode_png(pixels))
    (folder / "cat" / "text.txt").touch()
    return folder


@pytest.mark.parametrize("arguments", [{}, {"labels": None}, {"class_names": ["dog", "cat"]}])
def test_a_folder_of_images_is_listed(pets, bucket, arguments):
    url, made = bucket
    for path in pets.rglob("*.*"):
        if path.is_file():
            made.put_object(Key=f"data/pets/{path.relative_to(pets)}", Body=path.read_bytes())
    made.put_object(Key="data/pets2/cat/0.png", Body=b"another folder")
    for at in (f"{url}/data/pets", f"{url}/data/pets/"):
        remote, local = (
            ps.Dataset.from_image_folder(path, (2, 3), shuffle=False, batch_size=None, **arguments)
            for path in (at, str(pets))
        )
        assert remote.class_names == local.class_names
        names = [path.removeprefix(f"{url}/data/pets/") for path in remote.file_paths]
        assert names == [os.path.relpath(path, pets) for path in local.file_paths]
        assert_same(list(remote), list(local))


def test_a_folder_without_images_is_an_error(bucket):
    with pytest.raises(ValueError, match=r"images were expected in s3://.*/nothing, got no files"):
        ps.Dataset.from_image_folder(f"{bucket[0]}/nothing", labels=None)


def test_a_web_server_has_no_folders(server):
    with pytest.raises((OSError, ValueError), match=f"{server.url}/pets"):
        ps.Dataset.from_image_folder(f"{server.url}/pets")


def test_array_records_are_fetched(server, tmp_path):
    module = pytest.importorskip("array_record.python.array_record_module")
    path = tmp_path / "a"
    writer = module.ArrayRecordWriter(str(path), "group_size:1")
    for i in range(9):
        writer.write(b"%d" % i)
    writer.close()
    server.files = {"a": path.read_bytes(), "cut": path.read_bytes()[:-10]}
    url = f"{server.url}/a"
    ds = ps.ArrayRecordDataset([url, str(path)])
    assert list(ds) == [b"%d" % (i % 9) for i in range(18)]
    count = len(server.asked)
    assert ps.ArrayRecordDataset(url)[3] == b"3"
    assert len(server.asked) == count  # fetched only once
    with pytest.raises(ps.DataError, match=f"no complete ArrayRecord file.*{server.url}/cut"):
        ps.ArrayRecordDataset(f"{server.url}/cut")
    with pytest.raises(FileNotFoundError, match="none"):
        ps.ArrayRecordDataset(f"{server.url}/none")


def test_a_database_is_fetched(server, tmp_path):
    with sqlite3.connect(tmp_path / "a.db") as database:
        database.execute("CREATE TABLE t (x INTEGER)")
        database.execute("INSERT INTO t VALUES (3), (7)")
    database.close()
    server.files = {"a.db": (tmp_path / "a.db").read_bytes()}
    query = ("sqlite", f"{server.url}/a.db", "SELECT x FROM t ORDER BY x", np.int64)
    ds = ps.experimental.SqlDataset(*query)
    assert list(ds) == list(ds) == [3, 7]


FETCHES = """
import sys, tempfile
import penstock as ps
tempfile.tempdir = sys.argv[2]
query = ("sqlite", sys.argv[1], "SELECT 1", int)
print(len(list(ps.experimental.SqlDataset(*query))))
"""


def test_copies_go_with_the_process(server, tmp_path):
    sqlite3.connect(tmp_path / "a.db").close()
    server.files = {"a.db": (tmp_path / "a.db").read_bytes()}
    folder = tmp_path / "temporary"
    folder.mkdir()
    command = [sys.executable, "-c", FETCHES, f"{server.url}/a.db", str(folder)]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    assert done.stdout == "1\n"
    assert list(folder.iterdir()) == []


def test_a_copy_for_which_there_is_no_room_is_an_error(tmp_path):
    large = tmp_path / "large"
    large.touch()
    os.truncate(large, shutil.disk_usage(tmp_path).free + 2**30)
    with pytest.raises(
        OSError, match=r"it has \d+ bytes, and .* has room for \d+.*TMPDIR"
    ) as raised:
        call("io.copy_file", [str(large), str(tmp_path / "copy")])
    assert raised.value.errno == errno.ENOSPC
    assert not (tmp_path / "copy").exists()
