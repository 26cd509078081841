"""The start of worker processes: from a fork server, with one thread per library."""

import os
import subprocess
import sys

import numpy as np
import pytest

import penstock as ps
from scripts import wait_until
from worker_programs import SHOW_WORKERS, gone, run, start, workers_of

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="worker processes need Linux")

LIMITS = [
    *("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS", "NUMEXPR_NUM_THREADS"),
    *("VECLIB_MAXIMUM_THREADS", "OPENCV_FOR_THREADS_NUM"),
]
# Prints the variables in a worker of map, of a generator and of a DataLoader.
SHOW_LIMITS = f"""
def limits(_=None):
    return "/".join(os.environ.get(name, "-") for name in {LIMITS})
def gen(): yield limits()
class Rows:
    def __len__(self): return 1
    def __getitem__(self, i): return limits()
print(*ps.Dataset.range(1).map(limits, executor="process"))
print(*ps.Dataset.from_generator(gen, executor="process"))
loader = ps.DataLoader(Rows(), batch_size=None, num_workers=1, worker_method="process")
print(*loader, limits())
"""


def environment(**given):
    return {k: v for k, v in os.environ.items() if k not in LIMITS} | given


def test_libraries_have_one_thread_in_each_kind_of_worker(tmp_path):
    code, out, err = run(tmp_path, SHOW_LIMITS, env=environment())
    assert (code, err) == (0, "")
    ours = "/".join("1" for _ in LIMITS)
    assert out.splitlines() == [ours, ours, f"{ours} {'/'.join('-' for _ in LIMITS)}"]


def test_thread_limits_in_the_environment_win(tmp_path):
    given = {"OMP_NUM_THREADS": "3", "OPENCV_FOR_THREADS_NUM": "2"}
    code, out, err = run(tmp_path, SHOW_LIMITS, env=environment(**given))
    assert (code, err) == (0, "")
    assert out.splitlines()[0] == out.splitlines()[1] == "3/-/-/-/1/2"
    assert out.splitlines()[2] == "3/-/-/-/1/2 3/-/-/-/-/2"
    code, out, err = run(tmp_path, SHOW_LIMITS, env=environment(OPENBLAS_NUM_THREADS="2"))
    assert out.splitlines()[0] == "1/2/1/1/1/1"


def threads_of_torch(_):
    import torch

    return torch.get_num_threads()


def test_torch_has_one_thread_in_workers():
    pytest.importorskip("torch")
    if "OMP_NUM_THREADS" in os.environ:
        pytest.skip("the environment sets the number of threads")
    assert [int(x) for x in ps.Dataset.range(1).map(threads_of_torch, executor="process")] == [1]
    loader = ps.DataLoader(
        [0], batch_size=None, num_workers=1, worker_method="process", collate_fn=threads_of_torch
    )
    assert [int(x) for x in loader] == [1]


def draws(x):
    import random

    return os.getpid(), np.random.randint(1 << 60), random.getrandbits(60)


def test_workers_draw_different_random_numbers():
    drawn = list(ps.Dataset.range(40).map(draws, num_parallel_calls=2, executor="process"))
    for kind in (1, 2):
        assert len({int(each[kind]) for each in drawn}) == 40


def test_workers_are_children_of_this_process_and_the_server_ends_with_it(tmp_path):
    program = start(
        tmp_path,
        "def parent(x): return os.getppid()\n"
        "assert {int(x) for x in made(parent)} == {os.getpid()}\n"
        + SHOW_WORKERS
        + "sys.stdin.read()\n",
        stdin=subprocess.PIPE,
    )
    pids = workers_of(program)
    assert len(pids) >= 2  # the server, and a worker
    program.kill()
    program.communicate()
    assert gone(pids)


def test_the_server_has_one_thread_and_no_files_of_the_program(tmp_path):
    code, out, err = run(
        tmp_path,
        "secret = open('secret', 'w+')\n"
        "list(made(slow))\n"
        "import glob\n"
        "own = [int(pid) for name in glob.glob('/proc/self/task/*/children')"
        " for pid in open(name).read().split()]\n"
        "(server,) = set(own) - set(_core.idle_workers())\n"
        "print(len(os.listdir(f'/proc/{server}/task')))\n"
        "folder = f'/proc/{server}/fd/'\n"
        "files = [os.readlink(folder + name) for name in os.listdir(folder)]\n"
        "print(any('secret' in name or 'memfd' in name for name in files))\n",
        cwd=tmp_path,
    )
    assert (code, out, err) == (0, "1\nFalse\n", "")


def test_workers_have_the_current_environment_and_folder(tmp_path):
    (tmp_path / "inner").mkdir()
    code, out, err = run(
        tmp_path,
        "def seen(x): return os.environ.get('MARK', '-') + ' ' + os.path.basename(os.getcwd())\n"
        "print(next(iter(made(seen, calls=None))))\n"
        "os.environ['MARK'] = 'here'\n"
        "os.chdir('inner')\n"
        "_core.end_idle_workers()\n"
        "print(next(iter(made(seen, calls=None))))\n",
        cwd=tmp_path,
    )
    assert (code, err) == (0, "")
    assert out.splitlines() == [f"- {tmp_path.name}", "here inner"]


PRELOAD = """
import multiprocessing
context = multiprocessing.get_context("forkserver")
context.set_forkserver_preload({names})
import preloaded
def inside(x): return preloaded.PID != os.getpid()
print(next(iter(made(inside))))
"""


def test_the_preload_list_of_multiprocessing_is_imported_by_the_server(tmp_path):
    (tmp_path / "preloaded.py").write_text("import os\nPID = os.getpid()\n")
    code, out, err = run(tmp_path, PRELOAD.format(names=["preloaded", "no_such_module"]))
    assert (code, out, err) == (0, "True\n", "")
    code, out, err = run(tmp_path, PRELOAD.format(names=[]))
    assert (code, out, err) == (0, "False\n", "")


@pytest.mark.parametrize(
    "module",
    [
        "import threading; threading.Thread(target=threading.Event().wait, daemon=True).start()",
        "import os; os._exit(3)",
        "raise RuntimeError",
    ],
)
def test_a_server_that_cannot_fork_is_replaced_by_new_interpreters(tmp_path, module):
    (tmp_path / "unsafe.py").write_text(module)
    code, out, err = run(
        tmp_path,
        "import multiprocessing\n"
        "context = multiprocessing.get_context('forkserver')\n"
        "context.set_forkserver_preload(['unsafe'])\n"
        "print(len(list(made(slow))), len(list(made(slow))))\n",
    )
    assert (code, out, err) == (0, "12 12\n", "")


def test_a_server_that_is_killed_is_started_again(tmp_path):
    code, out, err = run(
        tmp_path,
        "import glob, signal\n"
        "list(made(slow))\n"
        "own = [int(pid) for name in glob.glob('/proc/self/task/*/children')"
        " for pid in open(name).read().split()]\n"
        "for pid in own: os.kill(pid, signal.SIGKILL)\n"
        "print(len(list(made(slow))))\n",
    )
    assert (code, out, err) == (0, "12\n", "")


def test_an_interrupt_while_the_server_starts_ends_the_wait(tmp_path):
    (tmp_path / "endless.py").write_text(
        "open('importing', 'w').close()\nimport time\ntime.sleep(100)\n"
    )
    program = start(
        tmp_path,
        "import multiprocessing\n"
        "multiprocessing.get_context('forkserver').set_forkserver_preload(['endless'])\n"
        "for calls in (None, 2):\n"
        "    try:\n"
        "        list(made(slow, calls=calls))\n"
        "    except KeyboardInterrupt:\n"
        "        print('interrupted', flush=True)\n"
        "os._exit(0)\n",
        cwd=tmp_path,
    )
    import signal

    wait_until(lambda: (tmp_path / "importing").exists(), 60)
    program.send_signal(signal.SIGINT)
    assert program.stdout.readline() == "interrupted\n"
    program.send_signal(signal.SIGINT)
    assert program.stdout.readline() == "interrupted\n"
    _, err = program.communicate(timeout=60)
    assert err == ""


@pytest.mark.slow
@pytest.mark.timeout(300)
def test_torch_is_imported_once_for_all_workers(tmp_path):
    pytest.importorskip("torch")
    program = start(
        tmp_path,
        "import glob, torch\n"
        "def ones(x): return float(torch.ones(1).sum())\n"
        "def without(x): return float('torch' in sys.modules)\n"
        "print(sum(made(without)), sum(made(ones)))\n"
        "own = [int(pid) for name in glob.glob('/proc/self/task/*/children')"
        " for pid in open(name).read().split()]\n"
        "maps = [open(f'/proc/{pid}/maps').read() for pid in set(own) - {*_core.idle_workers()}]\n"
        "print(['libtorch' in each for each in maps])\n",
    )
    out, err = program.communicate(timeout=280)
    assert (program.returncode, out, err) == (0, "0.0 12.0\n[True]\n", "")
