"""Failures of worker processes and missing resources, observed from outside."""

import contextlib
import os
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

from worker_programs import HEAD, NO_CLOUDPICKLE, SHOW_WORKERS, gone, run, start, workers_of

resource = pytest.importorskip("resource")
pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="worker processes need Linux")

# Prints a line for each failed element.
TELL = """
def tell(ds):
    it = iter(ds)
    while True:
        try:
            next(it)
        except StopIteration:
            break
        except Exception as error:
            print(type(error).__name__, error, *error.__notes__, flush=True)
"""


def test_each_way_to_end_is_an_error_of_its_element(tmp_path):
    code, out, err = run(
        tmp_path,
        TELL + "import resource, signal\n"
        "def ends(x):\n"
        "    if x == 2: os.kill(os.getpid(), signal.SIGSEGV)\n"
        "    if x == 4: os.kill(os.getpid(), signal.SIGKILL)\n"
        "    if x == 6: os._exit(7)\n"
        "    if x == 10:\n"
        "        used = int(open('/proc/self/statm').read().split()[0]) * resource.getpagesize()\n"
        "        resource.setrlimit(resource.RLIMIT_AS, (used + 2**24, resource.RLIM_INFINITY))\n"
        "        return np.ones(2**27)\n"
        "    return np.full(1000, x)\n"
        "tell(made(ends))\n",
    )
    assert (code, err) == (0, "")
    segv, kill, left, memory = out.splitlines()
    assert "WorkerError map: worker process" in segv
    assert "is killed by signal: SIGSEGV (11) while it had this element" in segv
    assert "in stage map(ends), element 2 (2)" in segv
    assert "signal: SIGKILL (9) while it had this element; the system does that where mem" in kill
    assert "has left with exit code 7 while it had this element" in left
    assert "MemoryError" in memory
    assert "in stage map(ends), element 10 (10)" in memory


def files_with_names(pids, folders):
    """Return the files in these folders that processes have open or mapped."""
    found = set()
    for pid in pids:
        lines = Path(f"/proc/{pid}/maps").read_text().splitlines()
        found |= {line.split(maxsplit=5)[-1] for line in lines}
        for link in Path(f"/proc/{pid}/fd").iterdir():
            with contextlib.suppress(FileNotFoundError):
                found.add(str(link.readlink()))
    return {name for name in found if name.startswith(tuple(map(str, folders)))}


@pytest.mark.parametrize("forks", [False, True])
def test_nothing_is_left_of_a_process_that_is_killed(tmp_path, forks):
    temporary = tmp_path / "temporary"
    temporary.mkdir()
    program = start(
        tmp_path,
        "def busy(x):\n"
        "    while x == 3: pass\n"
        "    return np.full((100, 100), x)\n"
        "it = iter(made(busy)); next(it)\n"
        "it2 = iter(made(stuck)); next(it2)\n"
        + SHOW_WORKERS
        # A child that keeps running must not keep its parent's workers alive.
        + (f"if {forks} and os.fork() == 0:\n    os.closerange(0, 3); time.sleep(30)\n")
        + "print('ready', flush=True)\ntime.sleep(60)\n",
        env={**os.environ, "TMPDIR": str(temporary)},
        start_new_session=True,
    )
    pids = workers_of(program)
    assert len(pids) >= 2
    assert program.stdout.readline() == "ready\n"
    assert not files_with_names([program.pid, *pids], ["/dev/shm", temporary])
    program.kill()
    try:
        assert gone(pids)
        assert not list(temporary.iterdir())
    finally:
        os.killpg(program.pid, signal.SIGKILL)
        program.communicate()


def test_a_worker_that_has_forked_can_still_be_missed(tmp_path):
    code, out, _ = run(
        tmp_path,
        TELL + "import signal, subprocess\n"
        "def forks(x):\n"
        "    if x == 2:\n"
        "        os.system('sleep 90 >/dev/null 2>&1 &')\n"
        "        if os.fork() == 0: os.closerange(0, 3); time.sleep(90); os._exit(0)\n"
        "        os.kill(os.getpid(), signal.SIGKILL)\n"
        "    return x\n"
        "started = time.monotonic()\n"
        "tell(made(forks))\n"
        "print(time.monotonic() - started < 80)\n",
    )
    assert code == 0
    error, quick = out.splitlines()
    assert "SIGKILL" in error
    assert quick == "True"


def test_a_function_whose_module_ends_the_process_is_one_error_for_each_element(tmp_path):
    (tmp_path / "deadly.py").write_text("import os\nos._exit(5)\n")
    code, out, err = run(
        tmp_path,
        TELL + "class Deadly:\n"
        "    def __call__(self, x): return x\n"
        "    def __reduce__(self): return __import__, ('deadly',)\n"
        "tell(made(Deadly(), n=2))\n"
        "print(len(list(made(slow))))\n",
    )
    assert (code, err) == (0, "")
    *errors, last = out.splitlines()
    assert len(errors) == 2
    assert all("has left with exit code 5 before it took this element" in each for each in errors)
    assert last == "12"


def test_the_number_of_open_files_limits_the_workers_and_not_the_calls(tmp_path):
    code, out, err = run(
        tmp_path,
        "import resource\n"
        "resource.setrlimit(resource.RLIMIT_NOFILE, (40, 64))\n"
        "print(len(list(made(slow, n=100, calls=30))), len(_core.idle_workers()) < 20)\n",
    )
    assert (code, out, err) == (0, "100 True\n", "")


def test_calls_do_not_wait_for_the_worker_of_a_generator(tmp_path):
    code, out, err = run(
        tmp_path,
        TELL + "import itertools, resource\n"
        "it = iter(ps.Dataset.from_generator(itertools.count, executor='process'))\n"
        "next(it)\n"
        "ds = made(slow, n=2)\n"
        "hard = resource.getrlimit(resource.RLIMIT_NOFILE)[1]\n"
        "resource.setrlimit(resource.RLIMIT_NOFILE, (4, hard))\n"
        "tell(ds)\n"
        "print(int(next(it)))\n",
    )
    assert (code, err) == (0, "")
    *refused, value = out.splitlines()
    assert ["the system refused" in line for line in refused] == [True, True]
    assert value == "1"


def as_other_user():
    """Return a command that runs a program as an unprivileged user, or skip."""
    tool = shutil.which("setpriv")
    if tool is None or os.geteuid() != 0:
        pytest.skip("another user can be had by root only")
    command = [tool, "--reuid=54321", "--regid=54321", "--clear-groups"]
    command += ["--inh-caps=+dac_read_search", "--ambient-caps=+dac_read_search"]
    if subprocess.run([*command, "true"], capture_output=True).returncode:
        pytest.skip("another user cannot be had here")
    return command


@pytest.mark.parametrize("limit", [1, 12])
def test_few_processes_are_enough_or_an_error_says_so(tmp_path, limit):
    before = as_other_user()
    tmp_path.chmod(0o755)
    head = "import os\nos.environ['OPENBLAS_NUM_THREADS'] = '1'\n"
    code, out, err = run(
        tmp_path,
        head + "import penstock as ps\nimport time\n"
        "def slow(x):\n    time.sleep(0.02)\n    return x\n"
        "calls = dict(num_parallel_calls=8, executor='process')\n"
        "try:\n"
        "    print(len(list(ps.Dataset.range(100).map(slow, **calls))))\n"
        "except ps.WorkerError as error:\n"
        "    print(error)\n",
        head="",
        before=before,
        preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_NPROC, (limit, limit)),
    )
    assert code == 0, err
    if limit == 12:
        assert out == "100\n"
    else:
        assert "the system refused a process" in out
        assert "ulimit -u" in out


def test_a_small_dev_shm_does_not_matter(tmp_path):
    mount = "mount -t tmpfs -o size=64k tmpfs /dev/shm"
    unshare = shutil.which("unshare")
    before = [unshare or "unshare", *(["-Ur"] if os.geteuid() else []), "-m"]
    if not unshare or subprocess.run([*before, "sh", "-c", mount], capture_output=True).returncode:
        pytest.skip("no other /dev/shm can be had here")
    code, out, err = run(
        tmp_path,
        "def large(x):\n    return np.full(2**20, x)\n"
        "print(os.statvfs('/dev/shm').f_blocks * os.statvfs('/dev/shm').f_frsize)\n"
        "print(all(np.all(np.asarray(x) == i) for i, x in enumerate(made(large))))\n",
        before=[*before, "sh", "-c", f'{mount}; exec "$@"', "sh"],
    )
    assert (code, out, err) == (0, "65536\nTrue\n", "")


def test_an_interrupt_ends_the_program_without_words_of_its_workers(tmp_path):
    program = start(
        tmp_path,
        "def busy(x):\n"
        "    while x == 3: pass\n"
        "    return x\n"
        "it = iter(made(busy).prefetch(2))\n"
        "print(*[int(next(it)) for _ in range(3)])\n" + SHOW_WORKERS + "try:\n"
        "    list(it)\n"
        "except KeyboardInterrupt:\n"
        "    sys.exit(3)\n",
        start_new_session=True,
    )
    assert program.stdout.readline() == "0 1 2\n"
    pids = workers_of(program)
    time.sleep(0.2)
    os.killpg(program.pid, signal.SIGINT)
    out, err = program.communicate(timeout=100)
    assert (program.returncode, out, err) == (3, "", "")
    assert gone(pids)


@pytest.mark.parametrize("way", ["", "sys.exit(0)", "raise ValueError", "os._exit(0)"])
def test_a_program_that_ends_in_the_middle_takes_its_workers_with_it(tmp_path, way):
    program = start(
        tmp_path,
        "its = [iter(made(stuck, 100).prefetch(2)), iter(made(slow, 100, 3))]\n"
        "for it in its: next(it)\n" + SHOW_WORKERS + way + "\n",
    )
    pids = workers_of(program)
    assert len(pids) >= 2
    _, err = program.communicate(timeout=100)
    assert err.count("\n") <= (4 if "raise" in way else 0), err
    assert gone(pids)


def test_workers_import_nothing_of_the_program(tmp_path):
    (tmp_path / "trainer.py").write_text("weights = bytearray(2**20)\n")
    code, out, err = run(
        tmp_path,
        "import trainer, sqlite3, unittest.mock\n"
        "def loaded(x):\n"
        "    import sys\n"
        "    return ' '.join(sorted({name.partition('.')[0] for name in sys.modules}))\n"
        "print(next(iter(made(loaded))))\n",
    )
    assert (code, err) == (0, "")
    modules = out.split()
    assert {"numpy", "penstock"} < set(modules)
    assert not {"trainer", "sqlite3", "unittest", "multiprocessing"} & set(modules)


def test_a_missing_guard_starts_no_further_processes(tmp_path):
    count = tmp_path / "count"
    code, _, err = run(
        tmp_path,
        f"open({str(count)!r}, 'a').write('.')\nprint(len(list(made(slow))))\n",
        NO_CLOUDPICKLE + HEAD,
    )
    assert code == 1
    assert "put what starts the pipeline under `if __name__ == '__main__':`" in err.splitlines()[-2]
    assert count.stat().st_size <= 4  # this program, and its workers
