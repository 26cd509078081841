"""Ctrl-C in a blocked next() takes effect immediately, and loses no element."""

import contextlib
import os
import signal
import threading
import time

import numpy as np
import pytest

import penstock as ps
from penstock import _core
from scripts import run_script

Dataset = ps.Dataset
N = 6


class Slow:
    """Signals when the element at `at` has begun, and is slow once at that point."""

    def __init__(self, at=2, spin=False):
        self.at = at
        self.spin = spin
        self.begun = threading.Event()

    def __call__(self, x):
        if x == self.at and not self.begun.is_set():
            self.begun.set()
            end = time.monotonic() + 0.6
            while time.monotonic() < end:
                if not self.spin:
                    time.sleep(0.6)
        return x

    def generator(self):
        for i in range(N):
            yield self(i)


PIPELINES = {
    "prefetch over a slow generator": lambda f: Dataset.from_generator(f.generator).prefetch(2),
    "parallel map": lambda f: Dataset.range(N).map(f, num_parallel_calls=2),
    "parallel map behind prefetch": lambda f: (
        Dataset.range(N).map(f, num_parallel_calls=2).prefetch(1)
    ),
    "parallel interleave": lambda f: Dataset.range(1).interleave(
        lambda _: Dataset.range(N).map(f), cycle_length=2, num_parallel_calls=2
    ),
    "inline map": lambda f: Dataset.range(N).map(f),
    "inline map of arrays": lambda f: (
        Dataset.range(N)
        .map(lambda x: {"x": np.full(3, x), "name": f"{x}"})
        .map(lambda d: (f(d["x"][0]), d)[1])
        .map(lambda d: int(d["name"]))
    ),
    "inline map of blocks": lambda f: Dataset.range(N).batch(N).unbatch().map(f),
    "inline filter": lambda f: Dataset.range(N).filter(lambda x: f(x) >= 0),
    "inline flat_map": lambda f: Dataset.range(N).flat_map(lambda x: Dataset.from_tensors(f(x))),
    "batch being filled inline": lambda f: Dataset.range(N).map(f).batch(3).unbatch(),
    "batch being filled": lambda f: (
        Dataset.from_generator(f.generator).prefetch(1).batch(3).unbatch()
    ),
    "shuffle buffer being filled": lambda f: Dataset.range(N).map(f).shuffle(N, seed=1),
    "keys of a window": lambda f: Dataset.range(N).group_by_window(
        lambda x: f(x) * 0, lambda key, window: window, 4
    ),
    "bucket being filled": lambda f: (
        Dataset.from_generator(f.generator)
        .prefetch(1)
        .bucket_by_sequence_length(lambda x: 1, [2], [4, 4], no_padding=True)
        .unbatch()
    ),
    "zip": lambda f: Dataset.zip((Dataset.range(N), Dataset.range(N).map(f))).map(lambda a, b: b),
    "nested": lambda f: Dataset.range(N).map(
        lambda x: max(int(y) for y in Dataset.range(x, x + 1).map(f))
    ),
}


class Interrupter:
    """Sends SIGINT once, soon after `event`."""

    def __init__(self, event):
        self.event = event
        self.thread = threading.Thread(target=self.run)
        self.thread.start()

    def run(self):
        assert self.event.wait(60)
        time.sleep(0.05)  # the main thread should be inside next(); any moment is correct
        os.kill(os.getpid(), signal.SIGINT)


@pytest.mark.parametrize("spin", [False, True], ids=["sleeping", "computing"])
@pytest.mark.parametrize("name", PIPELINES)
def test_interrupt_is_answered_and_loses_nothing(name, spin):
    slow = Slow(spin=spin)
    values = []
    interrupts = 0
    with iter(PIPELINES[name](slow)) as it:
        interrupter = Interrupter(slow.begun)
        while True:
            try:
                values.append(int(next(it)))
            except KeyboardInterrupt:
                interrupts += 1
            except StopIteration:
                break
    interrupter.thread.join()
    assert sorted(values) == list(range(N))
    if name != "shuffle buffer being filled":
        assert values == list(range(N))
    assert interrupts == 1


@pytest.mark.parametrize("takes", [0, 1, 10**9])
@pytest.mark.parametrize("calls", [None, 1, 2])
def test_interrupt_is_answered_where_all_rows_are_dropped(calls, takes):
    _core.change_sides(takes)
    try:
        none = ps.native(lambda x: x < 0)
        with iter(Dataset.range(10**15).filter(none, num_parallel_calls=calls)) as it:
            begun = threading.Event()
            interrupter = Interrupter(begun)
            begun.set()
            with pytest.raises(KeyboardInterrupt):
                next(it)
            interrupter.thread.join()
    finally:
        _core.change_sides(0)


@pytest.mark.parametrize(
    "name",
    [
        "inline map",
        "inline filter",
        "inline flat_map",
        "batch being filled inline",
        "prefetch over a slow generator",
    ],
)
def test_state_saved_after_an_interrupt_is_exact(name):
    slow = Slow(spin=True)
    it = iter(PIPELINES[name](slow))
    interrupter = Interrupter(slow.begun)
    values = []
    while interrupter.thread.is_alive() or len(values) < 1:
        try:
            values.append(int(next(it)))
        except KeyboardInterrupt:
            break
    interrupter.thread.join()
    again = iter(PIPELINES[name](slow))
    again.set_state(it.get_state())
    assert values + [int(x) for x in again] == list(range(N))
    assert values + [int(x) for x in it] == list(range(N))


class Interrupted:
    """A generator's values, with one Ctrl-C while value `at` is made."""

    def __init__(self, at):
        self.at = at

    def strike(self, i):
        if i == self.at:
            self.at = None
            signal.raise_signal(signal.SIGINT)

    def generator(self):
        for i in range(N):
            self.strike(i)
            yield i

    def iterator(self):
        outer = self

        class Values:
            i = 0

            def __iter__(self):
                return self

            def __next__(self):
                outer.strike(self.i)
                if self.i == N:
                    raise StopIteration
                self.i += 1
                return self.i - 1

        return Values()


@pytest.mark.parametrize("at", [0, 3, N - 1])
@pytest.mark.parametrize("behind", [lambda ds: ds, lambda ds: ds.batch(1).unbatch()])
def test_a_generator_that_an_interrupt_has_ended_says_so_once(at, behind):
    source = Interrupted(at)
    ds = behind(Dataset.from_generator(source.generator))
    it = iter(ds)
    assert [int(next(it)) for _ in range(at)] == list(range(at))
    with pytest.raises(KeyboardInterrupt):
        next(it)
    state = it.get_state()
    with pytest.raises(RuntimeError, match=rf"KeyboardInterrupt .* element {at} .* did not come"):
        next(it)
    assert list(it) == []
    again = iter(ds)
    again.set_state(state)
    assert [int(x) for x in again] == list(range(at, N))


def test_an_iterator_that_outlives_an_interrupt_goes_on():
    it = iter(Dataset.from_generator(Interrupted(2).iterator))
    values = []
    for _ in range(N):
        with contextlib.suppress(KeyboardInterrupt):
            values.append(int(next(it)))
    assert values + [int(x) for x in it] == list(range(N))


def test_an_interrupt_while_a_state_is_restored_is_raised():
    source = Interrupted(None)
    ds = Dataset.from_generator(source.generator)
    it = iter(ds)
    for _ in range(4):
        next(it)
    source.at = 1
    again = iter(ds)
    again.set_state(it.get_state())
    with pytest.raises(KeyboardInterrupt):
        next(again)
    with pytest.raises(RuntimeError, match="KeyboardInterrupt"):
        next(again)


def test_interrupt_while_the_next_epoch_fills_its_buffer_is_answered_at_once():
    slow = Slow(at=1, spin=True)
    seen = []

    def function(x):
        if len(seen) >= N:
            slow(x)
        seen.append(int(x))
        return x

    values, interrupted_at = [], None
    with iter(Dataset.range(N).map(function).shuffle(N, seed=1).repeat(2)) as it:
        interrupter = Interrupter(slow.begun)
        while True:
            try:
                values.append(int(next(it)))
            except KeyboardInterrupt:
                interrupted_at = len(values)
            except StopIteration:
                break
    interrupter.thread.join()
    assert sorted(values[:N]) == sorted(values[N:]) == list(range(N))
    assert interrupted_at is not None
    assert interrupted_at < N  # while the first epoch was drained


def test_interrupt_while_another_thread_is_inside_next():
    slow = Slow(at=0)
    it = iter(Dataset.range(N).map(slow).prefetch(1))
    taken = []
    other = threading.Thread(target=lambda: taken.append(int(next(it))))
    other.start()
    assert slow.begun.wait(60)
    interrupter = Interrupter(slow.begun)
    with pytest.raises(KeyboardInterrupt):
        taken.append(int(next(it)))
    other.join()
    interrupter.thread.join()
    assert taken + [int(x) for x in it] == list(range(N))


def test_exception_of_a_signal_handler_is_raised_by_next():
    class Alarm(Exception):
        pass

    def handler(*_):
        raise Alarm

    former = signal.signal(signal.SIGALRM, handler)
    try:
        slow = Slow(at=0)
        it = iter(Dataset.range(N).map(slow, num_parallel_calls=2))
        signal.setitimer(signal.ITIMER_REAL, 0.1)
        with pytest.raises(Alarm):
            next(it)
        assert [int(x) for x in it] == list(range(N))
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, former)


def test_handler_that_returns_does_not_end_the_wait():
    seen = []
    former = signal.signal(signal.SIGALRM, lambda *_: seen.append(1))
    try:
        slow = Slow(at=0)
        it = iter(Dataset.range(N).map(slow, num_parallel_calls=2))
        signal.setitimer(signal.ITIMER_REAL, 0.02, 0.02)
        assert [int(x) for x in it] == list(range(N))
        assert len(seen) > 3
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, former)


def test_interrupts_at_random_moments_lose_nothing():
    # Ctrl-C may arrive anywhere: starting a thread, waiting, converting, in the function.
    want = list(range(200))
    for round_ in range(30):
        ds = Dataset.range(200).map(lambda x: x).map(lambda x: x, num_parallel_calls=2)
        ds = ds.prefetch(2).map(lambda x: x).batch(7).unbatch()
        values = []
        timer = threading.Timer(0.0003 * round_, os.kill, (os.getpid(), signal.SIGINT))
        it = iter(ds)
        hit = False
        try:
            timer.start()
            for x in it:
                values.append(int(x))
            timer.join()
            time.sleep(0.01)
        except KeyboardInterrupt:
            hit = True
        while not hit:  # it arrived after the end
            try:
                timer.join()
                time.sleep(0.01)
            except KeyboardInterrupt:
                hit = True
        values += [int(x) for x in it]
        # The interrupt may arrive in the test between next() and append(): then one is lost there.
        assert values == sorted(set(values))
        assert len(set(want) - set(values)) <= 1


ENDLESS = """
never = ps.native(lambda x: x < 0)
numbers = Dataset.range(3).repeat()
nothing = Dataset.from_tensors(np.zeros(0)).repeat()
PIPELINES = {
    "filter": numbers.filter(never),
    "unique": numbers.unique().skip(3),
    "skip": numbers.skip(2**62),
    "shard": Dataset.range(2**62).shard(2**61, 2**60),
    "shard_evenly": numbers.filter(never).shard_evenly(3, 1),
    "window": numbers.window(1, shift=2**62).skip(1),
    "unbatch": nothing.unbatch(),
    "pack": nothing.pack(4),
    "shuffle": numbers.filter(never).shuffle(5),
}
"""


@pytest.mark.slow
def test_native_stages_that_pull_for_ever_without_a_result_can_be_interrupted():
    # In a separate process, so that the time limit ends a program that hangs.
    done = run_script(
        ENDLESS
        + """
class Alarm(Exception):
    pass
def handler(*_):
    raise Alarm
signal.signal(signal.SIGALRM, handler)
for name, dataset in PIPELINES.items():
    it = iter(dataset)
    for _ in range(2):  # and again behind an interruption
        signal.setitimer(signal.ITIMER_REAL, 0.02)
        try:
            next(it)
        except Alarm:
            print(name)
"""
    )
    names = [
        *("filter", "unique", "skip", "shard", "shard_evenly"),
        *("window", "unbatch", "pack", "shuffle"),
    ]
    assert done.stdout.split() == [name for name in names for _ in range(2)], done.stderr


def test_native_stages_that_pull_for_ever_let_other_threads_close_them():
    done = run_script(
        ENDLESS
        + """
for name in ("filter", "unique", "skip", "shard", "shard_evenly", "unbatch"):
    it = iter(PIPELINES[name])
    closer = threading.Timer(0.02, it.close)
    closer.start()
    try:
        next(it)
    except Exception as error:
        print(name, type(error).__name__)
    closer.join()
"""
    )
    names = ["filter", "unique", "skip", "shard", "shard_evenly", "unbatch"]
    assert done.stdout.splitlines() == [f"{name} StopIteration" for name in names], done.stderr


@pytest.mark.parametrize("first", [True, False], ids=["of the first thread", "of a later one"])
def test_an_interrupt_of_iter_while_it_starts_a_thread_is_raised(first):
    done = run_script(
        f"""
import threading
import penstock as ps

starts = []
start = threading.Thread.start

def interrupted(thread):
    start(thread)
    starts.append(thread)
    if len(starts) == (1 if {first} else 3):
        raise KeyboardInterrupt

threading.Thread.start = interrupted
options = ps.Options()
options.warm_start = True
ds = ps.Dataset.range(20).map(lambda x: x, num_parallel_calls=4).with_options(options)
try:
    iter(ds)
    print("lost")
except KeyboardInterrupt:
    print("raised")
print(list(map(int, ds)) == list(range(20)))
"""
    )
    assert done.stdout.split() == ["raised", "True"], done.stderr
