"""os.fork during iteration: the parent continues; in the child, only a new iterator works."""

import os
import signal
import threading
import time

import numpy as np
import pytest

import penstock as ps
from scripts import MAY_FORK, run_script

Dataset = ps.Dataset


def in_child(function, seconds=20):
    """Run `function` in a fork; fail if it raises, crashes or hangs there."""
    pid = os.fork()
    if pid == 0:
        code = 1
        try:
            function()
            code = 0
        except BaseException:
            import traceback

            traceback.print_exc()
        finally:
            os._exit(code)
    deadline = time.monotonic() + seconds
    while time.monotonic() < deadline:
        done, status = os.waitpid(pid, os.WNOHANG)
        if done:
            assert os.waitstatus_to_exitcode(status) == 0
            return
        time.sleep(0.002)
    os.kill(pid, signal.SIGKILL)
    os.waitpid(pid, 0)
    pytest.fail("the child hangs")


def pipeline(n=200):
    ds = Dataset.range(n).map(lambda x: x + 1, num_parallel_calls=3)
    return ds.map(lambda x: {"x": x, "name": f"{x}"}).prefetch(3)


def total(ds):
    return sum(int(e["x"]) for e in ds)


def test_parent_goes_on_exactly():
    it = iter(pipeline())
    got = []
    for step, element in enumerate(it):
        got.append(int(element["x"]))
        if step in (0, 50, 150):
            in_child(lambda: None)
    assert got == list(range(1, 201))


def test_inherited_iterators_say_what_to_do():
    fresh = iter(pipeline())
    running = iter(pipeline())
    inline = iter(Dataset.range(9).map(lambda x: x))
    next(running), next(inline)

    def child():
        for it in (fresh, running, inline):
            with pytest.raises(RuntimeError, match=r"created before os.fork\(\); create a new one"):
                for _ in it:
                    pass
            with pytest.raises(RuntimeError, match=r"get_state: .*fork"):
                it.get_state()
            it.close()

    in_child(child)
    assert next(running)["x"] == 2


@pytest.mark.parametrize(
    "make",
    [
        lambda: Dataset.range(100),
        lambda: Dataset.range(100).map(str),
        lambda: Dataset.range(100).batch(2),
        lambda: Dataset.range(100).map(lambda x: (x, np.full(3, x))).batch(9).unbatch(),
    ],
    ids=["scalars", "strings", "arrays", "tuples"],
)
def test_child_gets_nothing_of_what_lies_ready_in_the_parent(make):
    it = iter(make())
    taken = [next(it) for _ in range(7)]  # block sizes have grown by then

    def child():
        for _ in range(2):
            with pytest.raises(RuntimeError, match=r"^next: .* created before os.fork\(\)"):
                next(it)

    in_child(child)
    assert len(taken) + len(list(it)) == len(list(make()))


def test_child_knows_that_an_iterator_has_ended():
    it = iter(Dataset.range(3))
    assert len(list(it)) == 3

    def child():
        assert list(it) == []

    in_child(child)


def test_child_makes_new_iterators_of_old_and_new_datasets():
    ds = pipeline()
    it = iter(ds)
    next(it)

    def child():
        assert total(ds) == total(pipeline()) == sum(range(1, 201))
        nested = Dataset.range(9).interleave(
            lambda x: pipeline(5), cycle_length=3, num_parallel_calls=3
        )
        assert total(nested) == 9 * 15
        in_child(lambda: total(ds))  # nested forks

    in_child(child)
    assert sum(1 for _ in it) == 199


def test_child_drops_inherited_iterators():
    its = [iter(pipeline()) for _ in range(4)]
    for it in its:
        next(it)

    def child():
        its.clear()
        import gc

        gc.collect()
        assert total(pipeline()) == sum(range(1, 201))

    in_child(child)


@pytest.mark.slow
def test_fork_while_threads_allocate_and_build():
    stop = threading.Event()

    def load(k):
        while not stop.is_set():
            for batch in (
                Dataset.range(64)
                .map(lambda x: (np.full(9000 + k, x), {f"k{k}": x}))
                .batch(4)
                .prefetch(2)
            ):
                batch[0].sum()

    threads = [threading.Thread(target=load, args=(k,)) for k in range(3)]
    for thread in threads:
        thread.start()
    try:
        for _ in range(15):
            in_child(
                lambda: [
                    total(pipeline(30)),
                    list(Dataset.range(8).map(lambda x: np.full(9000, x)).batch(2).prefetch(1)),
                ]
            )
    finally:
        stop.set()
        for thread in threads:
            thread.join(60)


def test_child_that_leaves_through_the_interpreter_is_silent():
    program = """
        it = iter(Dataset.range(1000).map(slow, num_parallel_calls=2).prefetch(2))
        next(it)
        pid = os.fork()
        if pid == 0:
            print(sum(int(x) for x in Dataset.range(9).map(abs, num_parallel_calls=2)), flush=True)
            sys.exit(5)
        code = os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])
        print(code, int(next(it)))
    """
    done = run_script(program, *MAY_FORK)
    assert (done.returncode, done.stdout, done.stderr) == (0, "36\n5 1\n", "")


@pytest.mark.parametrize("method", ["fork", "spawn", "forkserver"])
def test_multiprocessing(method, tmp_path):
    script = tmp_path / "main.py"
    script.write_text(f"""
import multiprocessing
import penstock as ps

def double(x):
    return 2 * x

def work(ds):
    return sum(int(x) for x in ds)

if __name__ == "__main__":
    ds = ps.Dataset.range(100).map(double, num_parallel_calls=2).prefetch(2)
    it = iter(ds)
    next(it)
    with multiprocessing.get_context("{method}").Pool(2) as pool:
        print(pool.map(work, [ds] * 4), flush=True)
    print(sum(1 for _ in it))
""")
    import subprocess
    import sys

    done = subprocess.run(
        [sys.executable, script], capture_output=True, text=True, timeout=100, check=False
    )
    assert (done.returncode, done.stdout, done.stderr) == (0, f"{[9900] * 4}\n99\n", "")


def test_function_that_starts_a_process():
    import subprocess

    ds = Dataset.range(4).map(
        lambda x: int(subprocess.check_output(["echo", str(x)])), num_parallel_calls=2
    )
    assert [int(x) for x in ds] == [0, 1, 2, 3]


# For each way in which a child may leave the forking function: the elements that the parent
# receives, and the exit code of the child.
FORKING = """
    def exits(): sys.exit(5)
    def exits_without_a_code(): sys.exit()
    def exits_with_a_text(): sys.exit("told")
    def fails(): raise ValueError("told")
    def runs_a_pipeline():
        sys.exit(sum(int(x) for x in Dataset.range(4).map(abs, num_parallel_calls=2)))
    def returns(): pass

    parent = os.getpid()
    def forks(x):
        if x == 2:
            child = os.fork()
            if child == 0:
                print("child", end=" ")
                leave()
            else:
                children.append(child)
        elif x > 2 and os.getpid() != parent:
            os.write(1, b"a child goes on ")
        return x
    def generator():
        for x in range(6):
            yield forks(x)
    class Rows:
        def __len__(self):
            return 6
        def __getitem__(self, i):
            return forks(i)
    numbers = Dataset.range(6)
    for leave in (exits, exits_without_a_code, exits_with_a_text, fails, runs_a_pipeline, returns):
        children = []
        elements = [int(x) for x in PIPELINE]
        code = os.waitstatus_to_exitcode(os.waitpid(*children, 0)[1])
        print(leave.__name__, elements == [*range(6)], code, flush=True)
"""

FORKING_IN_A_THREAD = {
    "parallel map": "numbers.map(forks, num_parallel_calls=2)",
    "map ahead": "numbers.map(forks).prefetch(1)",
    "map of several rows": "numbers.batch(6).unbatch().map(forks).prefetch(1)",
    "filter": "numbers.filter(lambda x: forks(x) >= 0).prefetch(1)",
    "generator": "Dataset.from_generator(generator).prefetch(1)",
    "rows": "Dataset.from_indexable(Rows()).map(int, num_parallel_calls=2)",
    "flat_map": "numbers.flat_map(lambda x: Dataset.from_tensors(forks(x))).prefetch(1)",
    "an iterator in a function": (
        "Dataset.range(1).map(lambda _: np.array(list(numbers.map(forks))), num_parallel_calls=2)"
        ".unbatch()"
    ),
}


@pytest.mark.parametrize("name", FORKING_IN_A_THREAD)
def test_a_child_that_a_function_has_forked_ends_where_the_function_does(name):
    done = run_script(FORKING.replace("PIPELINE", FORKING_IN_A_THREAD[name]))
    # In the child, the loop over the parent's iterator continues, and raises the error there.
    inside = name == "an iterator in a function"
    codes = {"exits": 5, "exits_without_a_code": 0, "exits_with_a_text": 1, "fails": 1}
    codes |= {"runs_a_pipeline": 6, "returns": int(inside)}
    lines = [f"child {leave} True {code}" for leave, code in codes.items()]
    assert (done.returncode, done.stdout.splitlines()) == (0, lines), done.stderr
    shown = ["told", "ValueError: told"]
    shown += ["created before os.fork()"] if inside else []
    traced = 1 + inside
    assert all(text in done.stderr for text in shown)
    assert done.stderr.count("Traceback") == traced


@pytest.mark.parametrize("pipeline", ["numbers.map(forks)", "Dataset.from_generator(generator)"])
def test_what_such_a_child_raises_inside_next_comes_out_of_it(pipeline):
    done = run_script(FORKING.replace("PIPELINE", pipeline).replace(", returns)", ")"))
    codes = {"exits": 5, "exits_without_a_code": 0, "exits_with_a_text": 1, "fails": 1}
    lines = [
        f"child {leave} True {code}" for leave, code in (codes | {"runs_a_pipeline": 6}).items()
    ]
    assert (done.returncode, done.stdout.splitlines()) == (0, lines), done.stderr
    assert "ValueError: told" in done.stderr
    assert done.stderr.count("Traceback") == 1


def test_a_child_shares_no_job_with_its_parent():
    def share(number):  # few enough leases that neither waits for the other
        how = {"engine": "local", "num_workers": 1, "split": 4, "num_consumers": 2}
        ds = Dataset.range(40).distribute(shared=True, name="forked", consumer_index=number, **how)
        return ds.shard_evenly(2, number)

    it = iter(share(0))
    assert next(it) == 0

    def child():
        assert [int(x) for x in share(1)] == list(range(1, 40, 2))

    in_child(child)
    assert [int(x) for x in it] == list(range(2, 40, 2))
