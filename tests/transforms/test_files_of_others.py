"""save, cache and snapshot remove and replace only files that they have written themselves."""

import os
import signal
import subprocess
import sys
import tempfile
from pathlib import Path

import pytest

import penstock as ps
from compare import assert_same

COUNT = 5


def save(path, ds):
    ds.save(path)


def cache(path, ds):
    assert len(list(ds.cache(path))) == COUNT


def snapshot(path, ds):
    assert len(list(ds.snapshot(path))) == COUNT


KEEP = {"save": save, "cache": cache, "snapshot": snapshot}


def source():
    return ps.Dataset.range(COUNT).map(lambda x: x + 1)


def place_of(how, tmp_path):
    """Return the stage's argument, and the name next to which its temporary files are written."""
    path = tmp_path / "data"
    if how != "snapshot":
        return path, path
    with tempfile.TemporaryDirectory() as other:
        snapshot(other, source())
        return path, path / next(Path(other).iterdir()).name


@pytest.mark.parametrize("how", KEEP)
@pytest.mark.parametrize(
    "end", ["backup", "", "1-2-3", "12-ab-0", "1-2", "1-2-3-old", "1-2-3-new", "1-2-x"]
)
@pytest.mark.parametrize("what", ["folder", "file", "deep", "empty link", "pipe"])
def test_what_others_have_beside_it_stays(tmp_path, how, end, what):
    path, beside = place_of(how, tmp_path)
    other = beside.with_name(f"{beside.name}.tmp-{end}")
    other.parent.mkdir(exist_ok=True, parents=True)
    if what == "folder":
        other.mkdir()
        (other / "thesis.txt").write_text("all of it")
        (other / "shard-00000.rows").write_text("mine")
    elif what == "deep":
        (other / "penstock-dataset.txt").mkdir(parents=True)
    elif what == "file":
        other.write_text("all of it")
    elif what == "pipe":
        os.mkfifo(other)
    else:
        (tmp_path / "empty").mkdir()
        other.symlink_to(tmp_path / "empty")
    before = sorted(p.relative_to(tmp_path) for p in tmp_path.rglob("*"))
    for _ in range(2):
        KEEP[how](path, source())
    left = {p.relative_to(tmp_path) for p in tmp_path.rglob("*")}
    assert left.issuperset(before)


@pytest.mark.parametrize("content", ["some notes", "x", "PSROWERS\n" * 20])
def test_a_cache_replaces_no_other_file(tmp_path, content):
    notes = tmp_path / "notes.txt"
    notes.write_text(content)
    it = iter(source().cache(notes))
    with pytest.raises(FileExistsError, match=r"cache: .*notes\.txt exists and is no cache"):
        next(it)
    assert list(it) == []
    assert notes.read_text() == content
    assert list(tmp_path.iterdir()) == [notes]


def test_a_cache_replaces_no_file_of_a_saved_dataset(tmp_path):
    source().save(tmp_path / "saved")
    with pytest.raises(FileExistsError, match="is no cache"):
        list(source().cache(tmp_path / "saved" / "shard-00000.rows"))
    assert_same(list(ps.Dataset.load(tmp_path / "saved")), list(source()))


def test_a_cache_replaces_no_pipe_and_does_not_wait_for_one(tmp_path):
    os.mkfifo(tmp_path / "pipe")
    with pytest.raises(FileExistsError, match="is no cache"):
        list(source().cache(tmp_path / "pipe"))
    assert (tmp_path / "pipe").is_fifo()


def test_an_empty_file_may_become_a_cache(tmp_path):
    (tmp_path / "data").touch()
    with pytest.warns(RuntimeWarning, match="made again"):
        cache(tmp_path / "data", source())
    cache(tmp_path / "data", source())


@pytest.mark.parametrize("how", ["save", "snapshot"])
def test_a_folder_with_files_of_others_is_not_replaced(tmp_path, how):
    path, folder = place_of(how, tmp_path)
    KEEP[how](path, source())
    (folder / "README.md").write_text("what these are")
    if how == "snapshot":
        (folder / "penstock-dataset.txt").unlink()
    with pytest.raises(FileExistsError, match=f"{how}: .* is no saved dataset, or has other files"):
        KEEP[how](path, source())
    assert (folder / "README.md").read_text() == "what these are"
    assert [p.name for p in folder.parent.iterdir() if ".tmp-" in p.name] == []


@pytest.mark.parametrize("first", [True, False])
def test_a_folder_that_appears_while_save_runs_stays(tmp_path, first):
    folder = tmp_path / "data"
    if not first:
        source().save(folder)

    def disturb(x):
        if x == 3:
            folder.mkdir(exist_ok=True)
            (folder / "thesis.txt").write_text("all of it")
        return x

    with pytest.raises(FileExistsError, match=r"save: .*data exists and is no saved dataset"):
        ps.Dataset.range(5).map(disturb).save(folder)
    assert (folder / "thesis.txt").read_text() == "all of it"
    assert list(tmp_path.iterdir()) == [folder]


def test_a_file_that_appears_while_a_cache_is_filled_stays(tmp_path):
    path = tmp_path / "data"

    def disturb(x):
        if x == 3:
            path.write_text("all of it")
        return x

    with pytest.warns(RuntimeWarning, match="is no cache.*not kept"):
        assert_same(list(ps.Dataset.range(5).map(disturb).cache(path)), range(5))
    assert path.read_text() == "all of it"
    assert list(tmp_path.iterdir()) == [path]


@pytest.mark.parametrize("how", ["save", "cache"])
def test_a_link_is_followed_and_stays(tmp_path, how):
    (tmp_path / "disk").mkdir()
    link = tmp_path / "data"
    link.symlink_to(Path("disk") / "data")
    for _ in range(2):
        KEEP[how](link, source())
    assert link.is_symlink()
    assert sorted(p.name for p in tmp_path.iterdir()) == ["data", "disk"]
    assert [p.name for p in (tmp_path / "disk").iterdir()] == ["data"]


WRITER = """
import sys, penstock as ps
from pathlib import Path

def tell(x):
    if x == 3:
        print("there", flush=True)
        sys.stdin.readline()
    return x

ds = ps.Dataset.range(5).map(tell)
{"save": lambda: ds.save(sys.argv[2]),
 "cache": lambda: list(ds.cache(sys.argv[2])),
 "snapshot": lambda: list(ds.snapshot(sys.argv[2]))}[sys.argv[1]]()
"""


@pytest.mark.slow
@pytest.mark.parametrize("how", KEEP)
def test_what_a_dead_writer_has_left_is_removed_and_what_a_living_one_has_is_not(tmp_path, how):
    command = [sys.executable, "-c", WRITER, how, str(tmp_path / "data")]
    children = [
        subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        for _ in range(2)
    ]
    for child in children:
        assert child.stdout.readline() == "there\n"
    dead, living = children
    dead.send_signal(signal.SIGKILL)
    dead.communicate()
    left = {p for p in tmp_path.rglob("*") if ".tmp-" in p.name}
    assert len(left) == 2
    # The same pipeline, so that the snapshot has the same path.
    again = subprocess.run(command, input="go on\n", stdout=subprocess.PIPE, text=True, check=True)
    assert again.stdout == "there\n"
    assert len([p for p in tmp_path.rglob("*") if ".tmp-" in p.name]) == 1
    living.communicate("go on\n")
    assert living.returncode == 0
    assert [p for p in tmp_path.rglob("*") if ".tmp-" in p.name] == []
