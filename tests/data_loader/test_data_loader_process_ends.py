"""Programs whose DataLoader worker processes exit, fork, or are interrupted."""

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from scripts import wait_until

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="worker processes need Linux")

# Without cloudpickle, workers find the classes of a script by importing it again.
NO_CLOUDPICKLE = """
import importlib.util
found = importlib.util.find_spec
importlib.util.find_spec = lambda name, *rest: None if name == "cloudpickle" else found(name, *rest)
"""
HEAD = """
import os, sys, time
import numpy as np
import penstock as ps

class Rows:
    def __init__(self, stuck=None):
        self.stuck = stuck
    def __len__(self):
        return 12
    def __getitem__(self, i):
        if i == self.stuck and not os.path.exists("seen"):
            open("seen", "w").close()
            time.sleep(100)
        return np.full((100, 100), i)

def loader(stuck=None, **more):
    return ps.DataLoader(Rows(stuck), 2, num_workers=2, worker_method="process", **more)

def pids(batches):
    return " ".join(str(member.process.pid) for member in batches._members)

"""


def start(folder, body, head=HEAD):
    (folder / "program.py").write_text(head + body)
    return subprocess.Popen(
        [sys.executable, "program.py"],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        cwd=folder,
        start_new_session=True,
    )


def run(folder, body, head=HEAD):
    program = start(folder, body, head)
    out, err = program.communicate(timeout=100)
    return program.returncode, out, err


def is_alive(pid):
    try:
        stat = Path(f"/proc/{pid}/stat").read_text()
    except OSError:
        return False
    return stat.rpartition(")")[2].split()[0] != "Z"


def test_workers_end_with_a_program_that_is_killed(tmp_path):
    program = start(
        tmp_path, "it = iter(loader(4)); next(it); print(pids(it), flush=True); time.sleep(60)\n"
    )
    workers = program.stdout.readline().split()
    assert len(workers) == 2
    program.kill()
    program.communicate()
    wait_until(lambda: not any(map(is_alive, workers)))


@pytest.mark.parametrize("persistent", [False, True])
def test_a_program_that_leaves_a_pass_open_ends_quietly(tmp_path, persistent):
    body = f"it = iter(loader(4, persistent_workers={persistent})); print(next(it).shape)\n"
    assert run(tmp_path, body) == (0, "(2, 100, 100)\n", "")


@pytest.mark.parametrize("timeout", [0, 50])
def test_an_interrupt_ends_the_wait_and_loses_nothing(tmp_path, timeout):
    program = start(
        tmp_path,
        f"it = iter(loader(timeout={timeout}))\n"
        "seen = [int(next(it)[0, 0, 0])]\n"
        "it.close()\n"
        f"it = iter(loader(2, timeout={timeout}))\n"
        "next(it)\n"
        "print(pids(it), flush=True)\n"
        "try:\n"
        "    next(it)\n"
        "except KeyboardInterrupt:\n"
        "    os.kill(it._members[1].process.pid, 9)\n"
        "    try:\n"
        "        next(it)\n"
        "    except ps.WorkerError as error:\n"
        "        print('SIGKILL' in str(error), 'dataset[i] for i in [2, 3]' in str(error))\n"
        "    print([int(b[0, 0, 0]) for b in it])\n",
    )
    program.stdout.readline()
    wait_until(lambda: (tmp_path / "seen").exists())
    time.sleep(0.3)
    os.killpg(program.pid, signal.SIGINT)
    out, err = program.communicate(timeout=100)
    assert (out, err) == ("True True\n[4, 6, 8, 10]\n", "")


@pytest.mark.parametrize("method", ["process", "thread"])
def test_a_fork_starts_its_own_persistent_workers(tmp_path, method):
    body = (
        "class Share:\n"
        "    def __iter__(self):\n"
        "        info = ps.get_worker_info()\n"
        "        yield from range(info.id, 6, info.num_workers)\n"
        f"more = {{'worker_method': {method!r}, 'persistent_workers': True}}\n"
        "one = ps.DataLoader(Share(), None, num_workers=2, **more)\n"
        "print(list(one), flush=True)\n"
        "if os.fork() == 0:\n"
        "    print(list(one))\n"
        "    sys.exit(0)\n"
        "os.wait()\n"
        "print(list(one))\n"
    )
    assert run(tmp_path, body) == (0, 3 * "[0, 1, 2, 3, 4, 5]\n", "")


def test_a_fork_has_workers_of_its_own(tmp_path):
    body = (
        "one = loader(persistent_workers=True)\n"
        "it = iter(one); next(it)\n"
        "before = pids(it)\n"
        "if os.fork() == 0:\n"
        "    try:\n"
        "        list(it)\n"
        "    except ps.WorkerError as error:\n"
        "        print(error)\n"
        "    other = iter(loader())\n"
        "    print(len(list(other)), flush=True)\n"
        "    del it, one, other\n"
        "    import gc; gc.collect()\n"
        "    os._exit(0)\n"
        "os.wait()\n"
        "print(len(list(it)))\n"
        "it = iter(one)\n"
        "print(pids(it) == before, len(list(it)))\n"
    )
    code, out, err = run(tmp_path, body)
    assert (code, err) == (0, "")
    first, *rest = out.splitlines()
    assert "they belong to the process that has forked this one" in first
    assert rest == ["6", "5", "True 6"]


def test_the_classes_of_a_script_are_found_without_cloudpickle(tmp_path):
    body = "if __name__ == '__main__':\n    print(sum(int(b.sum()) for b in loader()))\n"
    assert run(tmp_path, body, NO_CLOUDPICKLE + HEAD) == (0, "660000\n", "")


def test_a_script_without_a_guard_is_told_so(tmp_path):
    code, out, err = run(tmp_path, "print(len(list(loader())))\n", NO_CLOUDPICKLE + HEAD)
    assert (code, out) == (1, "")
    assert "RuntimeError: DataLoader: worker_method='process' was asked for by a worker" in err
    assert "if __name__ == '__main__':" in err


def test_what_a_worker_prints_is_seen(tmp_path):
    body = (
        "class Talks(Rows):\n"
        "    def __getitem__(self, i):\n"
        "        print('row', i)\n"
        "        return i\n"
        "list(ps.DataLoader(Talks(), 12, num_workers=1, worker_method='process'))\n"
        "os._exit(0)\n"
    )
    code, out, err = run(tmp_path, body)
    assert (code, err) == (0, "")
    assert out.splitlines() == [f"row {i}" for i in range(12)]


def test_too_few_files_are_an_error_that_says_so(tmp_path):
    body = (
        "import resource\n"
        "resource.setrlimit(resource.RLIMIT_NOFILE, (9, 64))\n"
        "try:\n"
        "    list(loader())\n"
        "except (ps.WorkerError, OSError) as error:\n"
        "    print(error)\n"
        "resource.setrlimit(resource.RLIMIT_NOFILE, (64, 64))\n"
        "print(len(list(loader())))\n"
    )
    code, out, err = run(tmp_path, body)
    assert code == 0, err
    assert "ulimit -n" in out
    assert out.splitlines()[-1] == "6"


def test_a_loop_is_over_soon_after_its_end(tmp_path):
    started = time.monotonic()
    code, out, err = run(tmp_path, "for _ in range(5): list(loader())\nprint('done')\n")
    assert (code, out, err) == (0, "done\n", "")
    assert time.monotonic() - started < 50
