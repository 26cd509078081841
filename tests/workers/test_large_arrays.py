"""Large arrays in functions of worker processes: the values of copies, in shared memory."""

import functools
import gc
import os
import pickle
import re
import signal
import sys
import time
from pathlib import Path

import numpy as np
import pytest

import penstock as ps
from compare import assert_same
from penstock import _core

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="worker processes need Linux")

MANY = 2**22  # bytes; few of them would be copied


def own_bytes():
    """Return this process's private memory and its proportion of shared memory, in bytes."""
    text = Path("/proc/self/smaps_rollup").read_text()
    return 1024 * int(re.search(r"^Pss:\s+(\d+)", text, re.MULTILINE)[1])


class Table:
    def __init__(self, rows):
        self.rows = rows

    def __call__(self, x):
        return self.rows[x], self.rows.flags.writeable


def looked_up(x, rows):
    return rows[x], rows.flags.writeable


def closure(rows):
    def function(x):
        return rows[x], rows.flags.writeable

    return function


WAYS = {
    "object": Table,
    "partial": lambda rows: functools.partial(looked_up, rows=rows),
    "closure": closure,
}


def arrays(folder):
    numbers = np.arange(MANY // 8).reshape(-1, 8)
    constant = numbers.copy()
    constant.flags.writeable = False
    file = folder / "numbers.npy"
    np.save(file, numbers)
    names = np.array(["a", None, 3.5] * 4, object)
    raw = folder / "raw"
    numbers.tofile(raw)
    again = np.memmap(raw, np.int64, "r+", offset=64, shape=(MANY // 64 - 1, 8))
    again[3] = 7  # not flushed to disk yet
    private = np.load(file, mmap_mode="c")
    private[2] = 5  # never written to the file
    gone = folder / "gone"
    numbers.tofile(gone)
    deleted = np.memmap(gone, np.int64, "r").reshape(-1, 8)
    gone.unlink()
    return {
        "plain": numbers,
        "constant": constant,
        "fortran": np.asfortranarray(numbers),
        "window": numbers[100:-100],
        "strided": numbers[::-2, 1::3],
        "small": numbers[:20],
        "objects": names,
        "dates": np.arange(MANY // 8).astype("M8[s]"),
        "texts": np.full(MANY // 40, "é" * 10),
        "mapped": np.load(file, mmap_mode="r"),
        "mapped window": np.load(file, mmap_mode="r")[5:-7],
        "mapped strides": np.asarray(np.load(file, mmap_mode="r"))[::-3, ::2],
        "mapped to write": again,
        "private": private,
        "deleted": deleted,
    }


def test_arrays_have_the_values_and_flags_of_copies(tmp_path):
    for name, rows in arrays(tmp_path).items():
        copy = pickle.loads(pickle.dumps(rows))
        for way, make in WAYS.items():
            processes = ps.Dataset.range(12).map(make(rows), 2, executor="process")
            threads = ps.Dataset.range(12).map(make(copy))
            for (row, writeable), (wanted, _) in zip(processes, threads, strict=True):
                assert_same((name, way, row), (name, way, wanted))
                assert writeable or not rows.flags.writeable, (name, way)


def test_what_workers_write_is_their_own(tmp_path):
    file = tmp_path / "numbers"
    np.zeros(MANY // 8).tofile(file)
    for rows in (np.zeros(MANY // 8), np.memmap(file, np.float64, "r+")):

        def writes(x, rows=rows):
            rows[:] += 1
            return rows[0], rows[-1], os.getpid()

        seen = {}
        for first, last, pid in ps.Dataset.range(12).map(writes, 2, executor="process"):
            assert first == last
            seen.setdefault(int(pid), []).append(int(first))
        # A worker may receive a later element before an earlier one.
        assert all(sorted(each) == [*range(1, len(each) + 1)] for each in seen.values())
        assert not rows.any()
        assert not np.fromfile(file).any()


def test_later_changes_are_not_seen():
    rows = np.zeros(MANY // 8)
    first = ps.Dataset.range(3).map(lambda x: rows[x], executor="process")
    rows += 1
    second = ps.Dataset.range(3).map(lambda x: rows[x], executor="process")
    assert [*first] == [0, 0, 0]
    assert [*second] == [1, 1, 1]
    assert [*first] == [0, 0, 0]


def test_a_file_that_is_replaced_is_an_error(tmp_path):
    file = tmp_path / "numbers.npy"
    np.save(file, np.zeros(MANY // 8))
    rows = np.load(file, mmap_mode="r")
    ds = ps.Dataset.range(3).map(lambda x: rows[x], executor="process")
    file.rename(tmp_path / "other")
    np.save(file, np.ones(MANY // 8))
    with pytest.raises(RuntimeError, match=r"numbers\.npy, which was replaced after the dataset"):
        next(iter(ds))


LARGE = 160 * 2**20  # bytes: several times a worker's own memory


def of_large(kind, folder, size=LARGE):
    """A function that needs a whole large array, and returns its memory before and after."""
    if kind == "array":
        rows = np.ones(size // 8)
    else:
        np.save(folder / "rows.npy", np.ones(size // 8))
        rows = np.load(folder / "rows.npy", mmap_mode="r")

    def function(x):
        time.sleep(0.05)  # so that all workers have elements
        return float(rows.sum()), own_bytes(), os.getpid()

    return function


@pytest.mark.parametrize("kind", ["array", "memmap"])
def test_all_workers_together_have_one_copy(kind, tmp_path):
    size = LARGE
    for pid in _core.idle_workers():  # which hold memory of other functions
        os.kill(pid, signal.SIGKILL)
    ds = ps.Dataset.range(40).map(of_large(kind, tmp_path, size), 4, executor="process")
    memory = {}
    for total, held, pid in ds:
        assert total == size // 8
        memory[int(pid)] = int(held)
    assert len(memory) == 4
    assert max(memory.values()) < size
    assert sum(memory.values()) < 2.5 * size


def test_functions_and_epochs_with_the_same_array_share_it():
    gc.collect()

    def count():
        files = 0
        for each in Path("/proc/self/fd").iterdir():
            try:
                if "memfd:penstock" in str(each.readlink()):
                    files += each.stat().st_size == wanted
            except FileNotFoundError:  # the folder itself
                continue
        return files

    rows = np.ones(3 * MANY + 4096)
    wanted = rows.nbytes

    def made():
        return ps.Dataset.range(4).map(lambda x: rows[x], executor="process")

    ds = made()
    once = count()
    assert once == 2
    other = made()
    assert count() == once + 1  # one more number of the same file
    assert [*ds, *ds, *other] == [1] * 12
    rows[7] = 2
    changed = made()
    assert count() == once + 1 + 2
    assert [*changed] == [1] * 4
    del ds, other, changed
    gc.collect()
    assert count() == 0


def test_a_pickled_dataset_has_the_array():
    rows = np.arange(MANY)
    ds = ps.Dataset.range(4).map(functools.partial(looked_up, rows=rows), executor="process")
    again = pickle.loads(pickle.dumps(ds))
    assert [int(x) for x, _ in again] == [0, 1, 2, 3]
