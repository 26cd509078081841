"""The threads of ps.DataLoader: lookahead, initialisation, interrupts, shutdown."""

import gc
import itertools
import random
import subprocess
import sys
import threading
import weakref

import numpy as np
import pytest
from squares import Squares, workers

import penstock as ps
from scripts import wait_until


class Endless:
    """An infinite sampler, which a loader must not exhaust."""

    def __init__(self):
        self.given = 0

    def __iter__(self):
        for i in itertools.count():
            self.given += 1
            yield i % 10


def test_batches_ahead_are_limited():
    for factor, most in ((None, 4), (1, 4), (6, 12)):
        sampler = Endless()
        loader = ps.DataLoader(Squares(), 1, sampler=sampler, num_workers=2, prefetch_factor=factor)
        with iter(loader) as batches:
            for _ in range(20):
                next(batches)
            wait_until(lambda: sampler.given >= 20 + most // 2)  # noqa: B023
        # Allow several more for the engine's threads.
        assert sampler.given <= 20 + most + 6
    # Cheap calls do not increase the lookahead.
    sampler = Endless()
    with iter(ps.DataLoader(Squares(), 1, sampler=sampler, num_workers=2)) as batches:
        for _ in range(2000):
            next(batches)
        wait_until(lambda: sampler.given >= 2002)
    assert sampler.given <= 2000 + 4 + 4
    sampler = Endless()
    assert next(iter(ps.DataLoader(Squares(), 2, sampler=sampler)))["i"].tolist() == [0, 1]
    assert sampler.given == 2


def test_without_workers_everything_runs_here():
    seen = []

    class Here(Squares):
        def __getitem__(self, i):
            seen.append(threading.get_ident())
            return i

    batches = iter(ps.DataLoader(Here(), 2))
    assert seen == []
    next(batches)
    assert seen == [threading.get_ident()] * 2


def test_workers_fetch_at_the_same_time():
    meeting = threading.Barrier(3, timeout=60)

    class Together(Squares):
        def __getitem__(self, i):
            meeting.wait()
            return i

    assert len(list(ps.DataLoader(Together(9), 1, num_workers=3))) == 9


@pytest.mark.parametrize("count", [1, 2, 4])
def test_each_worker_is_prepared_before_it_fetches(count):
    prepared = threading.local()
    numbers = []

    def prepare(number):
        prepared.done = True
        numbers.append(number)

    class Prepared(Squares):
        def __getitem__(self, i):
            assert prepared.done
            return i

    loader = ps.DataLoader(Prepared(40), 1, num_workers=count, worker_init_fn=prepare)
    assert len(list(loader)) == 40
    assert set(numbers) <= set(range(count))
    assert len(numbers) <= count + 1


def test_an_error_of_worker_init_fn_is_raised():
    def refuse(number):
        raise OSError(f"worker {number}")

    with pytest.raises(OSError, match="worker 0"):
        next(iter(ps.DataLoader(Squares(), num_workers=1, worker_init_fn=refuse)))


def test_out_of_order_the_first_made_comes_first():
    first_may_go = threading.Event()

    class Slow(Squares):
        def __getitem__(self, i):
            if i == 0:
                assert first_may_go.wait(60)
            return i

    batches = iter(ps.DataLoader(Slow(6), 1, num_workers=2, in_order=False))
    first = int(next(batches)[0])
    assert first != 0
    first_may_go.set()
    assert sorted([first, *(int(b[0]) for b in batches)]) == list(range(6))


@pytest.mark.parametrize("count", [1, 2])
@pytest.mark.parametrize("seeds", [["random"], ["numpy.random"], ["random", "numpy.random"]])
def test_worker_init_fn_that_seeds_what_all_share_warns(seeds, count):
    def seed(number):
        for name in seeds:
            {"random": random, "numpy.random": np.random}[name].seed(1234)

    kept = random.getstate(), np.random.get_state()
    try:
        with pytest.warns(UserWarning, match=f"has seeded {', '.join(seeds)}\\. "):
            list(ps.DataLoader(Squares(), num_workers=count, worker_init_fn=seed))
    finally:
        random.setstate(kept[0])
        np.random.set_state(kept[1])


def test_worker_init_fn_that_draws_does_not_warn(recwarn):
    def draw(number):
        random.random()
        np.random.rand()

    list(ps.DataLoader(Squares(), num_workers=2, worker_init_fn=draw))
    assert not recwarn.list


def test_a_slow_batch_is_an_error_with_timeout():
    may_go = threading.Event()

    class Stuck(Squares):
        def __getitem__(self, i):
            assert i != 1 or may_go.wait(60)
            return i

    batches = iter(ps.DataLoader(Stuck(4), 1, num_workers=2, timeout=0.05))
    assert next(batches).tolist() == [0]
    with pytest.raises(RuntimeError, match=r"timed out after 0\.05 seconds: batch 1 "):
        next(batches)
    may_go.set()
    wait_until(lambda: batches._progress._made >= {1})
    assert next(batches).tolist() == [1]


def test_debug_mode_runs_everything_here():
    seen = set()

    class Here(Squares):
        def __getitem__(self, i):
            seen.add(threading.get_ident())
            return i

    with ps.experimental.debug_mode():
        assert len(list(ps.DataLoader(Here(), 2, num_workers=2, timeout=5))) == 5
    assert seen == {threading.get_ident()}


@workers
def test_a_pass_that_is_left_frees_the_dataset(workers):
    before = threading.active_count()
    for leave in ("break", "del", "error", "close"):
        dataset = Squares(1000)
        gone = weakref.ref(dataset)
        loader = ps.DataLoader(dataset, 1, **workers)
        batches = iter(loader)
        next(batches)
        if leave == "close":
            batches.close()
            assert list(batches) == []
        elif leave == "error":
            with pytest.raises(ZeroDivisionError):  # noqa: PT012
                for _ in loader:
                    raise ZeroDivisionError
        elif leave == "break":
            for _ in loader:
                break
        del batches, loader, dataset
        gc.collect()
        wait_until(lambda: gone() is None)  # noqa: B023
    # Threads wait half a second for the next pass; their number does not grow.
    assert threading.active_count() <= before + 12


def test_a_generator_behind_a_pass_that_is_left_is_closed():
    closed = threading.Event()

    def read():
        try:
            yield from range(1000)
        finally:
            closed.set()

    for count in (0, 2):
        closed.clear()
        loader = ps.DataLoader(read(), 2, num_workers=count)
        for _ in loader:
            break
        del loader
        gc.collect()
        # Without a GIL, this thread frees its own objects, whoever drops them, so it must not wait.
        wait_until(closed.is_set)


def test_an_interrupted_batch_still_comes():
    class Interrupted(Squares):
        interrupts = 1

        def __getitem__(self, i):
            if i == 2 and self.interrupts:
                self.interrupts -= 1
                raise KeyboardInterrupt
            return i

    loader = ps.DataLoader(Interrupted(6), 2)
    batches = iter(loader)
    next(batches)
    with pytest.raises(KeyboardInterrupt):
        next(batches)
    assert loader.state_dict()["batches"] == 1
    assert [b.tolist() for b in batches] == [[2, 3], [4, 5]]


INTERRUPTED = """
import os, signal, sys, threading, time
import penstock as ps

class Stuck:
    def __len__(self):
        return 100
    def __getitem__(self, i):
        if i == 4 and not done.is_set():
            started.set()
            done.wait(60)
        return i

started, done = threading.Event(), threading.Event()
def interrupt():
    started.wait(60)
    time.sleep(0.05)  # whatever the main thread does by then, it is interrupted
    os.kill(os.getpid(), signal.SIGINT)

loader = ps.DataLoader(Stuck(), 2, num_workers=2, timeout=float(sys.argv[1]))
seen = []
batches = iter(loader)
try:
    threading.Thread(target=interrupt).start()
    for batch in batches:
        seen += batch.tolist()
except KeyboardInterrupt:
    done.set()
    for batch in batches:
        seen += batch.tolist()
    print(seen == list(range(100)))
"""


@pytest.mark.parametrize("timeout", [0, 30])
def test_ctrl_c_interrupts_the_wait_and_loses_nothing(timeout):
    code = [sys.executable, "-c", INTERRUPTED, str(timeout)]
    run = subprocess.run(code, capture_output=True, text=True, timeout=100, check=False)
    assert (run.stdout, run.stderr) == ("True\n", "")
