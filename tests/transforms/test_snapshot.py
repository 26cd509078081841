"""snapshot: the first full pass is stored as a saved dataset, and read from it later."""

import itertools
import os
import signal
import subprocess
import sys
import tempfile
from pathlib import Path

import numpy as np
import pytest

import penstock as ps
from compare import assert_same, assert_same_unordered
from contract import Boom, DatasetContract, Failure, Variant, steps

FOLDER = tempfile.TemporaryDirectory()
NUMBERS = itertools.count()


def fresh():
    return Path(FOLDER.name, str(next(NUMBERS)))


def filled(ds):
    path = fresh()
    steps(iter(ds.snapshot(path)))
    return ds.snapshot(path)


class SnapshotContract(DatasetContract):
    def test_repr_is_stable_and_short(self):
        ds = self.make(Variant())  # each has a separate folder
        assert len(repr(ds)) < 2000


class TestWriting(SnapshotContract):
    source = staticmethod(lambda: ps.Dataset.range(12))
    apply = staticmethod(lambda ds: ds.map(abs).snapshot(fresh()))
    expected = list(range(12))


class TestReading(SnapshotContract):
    source = staticmethod(lambda: ps.Dataset.range(12))
    apply = staticmethod(lambda ds: filled(ds.map(abs)))
    expected = list(range(12))

    def check_states(self, make):
        # The state of one snapshot does not fit another: all runs share the existing one.
        ds = make()
        super().check_states(lambda: ds)


class TestUnderBatch(SnapshotContract):
    build = staticmethod(lambda: filled(ps.Dataset.range(12)).batch(5))
    expected = [np.arange(0, 5), np.arange(5, 10), np.arange(10, 12)]

    def check_states(self, make):
        ds = make()
        super().check_states(lambda: ds)


@pytest.fixture
def counted(tmp_path):
    log = tmp_path / "calls"
    log.touch()
    path = str(log)

    def call(x):
        with open(path, "a") as file:  # noqa: PTH123
            file.write("x")
        return x

    return (lambda n: ps.Dataset.range(n).map(call)), (lambda: log.stat().st_size)


def test_later_passes_compute_nothing(counted, tmp_path):
    make, calls = counted
    for _ in range(3):
        ds = make(5).snapshot(tmp_path / "snap")
        assert_same(list(ds.repeat(2)), list(range(5)) * 2)
    assert calls() == 5
    assert len(list((tmp_path / "snap").iterdir())) == 1


def test_a_changed_pipeline_has_a_snapshot_of_its_own(tmp_path):
    path = tmp_path / "snap"
    one = ps.Dataset.range(3).map(lambda x: x + 1).snapshot(path)
    two = ps.Dataset.range(3).map(lambda x: x + 2).snapshot(path)
    for _ in range(2):
        assert_same(list(one), [1, 2, 3])
        assert_same(list(two), [2, 3, 4])
    assert len(list(path.iterdir())) == 2


def test_a_pass_that_stops_early_leaves_nothing(counted, tmp_path):
    make, calls = counted
    ds = make(5).snapshot(tmp_path / "snap")
    with iter(ds.take(3)) as it:
        list(it)
    assert list((tmp_path / "snap").iterdir()) == []
    list(ds)
    assert calls() == 3 + 5


def test_an_error_leaves_no_snapshot(tmp_path):
    def fail(x):
        if x == 2:
            raise Boom("two")
        return x

    ds = ps.Dataset.range(4).map(fail).snapshot(tmp_path / "snap")
    for _ in range(2):
        assert steps(iter(ds)) == [0, 1, Failure("Boom", "two"), 3]
    assert list((tmp_path / "snap").iterdir()) == []


@pytest.mark.parametrize("compression", ["AUTO", "GZIP", "ZLIB", None, "none"])
def test_compression(tmp_path, compression):
    ds = ps.Dataset.range(4000).snapshot(tmp_path / "snap", compression=compression)
    assert_same(list(ds.batch(4000)), list(ds.batch(4000)))
    size = sum(f.stat().st_size for f in (tmp_path / "snap").rglob("*.rows"))
    assert (size < 20_000) == (compression not in {None, "none"})


def test_shards_and_reader(tmp_path):
    seen = []

    def read(files):
        seen.append(files.cardinality())
        return files.interleave(lambda file: file, cycle_length=4)

    ds = ps.Dataset.range(12).snapshot(
        tmp_path / "snap", shard_func=lambda x: x // 3, reader_func=read
    )
    assert_same(list(ds), list(range(12)))
    assert seen == []
    assert_same(list(ds), [0, 3, 6, 9, 1, 4, 7, 10, 2, 5, 8, 11])
    assert seen == [4]
    shuffled = ps.Dataset.range(12).snapshot(
        tmp_path / "snap", reader_func=lambda files: files.shuffle(4).flat_map(lambda file: file)
    )
    assert_same_unordered(list(shuffled), range(12))


def test_a_state_of_the_writing_pass_goes_on_when_the_snapshot_is_complete(tmp_path):
    def make():
        return ps.Dataset.range(12).snapshot(
            tmp_path / "snap",
            shard_func=lambda x: x % 3,
        )

    it = iter(make())
    came = [int(next(it)) for _ in range(5)]
    state = it.get_state()
    came += [int(x) for x in it]
    assert came == list(range(12))
    resumed = iter(make())
    resumed.set_state(state)
    assert_same(list(resumed), list(range(5, 12)))


def test_a_state_of_a_snapshot_that_is_gone_is_refused(tmp_path):
    ds = ps.Dataset.range(12).snapshot(tmp_path / "snap")
    list(ds)
    it = iter(ds)
    next(it)
    state = it.get_state()
    folder = next((tmp_path / "snap").iterdir())
    folder.rename(tmp_path / "away")
    with pytest.raises(ValueError, match=r"snapshot .* not there any more"):
        iter(ds).set_state(state)


def test_damage_is_a_data_error_that_names_the_file(tmp_path):
    ds = ps.Dataset.range(4000).snapshot(tmp_path / "snap", compression=None)
    list(ds)
    file = next((tmp_path / "snap").rglob("*.rows"))
    whole = file.read_bytes()
    for damaged in (whole[:200], whole[:5000] + b"\xff" + whole[5001:], b""):
        file.write_bytes(damaged)
        with pytest.raises(ps.DataError) as raised:
            list(ds)
        assert str(file) in str(raised.value)


def test_what_cannot_be_read_is_told_once_and_ends_the_pass(tmp_path):
    (tmp_path / "file").touch()
    it = iter(ps.Dataset.range(3).snapshot(tmp_path / "file"))
    with pytest.raises(OSError, match="file"):
        next(it)
    assert list(it) == []
    list(ps.Dataset.range(3).snapshot(tmp_path / "snap"))
    it = iter(ps.Dataset.range(3).snapshot(tmp_path / "snap", reader_func=lambda shards: 3))
    with pytest.raises(TypeError, match="reader_func"):
        next(it)
    assert list(it) == []


def test_opening_fails_once_where_no_element_could_help(tmp_path):
    def opens(shards):
        opened.append(shards)
        return shards.no_such_method()

    def computed(x):
        calls.append(x)
        return x

    opened, calls = [], []
    ds = ps.Dataset.range(3).map(computed).snapshot(tmp_path / "snap", reader_func=opens)
    assert len(list(ds)) == 3
    calls.clear()
    with pytest.raises(AttributeError, match="no_such_method"):
        list(ds)
    assert (len(opened), calls) == (1, [])
    next((tmp_path / "snap").rglob("*.rows")).write_bytes(b"")
    with pytest.raises(ps.DataError):
        list(ds)
    assert (len(opened), calls) == (1, [])


def test_opaque_objects_are_refused(tmp_path):
    ds = ps.Dataset.range(3).map(lambda x: object()).snapshot(tmp_path / "snap")
    with pytest.raises(TypeError, match=r"snapshot: .* Python object in element 0"):
        list(ds)
    assert list((tmp_path / "snap").iterdir()) == []


WRITER = """
import sys, penstock as ps
for i, x in enumerate(ps.Dataset.range(3000).snapshot(sys.argv[1])):
    assert x == i
    if i == 2000:
        print("there", flush=True)
        sys.stdin.readline()
"""


def start_writer(path):
    command = [sys.executable, "-c", WRITER, str(path)]
    child = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    assert child.stdout.readline() == "there\n"
    return child


def test_a_killed_writer_leaves_nothing_that_matters(tmp_path):
    child = start_writer(tmp_path)
    child.send_signal(signal.SIGKILL)
    child.communicate()
    assert [".tmp-" in name for name in os.listdir(tmp_path)] == [True]  # noqa: PTH208
    list(ps.Dataset.range(3000).snapshot(tmp_path))
    assert [".tmp-" in name for name in os.listdir(tmp_path)] == [False]  # noqa: PTH208


def test_two_writers_at_once(tmp_path):
    first, second = start_writer(tmp_path), start_writer(tmp_path)
    for child in (first, second):
        child.communicate("go on\n")
        assert child.returncode == 0
    assert len(list(tmp_path.iterdir())) == 1
    assert_same(list(ps.Dataset.range(3000).snapshot(tmp_path)), list(range(3000)))


@pytest.mark.parametrize("calls", [None, 2])
def test_randomness_behind_is_the_same_when_it_is_written_and_read(tmp_path, calls):
    ds = ps.Dataset.range(30).skip(1).filter(lambda x: x % 3 > 0).snapshot(tmp_path)
    ds = ds.map(lambda x: ps.random.uniform([], seed=3), calls)
    assert_same(list(ds), list(ds))


def test_randomness_behind_is_the_same_after_a_restore_while_it_is_written(tmp_path):
    def build():
        ds = ps.Dataset.range(20).skip(5).snapshot(tmp_path).prefetch(3)
        return ds.map(lambda x: ps.random.uniform([], seed=3))

    it = iter(build())
    first = [next(it) for _ in range(7)]
    state = it.get_state()
    it.close()
    resumed = iter(build())
    resumed.set_state(state)
    assert_same([*first, *resumed], list(build()))
