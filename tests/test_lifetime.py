"""break, drop and close, anywhere: threads exit, memory is freed, nothing crashes."""

import gc
import threading
import time

import numpy as np
import pytest

import penstock as ps
from ends import ENDS, end
from process import busy
from scripts import Gate, run_script, wait_until

Dataset = ps.Dataset


def endless():
    i = 0
    while True:
        yield i
        i += 1


def nap(x):
    time.sleep(0.3)
    return x


# The documented limit is one second; loaded machines get more, so that only a hang fails.
WITHIN = 60.0


PIPELINES = {
    "inline": lambda: Dataset.from_generator(endless).map(lambda x: x),
    "prefetch": lambda: Dataset.from_generator(endless).prefetch(4),
    "native prefetch": lambda: Dataset.range(10**12).shuffle(100).batch(3).prefetch(4),
    "parallel map": lambda: Dataset.range(10**12).map(lambda x: x + 1, num_parallel_calls=4),
    "parallel map out of order": lambda: Dataset.range(10**12).map(
        lambda x: x + 1, num_parallel_calls=4, deterministic=False
    ),
    "AUTOTUNE": lambda: (
        Dataset.range(10**12).map(lambda x: x, num_parallel_calls=ps.AUTOTUNE).prefetch(ps.AUTOTUNE)
    ),
    "parallel interleave": lambda: Dataset.range(10**12).interleave(
        lambda x: Dataset.from_generator(endless), cycle_length=4, num_parallel_calls=4
    ),
    "all of it": lambda: (
        Dataset.range(10**12)
        .interleave(
            lambda x: Dataset.range(5).map(lambda y: x + y, num_parallel_calls=2).prefetch(1),
            cycle_length=4,
            num_parallel_calls=2,
        )
        .shuffle(10)
        .batch(4)
        .map(lambda b: b * 2, num_parallel_calls=2)
        .unbatch()
        .prefetch(3)
    ),
}


@pytest.mark.parametrize("how", ENDS)
@pytest.mark.parametrize("name", PIPELINES)
def test_threads_end_wherever_the_iteration_does(name, how):
    for taken in (0, 1, 7):
        end(iter(PIPELINES[name]()), taken, how)
        wait_until(lambda: not busy(), WITHIN)


@pytest.mark.parametrize("name", PIPELINES)
def test_closing_ends(name):
    it = iter(PIPELINES[name]())
    next(it)
    it.close()


@pytest.mark.parametrize(
    "make",
    [
        lambda f: Dataset.range(99).map(f).prefetch(2),
        lambda f: Dataset.range(99).map(f, num_parallel_calls=3),
        lambda f: Dataset.range(99).interleave(
            lambda x: Dataset.range(99).map(f), cycle_length=2, num_parallel_calls=2
        ),
    ],
    ids=["prefetch", "parallel map", "interleave"],
)
class TestWhileTheFunctionRuns:
    def begin(self, make):
        """Return an iterator whose next() waits for a function inside its gate."""
        gate = Gate()
        it = iter(make(gate))
        got = []
        consumer = threading.Thread(target=lambda: got.extend(it))
        consumer.start()
        assert gate.inside.wait(60)
        return gate, it, got, consumer

    def test_close_ends_the_waiting_next(self, make):
        gate, it, got, consumer = self.begin(make)
        closer = threading.Thread(target=it.close)
        closer.start()
        consumer.join(60)
        assert not consumer.is_alive()
        assert got == []
        assert closer.is_alive()  # close waits: the function uses the caller's objects
        gate.open.set()
        closer.join(60)
        assert not closer.is_alive()
        assert next(it, None) is None

    def test_drop_does_not_wait(self, make):
        gate = Gate()
        it = iter(make(gate))
        consumer = threading.Thread(target=lambda i=it: next(i, None))
        consumer.start()
        assert gate.inside.wait(60)
        threading.Timer(0.05, it.close).start()
        consumer.join(60)
        del it, consumer
        assert not gate.left.is_set()
        gate.open.set()
        gc.collect()
        wait_until(lambda: not busy(), WITHIN)


@pytest.mark.parametrize("parallel", [None, 1, 3], ids=["inline", "one thread", "three"])
@pytest.mark.parametrize("how", ["close", "drop"])
def test_function_that_ends_its_own_iterator(parallel, how):
    held = []

    def function(x):
        if x == 3 and held:
            if how == "close":
                held[0].close()
            else:
                held.clear()
        return x

    ds = Dataset.range(10**12).map(function, num_parallel_calls=parallel)
    held.append(iter(ds))
    got = []
    try:
        for _ in range(1000):
            got.append(int(next(held[0])))
    except (StopIteration, IndexError):
        pass
    assert got == list(range(len(got)))
    assert len(got) <= 5
    wait_until(lambda: not busy(), WITHIN)


def test_last_reference_dropped_by_a_function_of_another_run():
    held = [iter(Dataset.range(10**12).map(lambda x: x, num_parallel_calls=2))]
    next(held[0])
    assert list(Dataset.range(3).map(lambda x: (held.clear(), x)[1], num_parallel_calls=2)) == [
        0,
        1,
        2,
    ]
    wait_until(lambda: not busy(), WITHIN)


def test_infinite_source_with_take_ends():
    assert [int(x) for x in Dataset.from_generator(endless).prefetch(8).take(3)] == [0, 1, 2]
    wait_until(lambda: not busy(), WITHIN)


def test_generator_is_closed_where_it_ran():
    closed = []

    def source():
        try:
            yield from endless()
        finally:
            closed.append(threading.current_thread().name)

    it = iter(Dataset.from_generator(source).prefetch(2))
    next(it)
    it.close()
    assert closed == ["penstock"]
    it = iter(Dataset.from_generator(source))
    next(it)
    it.close()
    assert closed == ["penstock", threading.current_thread().name]


def test_memory_of_a_thousand_iterators_is_flat():
    done = run_script(
        """
        import gc
        def rss():
            with open("/proc/self/statm") as f:
                return int(f.read().split()[1]) * os.sysconf("SC_PAGE_SIZE")
        data = np.zeros((64, 10_000))
        def one():
            ds = Dataset.from_tensor_slices(data).shuffle(8)
            ds = ds.map(lambda x: x + 1, num_parallel_calls=2)
            ds = ds.batch(4).prefetch(2)
            it = iter(ds)
            next(it)
        for _ in range(200):
            one()
        before = rss()
        for _ in range(1000):
            one()
        gc.collect()
        print((rss() - before) / 2**20)
        print(threading.active_count())
    """,
        timeout=100,
    )
    grown, threads = done.stdout.split()
    assert float(grown) < 30, done.stdout
    assert int(threads) < 40


@pytest.mark.slow
def test_budget_bounds_what_is_buffered():
    done = run_script(
        """
        MB = 2**20
        options = ps.Options()
        options.memory_limit = 16 * MB
        made = []
        def big(x):
            made.append(1)
            return np.ones(4 * MB, np.uint8)
        for build in (
            lambda: Dataset.range(60).map(big).prefetch(60),
            lambda: Dataset.range(60).map(big, num_parallel_calls=4).prefetch(60),
            lambda: Dataset.range(60).map(big, num_parallel_calls=4, deterministic=False),
            lambda: Dataset.range(6).interleave(
                lambda x: Dataset.range(10).map(big), cycle_length=6, num_parallel_calls=6),
            lambda: Dataset.range(60).map(big, num_parallel_calls=4).batch(2).prefetch(60),
        ):
            made.clear()
            it = iter(build().with_options(options))
            next(it)
            last = -1
            while len(made) != last:
                last = len(made)
                time.sleep(0.3)
            ahead = len(made)
            rest = sum(1 for _ in it)
            print(ahead * 4, len(made))
    """,
        timeout=100,
    )
    assert done.stderr == ""
    lines = [tuple(map(int, line.split())) for line in done.stdout.splitlines()]
    assert len(lines) == 5
    for ahead, made in lines:
        assert made == 60
        assert ahead <= 16 + 12 * 4  # the limit, plus what each thread and stage may always hold


def test_close_races_next_races_drop():
    for round_ in range(60):
        it = iter(Dataset.range(10**12).map(lambda x: x, num_parallel_calls=2).prefetch(2))
        start = threading.Barrier(4)

        def work(what, it=it, start=start):
            start.wait()
            what(it)

        def drain(it):
            for _ in it:
                pass

        threads = [
            threading.Thread(target=work, args=(what,))
            for what in (drain, drain, lambda it, n=round_: (time.sleep(n * 1e-5), it.close()))
        ]
        for thread in threads:
            thread.start()
        start.wait()
        del it
        for thread in threads:
            thread.join(60)
            assert not thread.is_alive()


def test_array_that_was_given_out_outlives_its_iterator():
    it = iter(Dataset.range(100).batch(10).map(lambda b: b + 1, num_parallel_calls=2).prefetch(2))
    batch = next(it)
    it.close()
    del it
    gc.collect()
    np.testing.assert_array_equal(batch, np.arange(1, 11))
