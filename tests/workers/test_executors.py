"""The executor of functions: Options.executor, the stage's own argument, and "auto"."""

import os
import sys
import threading
import time

import numpy as np
import pytest

import penstock as ps
from compare import assert_same
from contract import Boom, steps
from penstock import _core

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="worker processes need Linux")

CALLS = [None, 2]
HAS_GIL = getattr(sys, "_is_gil_enabled", lambda: True)()


def numbers(n=12):
    return ps.Dataset.range(n)


def options(executor):
    made = ps.Options()
    made.executor = executor
    return made


def pid(x):
    return os.getpid()


def is_here(x, pid):
    return os.getpid() == pid


def pids():
    yield os.getpid()


# --- Options.executor ---


@pytest.mark.parametrize("calls", CALLS)
def test_the_option_holds_for_stages_before_and_after_it(calls):
    ds = numbers().map(lambda x: (x, os.getpid()), num_parallel_calls=calls, executor="thread")
    ds = ds.filter(is_here, num_parallel_calls=calls).with_options(options("process"))
    assert list(ds) == []
    ds = numbers().with_options(options("process")).map(pid, num_parallel_calls=calls)
    assert os.getpid() not in {int(x) for x in ds.batch(3).unbatch()}


@pytest.mark.parametrize("stage", ["map", "filter"])
def test_stats_show_the_workers_of_the_option(stage):
    rows = np.zeros((12, 2**13))
    ds = getattr(numbers(), stage)(lambda x: bool(rows[x].any()), num_parallel_calls=2)
    it = iter(ds.with_options(options("process")))
    list(it)
    workers = it.stats()[0]["workers"]
    assert workers
    assert {worker["pid"] for worker in workers} <= set(_core.idle_workers())


@pytest.mark.parametrize("calls", CALLS)
def test_what_a_stage_says_itself_counts_more(calls):
    ds = numbers().map(pid, num_parallel_calls=calls, executor="thread")
    assert {int(x) for x in ds.with_options(options("process"))} == {os.getpid()}
    ds = numbers().map(pid, num_parallel_calls=calls, executor="process")
    assert os.getpid() not in {int(x) for x in ds.with_options(options("thread"))}
    ds = ps.Dataset.from_generator(pids, executor="thread").with_options(options("process"))
    assert [int(x) for x in ds] == [os.getpid()]


def test_the_option_reaches_generators_and_maps_inside_other_datasets():
    ds = ps.Dataset.from_generator(pids).with_options(options("process"))
    assert os.getpid() not in {int(x) for x in ds}

    def opened(x):
        return numbers(3).map(pid)

    for ds in (numbers().flat_map(opened), numbers().interleave(opened, num_parallel_calls=2)):
        assert os.getpid() not in {int(x) for x in ds.with_options(options("process"))}


def test_native_coroutine_and_own_functions_do_without_processes(tmp_path):
    async def later(x):
        return os.getpid()

    before = set(_core.idle_workers())
    ds = numbers().map(ps.native(lambda x: x + 1), num_parallel_calls=2).map(later)
    assert {int(x) for x in ds.with_options(options("process"))} == {os.getpid()}
    (tmp_path / "a.json").write_text('{"a": 1}')
    rows = ps.JSONLinesDataset(str(tmp_path / "a.json"))  # a map inside penstock
    assert len(list(rows.with_options(options("process")))) == 1
    padded = numbers(3).shard_evenly(2, 0, remainder="pad")  # including its functions
    assert len(list(padded.with_options(options("process")))) == 2
    assert set(_core.idle_workers()) == before


def test_looks_at_the_elements_start_no_process():
    before = set(_core.idle_workers())
    ds = numbers().map(pid).with_options(options("process"))
    assert ds.element_spec == ps.TensorSpec((), np.int64)
    assert set(_core.idle_workers()) == before


def test_a_function_that_cannot_be_sent_is_said_when_the_run_begins():
    lock = threading.Lock()
    ds = numbers().map(lambda x: lock and x).with_options(options("process"))
    with pytest.raises(TypeError, match=r"map: executor='process' sends the function to other"):
        list(ds)


@pytest.mark.parametrize("calls", CALLS)
def test_errors_random_draws_and_states_are_those_of_threads(calls):
    def made(executor):
        ps.random.set_seed(3)
        ds = numbers().map(_drawn, num_parallel_calls=calls)
        return ds.with_options(options(executor))

    assert_same(steps(iter(made("process"))), steps(iter(made("thread"))))
    it = iter(made("process"))
    head = [next(it) for _ in range(4)]
    other = iter(made("thread"))
    other.set_state(it.get_state())
    assert_same(head + steps(other), steps(iter(made("thread"))))


def _drawn(x, rng):
    if x == 7:
        raise Boom("seven")
    return rng.integers(1000), ps.random.uniform((2,))


def test_a_wrong_name_is_refused():
    with pytest.raises(ValueError, match=r"Options.executor must be one of .*got 'fork'"):
        options("fork")
    with pytest.raises(TypeError, match=r"Options.executor: str was expected, got 1"):
        options(1)


@pytest.mark.parametrize("stage", ["flat_map", "interleave"])
def test_functions_that_return_datasets_say_where_the_work_belongs(stage):
    with pytest.raises(TypeError, match=f"{stage}: there is no argument 'executor'; put the work"):
        getattr(numbers(), stage)(lambda x: numbers(2), executor="process")


# --- auto ---


def busy(x):
    total = 0
    for i in range(20_000):
        total += i
    return x


def busy_bool(x):
    return busy(x) % 2 == 0


def run_until_moved(ds, n):
    """Return the elements of a run, and the change of its executor once it has happened."""
    it = iter(ds)
    came = [next(it)]
    deadline = time.monotonic() + 60
    while time.monotonic() < deadline and not executor_moves(it):
        came.append(next(it))
    moves = executor_moves(it)
    assert moves, "the run ended before anything was chosen"
    came += list(it)
    assert len(came) == n
    return came, moves


def executor_moves(it):
    return [move for move in it.tuning_moves() if move["knob"] == "executor"]


@pytest.mark.skipif(not HAS_GIL, reason="there is no GIL")
def test_auto_goes_over_to_processes_where_the_gil_is_held():
    ds = numbers(4000).map(busy, num_parallel_calls=2, executor="auto")
    came, (move,) = run_until_moved(ds, 4000)
    assert_same(came, list(range(4000)))
    assert (move["stage"], move["function"]) == ("parallel_map", "busy")
    if os.cpu_count() > 1:
        assert (move["from"], move["to"]) == ("thread", "process")
        assert "its calls held the GIL" in move["reason"]
        it = iter(ds)  # the next run starts with them
        next(it)
        (move,) = executor_moves(it)
        assert move["to"] == "process"
        assert "the run before" in move["reason"]


def busy_in_place(x):
    x += busy(1)
    return x


@pytest.mark.skipif(not HAS_GIL, reason="there is no GIL")
def test_auto_goes_over_with_a_function_that_changes_its_argument():
    ds = numbers(6000).batch(3).map(busy_in_place, num_parallel_calls=2, executor="auto")
    came, (move,) = run_until_moved(ds, 2000)
    assert_same(came, list(np.arange(1, 6001).reshape(-1, 3)))
    if os.cpu_count() > 1:
        assert move["to"] == "process"


@pytest.mark.skipif(HAS_GIL, reason="there is a GIL")
def test_auto_stays_with_threads_where_there_is_no_gil():
    ds = numbers(4000).map(busy, num_parallel_calls=2, executor="auto")
    came, (move,) = run_until_moved(ds, 4000)
    assert_same(came, list(range(4000)))
    assert (move["from"], move["to"]) == ("thread", "thread")
    assert "held the GIL" in move["reason"]


def test_auto_stays_with_threads_where_calls_wait():
    def waits(x):
        time.sleep(0.01)
        return x

    came, (move,) = run_until_moved(numbers(120).map(waits, 2, executor="auto"), 120)
    assert_same(came, list(range(120)))
    assert move["to"] == "thread"
    assert "held the GIL" in move["reason"] or "processor" in move["reason"]


@pytest.mark.skipif(not HAS_GIL, reason="none goes where there is no GIL")
def test_auto_says_why_a_function_cannot_go():
    lock = threading.Lock()
    ds = numbers(4000).map(lambda x: lock and busy(x), num_parallel_calls=2, executor="auto")
    came, (move,) = run_until_moved(ds, 4000)
    assert_same(came, list(range(4000)))
    assert move["to"] == "thread"
    if os.cpu_count() > 1:
        assert "cannot be pickled (TypeError: cannot pickle '_thread.lock'" in move["reason"]


def test_auto_leaves_one_call_at_a_time_in_the_calling_thread():
    it = iter(numbers().map(pid, executor="auto"))
    assert {int(x) for x in it} == {os.getpid()}
    (move,) = executor_moves(it)
    assert "give it num_parallel_calls" in move["reason"]


def test_auto_for_a_whole_pipeline_and_filters():
    ds = numbers(4000).filter(busy_bool, num_parallel_calls=2).with_options(options("auto"))
    it = iter(ds)
    assert_same(list(it), list(range(0, 4000, 2)))
    (move,) = executor_moves(it)
    assert move["stage"] == "parallel_filter"


def test_auto_keeps_random_draws_errors_and_states():
    def made(executor):
        ps.random.set_seed(9)
        return numbers(3000).map(_slowly_drawn, num_parallel_calls=2, executor=executor)

    wanted = steps(iter(made("thread")))
    it = iter(made("auto"))
    head = [next(it) for _ in range(6)]
    other = iter(made("auto"))
    other.set_state(it.get_state())
    assert_same(head + steps(other), wanted)
    assert_same(head + steps(it), wanted)


def _slowly_drawn(x, rng):
    if x == 2000:
        raise Boom("late")
    return busy(rng.integers(1000)), ps.random.uniform(())


def test_closing_while_it_is_measured():
    for _ in range(5):
        it = iter(numbers(4000).map(busy, num_parallel_calls=2, executor="auto"))
        next(it)
        it.close()
