"""Idle worker processes: their memory is released, and they exit."""

import os
import signal
import sys
import threading
import time
from pathlib import Path

import numpy as np
import pytest

import penstock as ps
from nightly import nightly
from penstock import _core
from scripts import wait_until
from worker_programs import alive, gone, run

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="worker processes need Linux")

MB = 1 << 20
PATIENCE = 120  # seconds; it takes less than 10 on an idle machine


def large(x):
    return np.full(4 * MB, x, np.uint8), os.getpid()


def shared_bytes():
    """Return the bytes of the files that this process shares with its workers."""
    files = {}
    for link in Path("/proc/self/fd").iterdir():
        try:
            if str(link.readlink()).startswith("/memfd:penstock"):
                status = link.stat()
                files[status.st_ino] = status.st_blocks * 512
        except FileNotFoundError:
            continue
    return sum(files.values())


def resident_shared():
    lines = Path("/proc/self/status").read_text().splitlines()
    return next(int(line.split()[1]) for line in lines if line.startswith("RssShmem:")) << 10


def mapped(n=24):
    return ps.Dataset.range(n).map(large, num_parallel_calls=2, executor="process")


@pytest.mark.slow
@pytest.mark.parametrize("batched", [False, *nightly(True)])
def test_idle_memory_is_released_and_idle_workers_end(batched):
    wait_until(lambda: not _core.idle_workers(), PATIENCE)
    ds = mapped().batch(4) if batched else mapped()
    kept, pids = [], set()
    for i, (array, pid) in enumerate(ds):
        pids |= {int(each) for each in np.ravel(pid)}
        if i in (1, 4):
            kept.append((array, array.copy()))
    del array, pid
    held = sum(array.nbytes * 5 // 4 for array, _ in kept)  # sizes are rounded up
    assert shared_bytes() > held + 4 * MB
    wait_until(lambda: shared_bytes() <= held + 2 * MB, PATIENCE)
    assert gone(pids, PATIENCE)  # no zombies either: os.kill would treat them as alive
    wait_until(lambda: not any(Path(f"/proc/{pid}").exists() for pid in pids), PATIENCE)
    for array, copy in kept:
        np.testing.assert_array_equal(array, copy)

    # Unreferenced memory is released, even after its worker has ended.
    first = kept[0][0].nbytes * 5 // 4
    del array, copy, kept[0]
    wait_until(lambda: shared_bytes() <= held - first + 2 * MB, PATIENCE)
    np.testing.assert_array_equal(*kept[0])
    del kept
    wait_until(lambda: shared_bytes() < 2 * MB, PATIENCE)
    wait_until(lambda: resident_shared() < 2 * MB, PATIENCE)

    # Another pass begins with new workers, and reuses the released memory.
    again = [np.unique(array).tolist() for array, _ in ds]
    assert again == (
        [list(range(i, i + 4)) for i in range(0, 24, 4)] if batched else [[i] for i in range(24)]
    )


@pytest.mark.slow
def test_an_idle_iterator_releases_memory_and_continues():
    it = iter(mapped(40))
    first = [next(it) for _ in range(3)]
    workers = {int(pid) for _, pid in first}
    del first
    wait_until(lambda: resident_shared() < 100 * MB, PATIENCE)
    wait_until(lambda: not alive(workers), PATIENCE)
    assert [int(array[0]) for array, _ in it] == list(range(3, 40))


@pytest.mark.slow
def test_a_generator_keeps_its_worker_while_its_iterator_lives():
    def count():
        for _ in range(10):
            yield os.getpid()

    it = iter(ps.Dataset.from_generator(count, executor="process"))
    own = int(next(it))
    other = {int(pid) for _, pid in mapped(4)} - {own}
    assert gone(other, PATIENCE)
    assert {int(pid) for pid in it} == {own}
    assert gone([own], PATIENCE)


@pytest.mark.slow
def test_idle_data_loader_workers_end_and_are_replaced():
    loader = ps.DataLoader(Squares(), batch_size=2, num_workers=2, worker_method="process")
    pids = {int(pid) for _, batch in loader for pid in batch}
    assert os.getpid() not in pids
    assert gone(pids, PATIENCE)
    values = [int(value) for batch, _ in loader for value in batch]
    assert values == [i * i for i in range(8)]


@pytest.mark.slow
def test_an_idle_worker_that_is_still_starting_is_not_ended(tmp_path):
    begun, file = tmp_path / "begun", tmp_path / "file"
    one = ps.DataLoader(Opens(begun, file), batch_size=2, num_workers=1, worker_method="process")
    first = iter(one)
    pid = first._members[0].process.pid
    other = ps.DataLoader(Squares(), batch_size=2, num_workers=1, worker_method="process")
    idle = {int(pid) for _, batch in other for pid in batch}
    wait_until(begun.exists, PATIENCE)
    first.close()
    list(other)  # uses the free worker, which becomes idle after the one that is starting
    assert gone(idle, PATIENCE)
    assert alive([pid])
    file.touch()
    assert {int(pid) for _, batch in one for pid in batch} == {pid}


class Opens:
    """Unpickling creates one file, then blocks until another one exists."""

    def __init__(self, begun, file):
        self.begun, self.file = begun, file

    def __setstate__(self, state):
        vars(self).update(state)
        self.begun.touch()
        while not self.file.exists():
            time.sleep(0.01)

    def __len__(self):
        return 8

    def __getitem__(self, i):
        return i, os.getpid()


class Squares:
    def __len__(self):
        return 8

    def __getitem__(self, i):
        return i * i, os.getpid()


@pytest.mark.slow
def test_an_idle_worker_that_is_killed_leaves_no_zombie():
    list(mapped(4))
    pids = _core.idle_workers()
    os.kill(pids[0], signal.SIGKILL)
    wait_until(lambda: not Path(f"/proc/{pids[0]}").exists(), PATIENCE)
    assert len(list(mapped(4))) == 4


@pytest.mark.slow
def test_a_fork_child_ends_its_own_workers_only(tmp_path):
    code, out, err = run(
        tmp_path,
        "ds = made(slow)\n"
        "list(ds)\n"
        "mine = _core.idle_workers()\n"
        "child = os.fork()\n"
        "if child == 0:\n"
        "    list(ds)\n"
        "    own = _core.idle_workers()\n"
        "    while any(os.path.exists(f'/proc/{pid}') for pid in own): time.sleep(0.05)\n"
        "    os._exit(3)\n"
        "print(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]))\n"
        "while any(os.path.exists(f'/proc/{pid}') for pid in mine): time.sleep(0.05)\n"
        "print(len(list(ds)))\n",
    )
    assert (code, out, err) == (0, "3\n12\n", "")


def test_the_cleanup_has_no_thread_before_the_first_iteration(tmp_path):
    code, out, err = run(
        tmp_path,
        "before = len(os.listdir('/proc/self/task'))\n"
        "ds = made(slow)\n"
        "print(len(os.listdir('/proc/self/task')) - before)\n",
    )
    assert (code, out, err) == (0, "0\n", "")


@pytest.mark.slow
def test_memory_that_threads_take_and_release_is_never_wrong():
    wrong = []

    def goes_over(start):
        for array, _ in mapped(30).skip(start):
            value = int(array[0])
            if not (array == value).all():
                wrong.append(value)

    threads = [threading.Thread(target=goes_over, args=(i,)) for i in range(3)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not wrong
