"""Programs with workers that exit, fork, run out of file descriptors or are interrupted."""

import os
import signal
import subprocess
import sys
import time

import pytest

from worker_programs import HEAD, NO_CLOUDPICKLE, SHOW_WORKERS, gone, run, start, workers_of

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="worker processes need Linux")


def test_workers_end_with_a_process_that_is_killed(tmp_path):
    program = start(
        tmp_path,
        "it = iter(made(stuck)); next(it)\nlist(made(slow))\n" + SHOW_WORKERS + "time.sleep(60)\n",
    )
    pids = workers_of(program)
    assert len(pids) >= 2
    program.kill()
    program.communicate()
    assert gone(pids)


def test_a_program_that_leaves_an_iterator_open_ends_quietly(tmp_path):
    code, out, err = run(tmp_path, "it = iter(made(stuck, 100)); print(int(next(it)))\n")
    assert (code, out, err) == (0, "0\n", "")


def test_an_interrupt_ends_the_wait_and_only_there(tmp_path):
    program = start(
        tmp_path,
        "it = iter(made(stuck))\n"
        "got = [int(next(it)) for _ in range(3)]\n"
        "print(got, flush=True)\n"
        "try:\n"
        "    next(it)\n"
        "except KeyboardInterrupt:\n"
        "    print('interrupted', flush=True)\n"
        "it.close()\n"
        "print(len(list(made(slow))))\n",
        start_new_session=True,
    )
    assert program.stdout.readline() == "[0, 1, 2]\n"
    time.sleep(0.3)
    os.killpg(program.pid, signal.SIGINT)
    out, err = program.communicate(timeout=100)
    assert (out, err) == ("interrupted\n12\n", "")


def test_an_interrupted_sequential_map_goes_on(tmp_path):
    program = start(
        tmp_path,
        "def once(x):\n"
        "    if x == 3 and not os.path.exists('seen'):\n"
        "        open('seen', 'w').close()\n"
        "        time.sleep(100)\n"
        "    return x\n"
        "it = iter(made(once, calls=None))\n"
        "got = [int(next(it)) for _ in range(3)]\n"
        "print(got, flush=True)\n"
        "try:\n"
        "    next(it)\n"
        "except KeyboardInterrupt:\n"
        "    print([int(x) for x in it])\n",
        start_new_session=True,
        cwd=tmp_path,
    )
    assert program.stdout.readline() == "[0, 1, 2]\n"
    while not (tmp_path / "seen").exists():
        time.sleep(0.02)
    os.killpg(program.pid, signal.SIGINT)
    out, err = program.communicate(timeout=100)
    assert (out, err) == ("[3, 4, 5, 6, 7, 8, 9, 10, 11]\n", "")


def test_a_fork_has_workers_of_its_own(tmp_path):
    code, out, err = run(
        tmp_path,
        "ds = made(lambda x: os.getpid() * 0 + x)\n"
        "list(ds)\n"
        "mine = set(_core.idle_workers())\n"
        "if os.fork() == 0:\n"
        "    print(sum(map(int, ds)), not mine & set(_core.idle_workers()), flush=True)\n"
        "    os._exit(0)\n"
        "os.wait()\n"
        "print(sum(map(int, ds)), mine == set(_core.idle_workers()))\n",
    )
    assert (code, err) == (0, "")
    assert out == "66 True\n66 True\n"


def test_few_files_are_enough_or_an_error_says_so(tmp_path):
    code, out, err = run(
        tmp_path,
        "import resource\n"
        "resource.setrlimit(resource.RLIMIT_NOFILE, (64, 64))\n"
        "print(len(list(made(slow))))\n"
        "resource.setrlimit(resource.RLIMIT_NOFILE, (8, 64))\n"
        "def fresh(x): return x\n"
        "for pid in _core.idle_workers(): os.kill(pid, 9)\n"
        "time.sleep(0.2)\n"
        "try:\n"
        "    list(made(fresh))\n"
        "except ps.WorkerError as error:\n"
        "    print(error)\n",
    )
    assert code == 0, err
    first, _, second = out.partition("\n")
    assert first == "12"
    assert "the system refused" in second
    assert "ulimit -n" in second


def test_the_functions_of_a_script_are_found_without_cloudpickle(tmp_path):
    code, out, err = run(
        tmp_path,
        "if __name__ == '__main__':\n    print(sum(x.sum() for x in made(slow)))\n",
        NO_CLOUDPICKLE + HEAD,
    )
    assert (code, out, err) == (0, "660000\n", "")


# Objects that a script sends to workers or receives, other than its own functions.
NAMED_IN_PICKLES = """
class Index(int):
    pass

class Point:
    def __init__(self, x):
        self.x = x

class Order:
    def __iter__(self):
        return map(Index, range(4))

    def __len__(self):
        return 4

class Points:
    def __len__(self):
        return 4

    def __getitem__(self, i):
        return Point(i)

def points():
    yield from map(Point, range(4))

def loader(*arguments, **more):
    return ps.DataLoader(
        *arguments, num_workers=1, worker_method="process", collate_fn=list, **more
    )

"""
SENT_TO_WORKERS = {
    "an element": "list(ps.Dataset.from_generator(points).map(copy.copy, executor='process'))",
    "an index": "list(loader(range(4), sampler=Order()))",
    "a result": "list(loader(Points()))",
}


@pytest.mark.parametrize("head", [HEAD, NO_CLOUDPICKLE + HEAD], ids=["cloudpickle", "pickle"])
@pytest.mark.parametrize("what", SENT_TO_WORKERS)
def test_objects_of_a_script_s_classes_go_to_workers_and_back(tmp_path, what, head):
    code, out, err = run(
        tmp_path,
        f"import copy\n{NAMED_IN_PICKLES}if __name__ == '__main__':\n"
        f"    print(len({SENT_TO_WORKERS[what]}))\n",
        head,
    )
    assert (code, out, err) == (0, "4\n", "")


def test_a_script_is_imported_where_workers_have_imported_multiprocessing(tmp_path):
    code, out, err = run(
        tmp_path,
        "if __name__ == '__main__':\n"
        "    import multiprocessing\n"
        "    multiprocessing.set_forkserver_preload(['multiprocessing'])\n"
        "    print(len(list(made(slow))))\n",
        NO_CLOUDPICKLE + HEAD,
    )
    assert (code, out, err) == (0, "12\n", "")


FUNCTIONS_OF_A_MODULE = """
import operator
assert __name__ == "__main__", "a worker has imported the script"
ds = ps.Dataset.range(4)
print(list(ds.map(operator.neg, executor="process").as_numpy_iterator())[-1])
print(list(ps.DataLoader(range(4), 4, num_workers=1, worker_method="process"))[0].tolist())
"""


@pytest.mark.parametrize("head", [HEAD, NO_CLOUDPICKLE + HEAD], ids=["cloudpickle", "pickle"])
def test_workers_do_not_import_a_script_for_functions_of_a_module(tmp_path, head):
    code, out, err = run(tmp_path, FUNCTIONS_OF_A_MODULE, head)
    assert (code, out, err) == (0, "-3\n[0, 1, 2, 3]\n", "")


def test_a_script_without_a_guard_is_told_so_once(tmp_path):
    code, out, err = run(tmp_path, "print(len(list(made(slow))))\n", NO_CLOUDPICKLE + HEAD)
    assert code == 1
    assert out == ""
    assert err.count("if __name__ == '__main__':") >= 1
    assert "RuntimeError: map: executor='process' was asked for by a worker process" in err


def test_a_lambda_without_cloudpickle_says_what_to_do(tmp_path):
    code, _, err = run(tmp_path, "made(lambda x: x)\n", NO_CLOUDPICKLE + HEAD)
    assert code == 1
    assert "define it at the top of a module, or python -m pip install cloudpickle" in err


NO_FILE = """
try:
    list(made(slow, n=4))
except TypeError as error:
    print(error)
try:
    ps.prefetch(slow, executor="process")
except TypeError as error:
    print(error)
"""


@pytest.mark.parametrize("way", ["-c", "-"])
def test_functions_of_no_file_are_refused_without_cloudpickle(way):
    program = NO_CLOUDPICKLE + HEAD + NO_FILE
    command = [sys.executable, "-c", program] if way == "-c" else [sys.executable, "-"]
    given = None if way == "-c" else program
    made = subprocess.run(command, input=given, capture_output=True, text=True, timeout=100)
    assert made.stderr == ""
    lines = made.stdout.splitlines()
    assert [line.partition(":")[0] for line in lines] == ["map", "prefetch"]
    for line in lines:
        assert "worker processes cannot import slow, because the main module is no file" in line
        assert "python -m pip install cloudpickle" in line


def test_a_cloudpickle_that_cannot_be_imported_is_not_the_function_s_fault(tmp_path):
    (tmp_path / "cloudpickle.py").write_text("raise ImportError('it is broken')\n")
    code, out, err = run(
        tmp_path,
        "if __name__ == '__main__':\n"
        "    print(sum(x.sum() for x in made(slow)))\n"
        "    made(lambda x: x)\n",
    )
    assert (code, out) == (1, "660000\n")
    assert "repair cloudpickle, which cannot be imported (ImportError: it is broken)" in err


LIVE = """
def count():
    yield os.getpid()
    time.sleep(0.0 if {quick} else 100)
    yield from range(10**9)

def busy(x):
    return sum(range(2000)) and x

if __name__ == "__main__":
    its = [
        iter(ps.Dataset.from_generator(count, executor="process")),
        iter(ps.Dataset.from_generator(count, executor="process").prefetch(2)),
        iter(ps.prefetch(count, executor="process")),
        iter(ps.Dataset.range(10**9).map(busy, num_parallel_calls=2, executor="auto")),
        iter(ps.Dataset.range(10**9).filter(busy, num_parallel_calls=2, executor="process")),
    ]
    first = [next(it) for it in its[:3]]
    next(its[3])
    print(*map(int, first), flush=True)
"""


@pytest.mark.parametrize("quick", [True, False])
def test_exit_with_live_generators_ends_them_without_a_message(tmp_path, quick):
    program = start(tmp_path, LIVE.format(quick=quick))
    pids = workers_of(program)
    assert len(set(pids)) == 3
    _, err = program.communicate(timeout=100)
    assert (program.returncode, err) == (0, "")
    assert gone(pids)


def test_generators_end_with_a_process_that_is_killed(tmp_path):
    program = start(tmp_path, LIVE.format(quick=False) + "    time.sleep(100)\n")
    pids = workers_of(program)
    program.kill()
    program.communicate(timeout=100)
    assert gone(pids)


def test_ctrl_c_reaches_the_loop_over_a_generator(tmp_path):
    body = """
def count():
    yield os.getpid()
    time.sleep(100)

if __name__ == "__main__":
    it = iter(ps.Dataset.from_generator(count, executor="process"))
    print(int(next(it)), flush=True)
    try:
        next(it)
    except KeyboardInterrupt:
        print("interrupted", flush=True)
    it.close()
"""
    program = start(tmp_path, body)
    pids = workers_of(program)
    time.sleep(0.3)
    program.send_signal(signal.SIGINT)
    out, err = program.communicate(timeout=100)
    assert (out, err) == ("interrupted\n", "")
    assert gone(pids)
