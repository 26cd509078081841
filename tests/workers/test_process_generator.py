"""from_generator and prefetch with executor="process": the same values as with threads."""

import os
import pickle
import signal
import sys
import threading
import time
from collections import namedtuple
from pathlib import Path

import numpy as np
import pytest

import penstock as ps
from compare import assert_same
from contract import Boom, DatasetContract, Failure, steps
from penstock import _core

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="worker processes need Linux")

Pair = namedtuple("Pair", "left right")


def values(n=12):
    for i in range(n):
        yield np.full((3, 2), i, np.float32), f"n{i}é", Pair(i, b"r" * i)


def pids():
    while True:
        yield os.getpid()


def of(generator, **options):
    return ps.Dataset.from_generator(generator, executor="process", **options)


class TestInProcesses(DatasetContract):
    build = staticmethod(lambda: of(values))
    expected = staticmethod(lambda: list(values()))


def test_a_generator_may_have_large_arrays():
    rows = np.arange(2**18).reshape(8, -1)

    def generator():
        yield from rows

    assert_same(list(of(generator)), list(rows))


def test_a_worker_of_its_own_runs_it_and_serves_again_after_it():
    it = iter(of(pids))
    worker = {int(next(it)) for _ in range(3)}
    assert os.getpid() not in worker
    assert len(worker) == 1
    it.close()
    assert worker <= set(_core.idle_workers())


def test_no_process_starts_before_the_first_element():
    before = set(_core.idle_workers())
    iter(of(pids).prefetch(2))
    assert set(_core.idle_workers()) == before


def test_arguments_signatures_and_names_count():
    signature = ps.TensorSpec((), np.float16)

    def counts(first, last):
        yield from range(first, last)

    ds = of(counts, args=(2, 5), output_signature=signature, name="counted")
    assert_same(list(ds), [np.float16(x) for x in (2, 3, 4)])
    assert ds.element_spec == signature


def test_arrays_keep_their_values():
    def reuses():
        image = np.zeros((90, 70))
        for i in range(40):
            image[:] = i
            yield image

    kept = list(of(reuses))
    assert all(np.all(image == i) for i, image in enumerate(kept))
    assert_same(list(of(reuses).batch(8)), [np.stack(kept[i : i + 8]) for i in range(0, 40, 8)])


def test_random_draws_are_those_of_threads():
    def drawn(executor):
        ps.random.set_seed(7)
        ds = ps.Dataset.from_generator(values, executor=executor)
        return list(ds.map(lambda *row: ps.random.uniform(())))

    assert_same(drawn("process"), drawn("thread"))


def draws():
    for i in range(6):
        yield i, ps.random.uniform(())


def draws_in_a_key():
    with ps.random.key(5):
        yield ps.random.uniform(())
        yield ps.random.uniform(())
    yield ps.random.uniform(())


async def draws_later():
    for _ in range(3):
        yield ps.random.uniform(())


@pytest.mark.parametrize("generator", [draws, draws_in_a_key, draws_later])
def test_what_a_generator_draws_follows_from_the_seed_of_the_run(generator):
    def drawn(executor):
        ps.random.set_seed(7)
        ds = ps.Dataset.from_generator(generator, executor=executor)
        it = iter(ds)
        head = [next(it)]
        other = iter(ds)
        other.set_state(it.get_state())
        runs = [head + list(it), list(ds), list(ps.prefetch(generator, executor=executor))]
        assert_same(head + list(other), runs[0])
        return runs

    threads = drawn("thread")
    assert_same(drawn("process"), threads)
    assert len({float(np.ravel(value)[-1]) for value in threads[0]}) == len(threads[0])
    assert repr(threads[0]) != repr(threads[1]) or generator is draws_in_a_key


def test_the_key_that_a_generator_has_entered_stays_its_own():
    with ps.random.key(5):
        wanted = [ps.random.uniform(()), ps.random.uniform(())]
    it = iter(ps.Dataset.from_generator(draws_in_a_key))
    assert [next(it), next(it)] == wanted
    assert ps.random.uniform(()) not in wanted


def fails():
    yield 1
    yield 2
    raise Boom("third")


def mixed():
    yield 1
    yield "two"
    yield 3


@pytest.mark.parametrize("generator", [fails, mixed])
def test_errors_are_those_of_threads(generator):
    wanted = steps(iter(ps.Dataset.from_generator(generator)))
    assert steps(iter(of(generator))) == wanted
    assert any(isinstance(step, Failure) for step in wanted)


def test_an_exception_has_its_place_and_the_lines_of_the_user():
    with pytest.raises(Boom) as caught:
        list(of(fails, name="source"))
    (note,) = caught.value.__notes__
    assert note == "penstock: in stage from_generator(fails, name='source'), element 2"
    assert 'raise Boom("third")' in str(caught.value.__cause__)
    assert "penstock/workers" not in str(caught.value.__cause__)
    assert_same(list(of(fails, on_error="skip")), [1, 2])


def locks():
    yield 1
    yield 2
    yield threading.Lock()
    yield 4


def test_a_value_that_cannot_be_sent_is_an_error_of_its_element():
    came = list(_steps_of_loader(ps.prefetch(locks, executor="process")))
    assert came[:2] + came[3:] == [1, 2, 4]
    assert "objects that can be pickled were expected, got lock" in came[2]


def _steps_of_loader(loader):
    it = iter(loader)
    while True:
        try:
            yield next(it)
        except StopIteration:
            return
        except TypeError as error:
            yield str(error)


def dies(how):
    for i in range(20):
        if i == 13:
            os.kill(os.getpid(), signal.SIGKILL) if how == "killed" else os._exit(3)
        yield i


@pytest.mark.parametrize("how", ["killed", "left"])
def test_a_worker_that_ends_is_an_error_of_the_element_that_it_was_making(how):
    came = steps(iter(of(dies, args=(how,))))
    assert_same(came[:13], list(range(13)))
    assert came[13].kind == "WorkerError"
    wanted = "signal: SIGKILL (9)" if how == "killed" else "exit code 3"
    assert wanted in came[13].text
    assert "while it made this element" in came[13].text
    assert len(came) == 14  # without it, the others are unknown


def dies_once(mark):
    for i in range(20):
        if i == 13 and not Path(mark).exists():
            Path(mark).touch()
            os._exit(3)
        yield i


def test_values_that_were_made_before_the_end_of_a_worker_come(tmp_path):
    came = steps(iter(of(dies_once, args=(str(tmp_path / "mark"),))))
    assert_same(came[:13], list(range(13)))
    assert [step.kind for step in came[13:]] == ["WorkerError"]


def test_a_worker_that_was_killed_while_idle_is_replaced():
    list(of(values))
    for pid in _core.idle_workers():
        os.kill(pid, signal.SIGKILL)
    assert_same(list(of(values)), list(values()))


@pytest.mark.parametrize("executor", ["thread", "process"])
@pytest.mark.parametrize("taken", [0, 1, 5, 12])
def test_states_pass_between_threads_and_processes(executor, taken):
    other = {"thread": "process", "process": "thread"}[executor]
    it = iter(ps.Dataset.from_generator(values, executor=executor))
    head = [next(it) for _ in range(taken)]
    rest = iter(ps.Dataset.from_generator(values, executor=other))
    rest.set_state(it.get_state())
    assert_same(head + list(rest), list(values()))


def closes(path):
    try:
        yield from range(1_000_000)
    finally:
        Path(path).write_text("closed")


@pytest.mark.parametrize("ahead", [None, 2])
def test_closing_runs_what_stands_under_finally(tmp_path, ahead):
    ds = of(closes, args=(str(tmp_path / "end"),))
    it = iter(ds if ahead is None else ds.prefetch(ahead))
    next(it)
    it.close()
    assert (tmp_path / "end").read_text() == "closed"


def hangs():
    yield os.getpid()
    time.sleep(600)


def test_closing_ends_a_worker_that_does_not_answer():
    it = iter(of(hangs))
    pid = int(next(it))
    time.sleep(0.1)  # gives it time to fall asleep
    started = time.monotonic()
    it.close()
    assert time.monotonic() - started < 60
    assert not Path(f"/proc/{pid}").exists()
    assert pid not in _core.idle_workers()


def test_several_iterators_at_a_time_have_a_worker_each():
    ds = of(values)
    assert_same(list(ps.Dataset.zip(ds, ds)), [(each, each) for each in values()])


def test_it_follows_the_options_and_debugging():
    options = ps.Options()
    options.executor = "process"
    ds = ps.Dataset.from_generator(pids).take(2)
    assert os.getpid() not in {int(x) for x in ds.with_options(options)}
    with ps.experimental.debug_mode():
        assert {int(x) for x in of(pids).take(2)} == {os.getpid()}


def test_a_pickled_dataset_runs_its_generator_in_a_worker():
    ds = pickle.loads(pickle.dumps(of(pids)))
    assert int(next(iter(ds))) != os.getpid()


async def asynchronous():
    for i in range(5):
        yield i


def test_an_asynchronous_generator_runs_there_too():
    assert_same(list(of(asynchronous)), list(range(5)))


def test_a_generator_that_cannot_be_sent_is_refused_by_name():
    lock = threading.Lock()
    with pytest.raises(TypeError, match="from_generator: executor='process' sends the function"):
        of(lambda: iter([lock]))


@pytest.mark.skipif(not hasattr(os, "fork"), reason="there is no fork")
def test_a_fork_child_leaves_the_worker_to_its_parent():
    it = iter(of(values))
    head = [next(it) for _ in range(2)]
    child = os.fork()
    if child == 0:
        del it
        os._exit(0)
    assert os.waitpid(child, 0)[1] == 0
    assert_same(head + list(it), list(values()))


# --- prefetch ---


class Loader:
    def __init__(self, items):
        self.items = items

    def __len__(self):
        return len(self.items)

    def __iter__(self):
        return iter(self.items)


class Rows:
    def __len__(self):
        return 3

    def __getitem__(self, i):
        return np.arange(i)


@pytest.mark.parametrize(
    ("loader", "items"),
    [
        (Loader([{1, 2}, "a", None, {"x": (1, [2, 3])}]), [{1, 2}, "a", None, {"x": (1, [2, 3])}]),
        (Rows(), [np.arange(0), np.arange(1), np.arange(2)]),
        ([1, 2, 3], [1, 2, 3]),
    ],
)
def test_items_of_loaders_are_copies_of_the_same(loader, items):
    prefetched = ps.prefetch(loader, executor="process")
    assert len(prefetched) == len(items)
    for _ in range(2):
        assert repr(list(prefetched)) == repr(items)


def test_a_loader_is_iterated_in_a_worker():
    it = iter(ps.prefetch(pids, executor="process"))
    assert next(it) != os.getpid()


def test_a_loader_that_is_under_way_cannot_go():
    with pytest.raises(TypeError, match=r"prefetch: executor='process' sends .* cannot be pickled"):
        ps.prefetch((x for x in "abc"), executor="process")


def ends_after_one():
    yield 1
    os._exit(3)


@pytest.mark.parametrize("executor", ["thread", "process"])
def test_errors_of_a_loader_name_prefetch(executor):
    it = iter(ps.prefetch(fails, executor=executor))
    assert [next(it), next(it)] == [1, 2]
    with pytest.raises(Boom) as caught:
        next(it)
    assert caught.value.__notes__ == ["penstock: in stage prefetch(fails), element 2"]


def test_the_end_of_the_worker_of_a_loader_names_prefetch():
    it = iter(ps.prefetch(ends_after_one, executor="process"))
    assert next(it) == 1
    with pytest.raises(ps.WorkerError, match=r"^prefetch: worker process"):
        next(it)


def test_a_loader_that_cannot_be_sent_is_shown():
    loader = Loader([threading.Lock()])
    with pytest.raises(TypeError, match=r"sends the loader to other processes, and <.*Loader obj"):
        ps.prefetch(loader, executor="process")


def test_only_threads_and_processes_can_be_chosen():
    with pytest.raises(ValueError, match="from_generator: executor must be 'thread' or 'process'"):
        ps.Dataset.from_generator(pids, executor="auto")
    with pytest.raises(ValueError, match="prefetch: executor must be 'thread' or 'process'"):
        ps.prefetch(pids, executor="auto")
