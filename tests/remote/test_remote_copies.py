"""Local copies of remote files: reused, shared, limited in size, and safe against kills."""

import os
import random
import signal
import subprocess
import sys
from pathlib import Path

import pytest

import penstock as ps
from penstock import _core
from penstock.remote import service

pytest.importorskip("obstore")

MANY = random.Random(3).randbytes(9 << 20)


@pytest.fixture
def kept(tmp_path):
    """Return the folder of copies."""
    folder = tmp_path / "copies"
    ps.remote.configure(cache_dir=folder)
    return folder


def complete(folder):
    return sorted(path for path in folder.glob("*.copy"))


def wait_until_kept(server, folder, count):
    for _ in range(100):
        if len(complete(folder)) >= count and not list(folder.glob("*.part")):
            return
        server.wait_until_quiet()
    raise AssertionError(list(folder.iterdir()))


def read(url):
    return b"".join(ps.FixedLengthRecordDataset(url, 1 << 16))


def test_the_second_epoch_asks_for_nothing(server, kept):
    server.files = {"many": MANY, "small": MANY[: 1 << 16]}
    many, small = server.urls()
    assert (read(many), read(small)) == (MANY, MANY[: 1 << 16])
    wait_until_kept(server, kept, 2)
    asked = len(server.asked)
    assert (read(many), read(small)) == (MANY, MANY[: 1 << 16])
    assert ps.io.read_file(many) == MANY
    assert len(server.asked) == asked


def in_another_process(folder, url):
    code = (
        "import hashlib, sys, penstock as ps\n"
        f"ps.remote.configure(cache_dir={str(folder)!r})\n"
        f"print(hashlib.md5(ps.io.read_file({url!r})).hexdigest())"
    )
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, check=True, text=True)
    return run.stdout.strip()


def test_another_process_asks_once_whether_the_file_is_the_same(server, kept):
    server.files = {"many": MANY}
    url = server.urls()[0]
    assert read(url) == MANY
    wait_until_kept(server, kept, 1)
    server.asked.clear()
    digest = in_another_process(kept, url)
    assert [asked.method for asked in server.asked] == ["HEAD"]
    server.files = {"many": MANY[::-1]}
    assert in_another_process(kept, url) != digest
    assert len(complete(kept)) == 2


def test_the_least_used_is_removed(server, tmp_path):
    folder = tmp_path / "copies"
    ps.remote.configure(cache_dir=folder, cache_bytes=250_000)
    server.files = {name: name.encode() * 100_000 for name in "abc"}
    a, b, c = server.urls()
    for url in (a, b):
        ps.io.read_file(url)
    wait_until_kept(server, folder, 2)
    for at, path in enumerate(complete(folder)):
        os.utime(path, (at, at))
    before = complete(folder)
    ps.io.read_file(a)  # a use makes the copy the most recent
    ps.io.read_file(c)
    while complete(folder) == before:
        server.wait_until_quiet()
    wait_until_kept(server, folder, 2)
    assert sum(path.stat().st_size for path in folder.iterdir()) <= 250_000
    server.asked.clear()
    assert ps.io.read_file(a) == b"a" * 100_000
    assert server.asked == []
    assert ps.io.read_file(b) == b"b" * 100_000
    assert [asked.path for asked in server.asked] == ["b"]


def test_a_file_that_is_larger_than_all_copies_may_be_is_not_kept(server, tmp_path):
    folder = tmp_path / "copies"
    ps.remote.configure(cache_dir=folder, cache_bytes=1000)
    server.files = {"many": MANY}
    assert read(server.urls()[0]) == MANY
    assert list(folder.iterdir()) == []


def test_a_copy_that_is_gone_is_made_again(server, kept):
    server.files = {"many": MANY}
    url = server.urls()[0]
    for _ in range(2):
        assert read(url) == MANY
        wait_until_kept(server, kept, 1)
        complete(kept)[0].unlink()


def overwritten(path, at, count=8):
    """Change some bytes of a file, but not its size."""
    with path.open("r+b") as file:
        file.seek(at)
        before = file.read(count)
        file.seek(at)
        file.write(bytes(byte ^ 0x55 for byte in before))


def cut(path, size):
    with path.open("r+b") as file:
        file.truncate(size)


def sums_of(path):
    return Path(_core.sums_of_copy(str(path)))


DAMAGES = {
    "first bytes": lambda copy: overwritten(copy, 0),
    "in the middle": lambda copy: overwritten(copy, 5_000_000),
    "at the edge of a block": lambda copy: overwritten(copy, (64 << 10) - 4),
    "one byte": lambda copy: overwritten(copy, 70_000, 1),
    "last bytes": lambda copy: overwritten(copy, len(MANY) - 8),
    "cut": lambda copy: cut(copy, len(MANY) - 1),
    "cut at a block": lambda copy: cut(copy, 1 << 20),
    "emptied": lambda copy: cut(copy, 0),
    "longer": lambda copy: cut(copy, len(MANY) + 8),
    "another file": lambda copy: copy.write_bytes(MANY[::-1]),
    "checksums": lambda copy: overwritten(sums_of(copy), 40),
    "size in the checksums": lambda copy: overwritten(sums_of(copy), 16),
    "checksums cut": lambda copy: cut(sums_of(copy), 100),
    "checksums gone": lambda copy: sums_of(copy).unlink(),
}


@pytest.mark.parametrize("how", DAMAGES)
def test_a_damaged_copy_is_fetched_again(server, kept, how, caplog):
    server.files = {"many": MANY}
    url = server.urls()[0]
    assert read(url) == MANY
    wait_until_kept(server, kept, 1)
    (copy,) = complete(kept)
    DAMAGES[how](copy)
    server.asked.clear()
    assert read(url) == MANY
    assert server.asked
    assert f"the copy of {url} in {kept} was damaged" in caplog.text
    assert read(url) == MANY
    wait_until_kept(server, kept, 1)
    asked = len(server.asked)
    assert read(url) == MANY
    assert len(server.asked) == asked
    assert complete(kept) == [copy]
    assert copy.read_bytes() == MANY


def test_a_damaged_copy_is_detected_by_another_process(server, kept):
    server.files = {"many": MANY}
    url = server.urls()[0]
    assert read(url) == MANY
    wait_until_kept(server, kept, 1)
    digest = in_another_process(kept, url)
    overwritten(complete(kept)[0], 3_000_000)
    assert in_another_process(kept, url) == digest


def test_a_copy_that_is_damaged_while_it_is_read(server, kept, caplog):
    server.files = {"many": MANY}
    url = server.urls()[0]
    assert read(url) == MANY
    wait_until_kept(server, kept, 1)
    it = iter(ps.FixedLengthRecordDataset(url, 1 << 16))
    first = next(it)
    overwritten(complete(kept)[0], len(MANY) - 100)
    assert b"".join([first, *it]) == MANY
    assert "was damaged" in caplog.text


def test_a_copy_that_is_replaced_while_it_is_read(server, kept):
    server.files = {"many": MANY}
    url = server.urls()[0]
    assert read(url) == MANY
    wait_until_kept(server, kept, 1)
    it = iter(ps.FixedLengthRecordDataset(url, 1 << 16))
    first = next(it)
    other = kept / "other"
    other.write_bytes(MANY[::-1])
    other.replace(complete(kept)[0])
    assert b"".join([first, *it]) == MANY


def test_records_that_are_read_at_random_are_verified(server, kept, tmp_path, caplog):
    name = tmp_path / "x.tfrecord"
    records = [random.Random(i).randbytes(1000 + 37 * i) for i in range(400)]
    with ps.io.TFRecordWriter(str(name)) as writer:
        for record in records:
            writer.write(record)
    server.files = {"x.tfrecord": name.read_bytes()}
    url = server.urls()[0]
    assert list(ps.TFRecordDataset(url)) == records
    wait_until_kept(server, kept, 1)
    overwritten(complete(kept)[0], len(name.read_bytes()) // 2)
    assert list(ps.TFRecordDataset(url).skip(150)) == records[150:]
    assert "was damaged" in caplog.text
    assert sorted(ps.TFRecordDataset(url).shuffle(400)) == sorted(records)


def test_a_damaged_copy_that_cannot_be_removed_is_not_read(server, kept, monkeypatch, caplog):
    server.files = {"many": MANY}
    url = server.urls()[0]
    assert read(url) == MANY
    wait_until_kept(server, kept, 1)
    (copy,) = complete(kept)
    monkeypatch.setattr("penstock.remote.copies._remove", lambda path: None)
    cut(copy, 100)
    assert read(url) == MANY
    assert "was damaged" in caplog.text


def test_a_file_without_a_tag_is_not_kept(server, kept):
    server.files = {"many": MANY}
    server.tagged, server.modified = False, ""
    assert read(server.urls()[0]) == MANY
    assert not kept.exists() or list(kept.iterdir()) == []


def test_what_a_killed_process_has_left_is_removed(server, kept):
    server.files = {"many": MANY}
    server.latency = 0.2
    url = server.urls()[0]
    code = (
        "import penstock as ps\n"
        f"ps.remote.configure(cache_dir={str(kept)!r})\n"
        f"it = iter(ps.FixedLengthRecordDataset({url!r}, 1 << 16))\n"
        "next(it)\nprint('read', flush=True)\ninput()"
    )
    with subprocess.Popen(
        [sys.executable, "-c", code], stdin=subprocess.PIPE, stdout=subprocess.PIPE
    ) as child:
        assert child.stdout.readline() == b"read\n"
        while not list(kept.glob("*.part")):
            server.wait_until_quiet()
        child.send_signal(signal.SIGKILL)
    assert complete(kept) == []
    assert len(list(kept.glob("*.part"))) == 1
    server.latency = 0
    assert in_another_process(kept, url)
    assert list(kept.glob("*.part")) == []
    assert read(url) == MANY


def test_two_writers_keep_one_whole_file(server, kept):
    server.files = {"many": MANY}
    url = server.urls()[0]
    code = (
        "import penstock as ps\n"
        f"ps.remote.configure(cache_dir={str(kept)!r})\n"
        f"ps.io.read_file({url!r})"
    )
    children = [subprocess.Popen([sys.executable, "-c", code]) for _ in range(2)]
    assert [child.wait(60) for child in children] == [0, 0]
    assert [path.read_bytes() for path in complete(kept)] in ([], [MANY])


def test_a_folder_that_cannot_be_written_costs_a_warning(server, tmp_path):
    (tmp_path / "file").touch()
    ps.remote.configure(cache_dir=tmp_path / "file" / "copies")
    server.files = {"many": MANY}
    with pytest.warns(RuntimeWarning, match="cannot be kept"):
        assert ps.io.read_file(server.urls()[0]) == MANY


def test_faults_leave_whole_copies(server, kept):
    server.files = {"many": MANY}
    server.faults = dict.fromkeys(("reset", "short", "closed", "whole"), 0.1)
    url = server.urls()[0]
    for _ in range(5):
        assert read(url) == MANY
        for path in complete(kept):
            assert path.read_bytes() == MANY
            path.unlink()
    assert service.start() is service.start()
