"""on_error="retry" and max_retries: failed calls are repeated."""

import asyncio
import functools
import os
import signal
import sys
import threading
import time

import numpy as np
import pytest

import penstock as ps
from compare import assert_same
from contract import Boom, DatasetContract, Failure, steps

LINUX = pytest.mark.skipif(sys.platform != "linux", reason="worker processes need Linux")
FORMS = {
    "inline": {},
    "threads": {"num_parallel_calls": 2},
    "processes": {"num_parallel_calls": 2, "executor": "process"},
    "process": {"executor": "process"},
    "coroutine": {},
    "coroutines": {"num_parallel_calls": 3},
}
EACH = [pytest.param(name, marks=LINUX if "process" in name else ()) for name in FORMS]


def tries(folder, x):
    """Count a call, in a file because other processes call it too."""
    with (folder / f"{int(x)}").open("a") as file:
        file.write(".")
    return (folder / f"{int(x)}").stat().st_size


def made(form, function, n=12, **more):
    if "coroutine" in form:
        plain = function

        async def function(x):
            await asyncio.sleep(0)
            return plain(x)

    options = {"on_error": "retry", **FORMS[form], **more}
    return ps.Dataset.range(n).map(function, **options)


def square(x):
    return x * x


class TestRetry(DatasetContract):
    source = staticmethod(lambda: ps.Dataset.range(12))
    expected = [x * x for x in range(12)]

    @staticmethod
    def apply(ds, num_parallel_calls=None):
        return ds.map(square, num_parallel_calls=num_parallel_calls, on_error="retry")


@pytest.mark.parametrize("form", EACH)
def test_a_call_that_fails_is_made_again(form, tmp_path):
    def flaky(x):
        if tries(tmp_path, x) < 3 and x % 4 == 1:
            raise Boom(f"at {x}")
        return np.full(3, x)

    it = iter(made(form, flaky))
    assert_same(list(it), [np.full(3, x) for x in range(12)])
    stats = it.stats()[0]
    assert (stats["retries"], stats["errors"], stats["elements"]) == (6, 0, 12)
    assert sorted((tmp_path / f"{x}").stat().st_size for x in range(12)) == [1] * 9 + [3] * 3


@pytest.mark.parametrize("form", EACH)
def test_an_element_that_always_fails_is_raised_with_the_number_of_calls(form, tmp_path):
    def bad(x):
        if x == 4:
            tries(tmp_path, x)
            raise Boom(f"at {x}")
        return x

    it = iter(made(form, bad, max_retries=2))
    assert [int(next(it)) for _ in range(4)] == [0, 1, 2, 3]
    with pytest.raises(Boom, match="at 4") as caught:
        next(it)
    place, count = caught.value.__notes__
    assert place.startswith("penstock: in stage map(")
    assert place.endswith("element 4 (4)")
    assert count == "penstock: the call was made 3 times (max_retries=2)"
    assert tries(tmp_path, 4) == 4
    assert [int(x) for x in it] == list(range(5, 12))


@pytest.mark.parametrize("form", EACH)
def test_other_ways_to_treat_errors_come_after_the_retries(form, tmp_path):
    def bad(x):
        if x == 4 or (x == 6 and tries(tmp_path, x) < 2):
            tries(tmp_path, x)
            raise Boom(f"at {x}")
        return x

    ds = made(form, bad, on_error="skip", max_retries=1)
    assert [int(x) for x in ds] == [x for x in range(12) if x != 4]
    assert tries(tmp_path, 4) == 3


@pytest.mark.parametrize("form", EACH)
def test_random_numbers_are_those_of_the_first_try(form, tmp_path):
    def drawn(x, rng, folder):
        first = ps.random.uniform((2,)), int(rng.integers(1000))
        if folder and x % 3 == 0 and tries(folder, x) < 3:
            raise Boom
        return first

    def with_rng(folder):
        if "coroutine" in form:

            async def function(x, rng):
                await asyncio.sleep(0)
                return drawn(x, rng, folder)

        else:

            def function(x, rng):
                return drawn(x, rng, folder)

        return function

    def elements(folder):
        ps.random.set_seed(5)
        ds = ps.Dataset.range(12).shuffle(4, seed=3, reshuffle_each_iteration=False)
        return list(ds.map(with_rng(folder), on_error="retry", **FORMS[form]))

    assert_same(elements(tmp_path), elements(None))
    assert tries(tmp_path, 0) == 4


@pytest.mark.parametrize("form", EACH)
def test_each_try_gets_the_arguments_as_they_were(form, tmp_path):
    def changes(x, folder):
        lone = x.flags.writeable  # rows in a shared block are not
        if lone:
            x += 1
        if tries(folder, x[0] - lone) < 3:
            raise Boom
        return x if lone else x + 1, lone

    source = ps.Dataset.range(12).map(lambda x: np.full(4, x))
    function = functools.partial(changes, folder=tmp_path)
    if "coroutine" in form:

        async def function(x):
            await asyncio.sleep(0)
            return changes(x, tmp_path)

    ds = source.map(function, on_error="retry", **FORMS[form])
    came = list(ds)
    assert_same([x for x, _ in came], [np.full(4, x + 1) for x in range(12)])
    if form in ("inline", "coroutine"):
        assert all(lone for _, lone in came)


@pytest.mark.parametrize("form", EACH)
def test_states_are_exact_among_retries(form, tmp_path):
    def flaky(x):
        if x % 3 == 1 and tries(tmp_path, x) % 3:
            raise Boom
        return x

    ds = made(form, flaky, max_retries=50)
    it = iter(ds)
    for taken in range(12):
        other = iter(ds)
        other.set_state(it.get_state())
        assert [int(x) for x in other] == list(range(taken, 12))
        assert int(next(it)) == taken


@pytest.mark.parametrize("form", EACH)
def test_batches_are_made_of_what_came_in_the_end(form, tmp_path):
    def flaky(x):
        if x % 5 == 2 and tries(tmp_path, x) < 2:
            raise Boom
        return np.full((200, 300), x), x

    for images, numbers in made(form, flaky).batch(4):
        assert np.all(images == numbers.reshape(-1, 1, 1))
    assert int(numbers[-1]) == 11


@LINUX
@pytest.mark.parametrize("form", ["process", "processes"])
@pytest.mark.parametrize("end", ["killed", "left", "hung"])
def test_a_call_whose_worker_ends_is_made_by_another_one(form, end, tmp_path):
    def ends(x):
        if x in (3, 8) and tries(tmp_path, x) == 1:
            if end == "killed":
                os.kill(os.getpid(), signal.SIGKILL)
            if end == "left":
                os._exit(7)
            time.sleep(60)
        return np.full((20, 30), x), os.getpid()

    it = iter(made(form, ends, worker_timeout=1.0 if end == "hung" else None))
    assert_same([array for array, _ in it], [np.full((20, 30), x) for x in range(12)])
    assert it.stats()[0]["retries"] == 2


@LINUX
def test_a_worker_that_always_ends_is_an_error_with_the_number_of_calls():
    def ends(x):
        if x == 3:
            os._exit(7)
        return x

    found = steps(iter(made("processes", ends)))
    assert isinstance(found[3], Failure)
    assert found[3].kind == "WorkerError"
    with pytest.raises(ps.WorkerError, match="exit code 7") as caught:
        list(made("processes", ends))
    assert caught.value.__notes__[-1] == "penstock: the call was made 4 times (max_retries=3)"
    assert_same(found[:3] + found[4:], [x for x in range(12) if x != 3])


@pytest.mark.parametrize("calls", [None, 2])
def test_what_ends_the_program_is_not_called_again(calls):
    seen = []

    def leaves(x):
        seen.append(int(x))
        raise SystemExit(3)

    it = iter(ps.Dataset.range(3).map(leaves, num_parallel_calls=calls, on_error="retry"))
    with pytest.raises(SystemExit) as caught:
        next(it)
    assert seen.count(0) == 1
    assert not any("max_retries" in note for note in getattr(caught.value, "__notes__", ()))


@pytest.mark.parametrize("form", [name for name in EACH if "coroutine" not in str(name.values)])
def test_filter_asks_again(form, tmp_path):
    def odd(x):
        if x % 4 == 3 and tries(tmp_path, x) < 3:
            raise Boom
        return x % 2 == 1

    it = iter(ps.Dataset.range(12).filter(odd, on_error="retry", **FORMS[form]))
    assert [int(x) for x in it] == [1, 3, 5, 7, 9, 11]
    assert it.stats()[0]["retries"] == 6


@LINUX
@pytest.mark.parametrize("stage", ["map", "filter"])
@pytest.mark.parametrize("executor", ["process", "auto"])
@pytest.mark.parametrize("calls", [None, 2])
def test_calls_of_any_executor_of_the_run_are_made_again(stage, executor, calls, tmp_path):
    def flaky(x):
        if x % 4 == 3 and tries(tmp_path, x) < 3:
            raise Boom
        return x >= 0

    options = ps.Options()
    options.executor = executor
    ds = getattr(ps.Dataset.range(12), stage)(flaky, num_parallel_calls=calls, on_error="retry")
    it = iter(ds.with_options(options))
    assert len(list(it)) == 12
    assert it.stats()[0]["retries"] == 6


def test_elements_by_position_are_tried_again():
    seen = []

    def flaky(x):
        seen.append(int(x))
        if len(seen) < 3:
            raise Boom
        return x

    assert int(ps.Dataset.range(6).map(flaky, on_error="retry")[4]) == 4
    assert seen == [4, 4, 4]


@pytest.mark.parametrize("calls", [None, 10])
def test_coroutines_that_are_tried_again_end_when_they_are_closed(calls):
    begun = threading.Event()
    count = 0

    async def always(x):
        nonlocal count
        count += 1
        if count > 100:
            begun.set()
        await asyncio.sleep(0)
        raise Boom

    ds = ps.Dataset.range(50).map(always, calls, on_error="retry", max_retries=10**9)
    it = iter(ds.prefetch(1))
    taker = threading.Thread(target=lambda: next(it, None))
    taker.start()
    assert begun.wait(60)
    it.close()
    taker.join(60)
    assert not taker.is_alive()


def test_wrong_arguments_say_what_was_expected():
    numbers = ps.Dataset.range(3)
    with pytest.raises(ValueError, match="max_retries counts calls that are made again"):
        numbers.map(square, max_retries=2)
    with pytest.raises(ValueError, match='on_error="retry" is for functions of map and filter'):
        numbers.flat_map(lambda x: numbers, on_error="retry")
    with pytest.raises(ValueError, match="max_errors counts elements that are left out"):
        numbers.map(square, on_error="retry", max_errors=3)
    with pytest.raises(ValueError, match="max_retries must be >= 0"):
        numbers.map(square, on_error="retry", max_retries=-1)
