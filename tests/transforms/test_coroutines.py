"""Coroutine functions in map, filter and similar stages, and async generators as sources."""

import asyncio
import contextvars
import functools
import gc
import threading

import numpy as np
import pytest

import penstock as ps
from compare import assert_same
from contract import Boom, DatasetContract, Failure, step, steps
from scripts import MAY_FORK, run_script

CALLS = [None, 1, 2, 100]
LIMIT = 60.0  # seconds after which a hanging test fails


async def triple(x):
    await asyncio.sleep(0)
    return 3 * x


async def doubled_later(x):
    """Return 2 x; the calls of later elements finish first."""
    for _ in range(8 - int(x) % 8):
        await asyncio.sleep(0)
    return 2 * x


class Running:
    """Counts the calls in progress; they finish together, when the expected number have started."""

    def __init__(self, wanted):
        self.wanted = wanted
        self.now = self.most = 0
        self.together = None

    async def __call__(self, x):
        self.together = self.together or asyncio.Event()
        self.now += 1
        self.most = max(self.most, self.now)
        if self.now == self.wanted:
            self.together.set()
        await asyncio.wait_for(self.together.wait(), LIMIT)
        self.now -= 1
        return x


class Waiting:
    """Calls that wait forever, and record how they ended."""

    def __init__(self, calls=1):
        self.begun = threading.Event()
        self.left = calls  # until `begun`
        self.ended = []

    async def __call__(self, x):
        self.left -= 1
        if self.left == 0:
            self.begun.set()
        try:
            await asyncio.Event().wait()
        except asyncio.CancelledError:
            await asyncio.sleep(0)
            self.ended.append(int(x))
            raise


# --- the contract ---


class TestMap(DatasetContract):
    source = staticmethod(lambda: ps.Dataset.range(12))
    expected = [2 * x for x in range(12)]

    @staticmethod
    def apply(ds, num_parallel_calls=None):
        return ds.map(doubled_later, num_parallel_calls=num_parallel_calls)

    def expected_around_error(self):
        return [2 * x for x in range(12) if x != 4]


class TestMapInAnyOrder(DatasetContract):
    source = staticmethod(lambda: ps.Dataset.range(12))
    expected = [2 * x for x in range(12)]
    ordered = False

    @staticmethod
    def apply(ds, num_parallel_calls=3):
        return ds.map(doubled_later, num_parallel_calls=num_parallel_calls, deterministic=False)

    def expected_around_error(self):
        return [2 * x for x in range(12) if x != 4]


async def is_odd_later(x):
    return (await doubled_later(x)) % 4 == 2


class TestFilter(DatasetContract):
    source = staticmethod(lambda: ps.Dataset.range(12))
    expected = [1, 3, 5, 7, 9, 11]

    @staticmethod
    def apply(ds, num_parallel_calls=None):
        return ds.filter(is_odd_later, num_parallel_calls=num_parallel_calls)


class TestFilterInAnyOrder(DatasetContract):
    source = staticmethod(lambda: ps.Dataset.range(12))
    expected = [1, 3, 5, 7, 9, 11]
    ordered = False

    @staticmethod
    def apply(ds, num_parallel_calls=3):
        return ds.filter(is_odd_later, num_parallel_calls=num_parallel_calls, deterministic=False)


async def counted_to(x):
    await asyncio.sleep(0)
    return ps.Dataset.range(x)


class TestFlatMap(DatasetContract):
    source = staticmethod(lambda: ps.Dataset.range(6))
    expected = [0, 0, 1, 0, 1, 2, 0, 1, 2, 3, 0, 1, 2, 3, 4]
    pickles = False

    @staticmethod
    def apply(ds):
        return ds.flat_map(counted_to)

    def expected_around_error(self):
        return [0, 0, 1, 0, 1, 2, 0, 1, 2, 3, 4]


class TestInterleave(DatasetContract):
    source = staticmethod(lambda: ps.Dataset.range(6))
    expected = [int(x) for x in ps.Dataset.range(6).interleave(ps.Dataset.range, 3, 2)]
    pickles = False

    @staticmethod
    def apply(ds, num_parallel_calls=20):
        return ds.interleave(counted_to, 3, 2, num_parallel_calls=num_parallel_calls)

    def expected_around_error(self):
        ok = ps.Dataset.from_tensor_slices([0, 1, 2, 3, 5])
        return [int(x) for x in ok.interleave(ps.Dataset.range, 3, 2)]


async def numbers():
    for x in range(9):
        await asyncio.sleep(0)
        yield x, f"{x}"


class TestGenerator(DatasetContract):
    build = staticmethod(lambda: ps.Dataset.from_generator(numbers))
    expected = [(x, f"{x}") for x in range(9)]


# --- calls in progress ---


@pytest.mark.parametrize("deterministic", [True, False])
@pytest.mark.parametrize("calls", [1, 7, 1000])
def test_as_many_calls_are_in_progress_as_were_asked_for(calls, deterministic):
    running = Running(calls)
    ds = ps.Dataset.range(2 * calls).map(running, calls, deterministic)
    before = threading.active_count()
    it = iter(ds)
    came = [next(it)]
    assert threading.active_count() - before < 5
    assert sorted(int(x) for x in [*came, *it]) == list(range(2 * calls))
    assert running.most == calls


@pytest.mark.parametrize("deterministic", [None, True, False])
@pytest.mark.parametrize("calls", [1, 7, 1000])
def test_filter_has_calls_in_progress_too(calls, deterministic):
    running = Running(calls)

    async def is_even(x):
        return (await running(x)) % 2 == 0

    ds = ps.Dataset.range(2 * calls)
    it = iter(ds.filter(is_even, num_parallel_calls=calls, deterministic=deterministic))
    before = threading.active_count()
    came = [next(it)]
    assert threading.active_count() - before < 5
    assert sorted(int(x) for x in [*came, *it]) == list(range(0, 2 * calls, 2))
    assert running.most == calls


@pytest.mark.parametrize("calls", [3, 50])
def test_interleave_has_calls_in_progress_too(calls):
    running = Running(calls)

    async def opened(x):
        return ps.Dataset.from_tensors(await running(x)).repeat(2)

    ds = ps.Dataset.range(2 * calls).interleave(opened, 3, num_parallel_calls=calls)
    same = ps.Dataset.range(2 * calls).interleave(lambda x: ps.Dataset.from_tensors(x).repeat(2), 3)
    assert_same(list(ds), list(same))
    assert running.most == calls


def test_interleave_says_what_a_coroutine_has_returned():
    message = r"interleave: the function must return a Dataset, got .*int64"
    with pytest.raises(TypeError, match=message):
        list(ps.Dataset.range(3).interleave(triple, num_parallel_calls=2))


def test_without_parallel_calls_there_is_one_at_a_time_and_none_ahead():
    running = Running(1)
    it = iter(ps.Dataset.range(9).map(running))
    assert [next(it), next(it)] == [0, 1]
    assert running.most == 1


@pytest.mark.parametrize("stage", ["map", "filter"])
def test_autotune_is_a_hundred_calls(stage):
    running = Running(100)

    async def is_any(x):
        return (await running(x)) >= 0

    ds = ps.Dataset.range(200)
    if stage == "map":
        ds = ds.map(running, ps.AUTOTUNE)
    else:
        ds = ds.filter(is_any, num_parallel_calls=ps.AUTOTUNE)
    assert len(list(ds)) == 200
    assert running.most == 100


def test_all_pipelines_share_one_thread():
    async def thread(x):
        return threading.get_ident()

    ds = ps.Dataset.range(3).map(thread, 2)
    both = {int(x) for pair in ps.Dataset.zip((ds, ds.prefetch(2))) for x in pair}
    assert len(both) == 1
    assert both != {threading.get_ident()}


def test_a_call_that_takes_long_lets_others_pass_only_without_order():
    go = threading.Event()

    async def first_waits(x):
        while x == 0 and not go.is_set():
            await asyncio.sleep(0.001)
        return x

    it = iter(ps.Dataset.range(50).map(first_waits, 4, deterministic=False))
    came = [int(next(it)) for _ in range(49)]
    go.set()
    assert sorted(came) == list(range(1, 50))
    assert [int(x) for x in it] == [0]


def test_what_is_delivered_out_of_order_is_not_made_again():
    it = iter(ps.Dataset.range(40).map(doubled_later, 9, deterministic=False))
    before = [int(next(it)) for _ in range(17)]
    again = iter(ps.Dataset.range(40).map(doubled_later, 5, deterministic=False))
    again.set_state(it.get_state())
    assert sorted([*before, *(int(x) for x in again)]) == [2 * x for x in range(40)]


@pytest.mark.filterwarnings("ignore:set_state")  # the functions differ
def test_a_state_goes_from_coroutines_to_threads_and_back():
    forms = [
        lambda ds: ds.map(doubled_later, 5),
        lambda ds: ds.map(lambda x: 2 * x, 2),
        lambda ds: ds.map(doubled_later),
        lambda ds: ds.map(lambda x: 2 * x),
    ]
    came, state = [], None
    for i in range(8):
        it = iter(forms[i % 4](ps.Dataset.range(17)))
        if state:
            it.set_state(state, strict=False)
        came += [int(next(it)) for _ in range(2)]
        state = it.get_state()
    assert came == [2 * x for x in range(16)]


def test_a_row_of_filter_that_takes_long_lets_others_pass_only_without_order():
    go = threading.Event()

    async def first_waits(x):
        while x == 0 and not go.is_set():
            await asyncio.sleep(0.001)
        return x % 2 == 0

    ds = ps.Dataset.range(50).filter(first_waits, num_parallel_calls=4, deterministic=False)
    it = iter(ds)
    came = [int(next(it)) for _ in range(24)]
    go.set()
    assert sorted(came) == list(range(2, 50, 2))
    assert [int(x) for x in it] == [0]


@pytest.mark.parametrize("predicate", [is_odd_later, lambda x: x % 2 == 1])
def test_what_filter_has_delivered_out_of_order_is_not_tested_again(predicate):
    def begun(calls, deterministic):
        ds = ps.Dataset.range(40)
        return iter(ds.filter(predicate, num_parallel_calls=calls, deterministic=deterministic))

    for after in range(20):
        it = begun(9, False)
        before = [int(next(it)) for _ in range(after)]
        again = begun(5, after % 3 == 0)
        again.set_state(it.get_state())
        assert sorted([*before, *(int(x) for x in again)]) == list(range(1, 40, 2))


def test_a_filter_without_parallel_calls_says_that_it_cannot_go_on_out_of_order():
    async def first_waits(x):
        if x == 1:
            await asyncio.Event().wait()
        return x % 2 == 1

    ds = ps.Dataset.range(9)
    it = iter(ds.filter(first_waits, num_parallel_calls=4, deterministic=False))
    assert next(it) == 3
    state = it.get_state()
    it.close()
    with pytest.raises(ValueError, match="deterministic=False in filter"):
        iter(ds.filter(first_waits)).set_state(state)


@pytest.mark.filterwarnings("ignore:set_state")  # the functions differ
def test_a_state_of_filter_goes_from_coroutines_to_threads_and_back():
    forms = [
        lambda ds: ds.filter(is_odd_later, num_parallel_calls=5),
        lambda ds: ds.filter(lambda x: x % 2 == 1, num_parallel_calls=2),
        lambda ds: ds.filter(is_odd_later),
        lambda ds: ds.filter(lambda x: x % 2 == 1),
    ]
    came, state = [], None
    for i in range(8):
        it = iter(forms[i % 4](ps.Dataset.range(34)))
        if state:
            it.set_state(state, strict=False)
        came += [int(next(it)) for _ in range(2)]
        state = it.get_state()
    assert came == list(range(1, 32, 2))


# --- arguments and results ---


@pytest.mark.parametrize("calls", CALLS)
def test_arguments_and_results_are_those_of_functions(calls):
    async def of_two(a, b):
        return {"sum": a + b, "text": f"{a}"}, [1, 2]

    ds = ps.Dataset.range(3).map(lambda x: (x, np.ones(2) * x)).map(of_two, calls)
    wanted = [({"sum": x + np.ones(2) * x, "text": f"{x}"}, np.array([1, 2])) for x in range(3)]
    assert_same(list(ds), wanted)
    assert ds.element_spec[0]["sum"] == ps.TensorSpec((None,), np.float64)


@pytest.mark.parametrize("calls", CALLS)
def test_arrays_may_be_changed(calls):
    async def halved(x):
        x /= 2
        await asyncio.sleep(0)
        return x

    ds = ps.Dataset.range(3).map(lambda x: np.ones(4) * x).map(halved, calls)
    assert_same(list(ds), [np.ones(4) * x / 2 for x in range(3)])


@pytest.mark.parametrize("calls", CALLS)
def test_rows_that_stay_are_as_they_were(calls):
    async def has_two(row):
        await asyncio.sleep(0)
        return len(row["values"]) == 2

    def rows():
        ds = ps.Dataset.range(12)
        return ds.map(lambda x: {"values": np.ones(x % 4) * x, "text": f"{x}", "number": x})

    came = list(rows().filter(has_two, num_parallel_calls=calls))
    assert_same(came, [row for row in rows() if len(row["values"]) == 2])


@pytest.mark.parametrize("calls", CALLS)
def test_rows_of_a_batch_are_tested_apart(calls):
    async def is_small(row):
        await asyncio.sleep(0)
        return np.bool_(row[0] < 6)

    ds = ps.Dataset.from_tensor_slices(np.arange(24).reshape(8, 3))
    came = list(ds.filter(is_small, num_parallel_calls=calls).batch(2))
    assert_same(came, [np.array([[0, 1, 2], [3, 4, 5]])])


@pytest.mark.parametrize("answer", [1, None, "yes", np.array([True, True])])
@pytest.mark.parametrize("calls", CALLS)
def test_another_answer_than_a_bool_is_an_error(calls, answer):
    async def answers(x):
        return answer

    wanted = steps(iter(ps.Dataset.range(3).filter(lambda x: answer)))
    assert steps(iter(ps.Dataset.range(3).filter(answers, num_parallel_calls=calls))) == wanted
    assert "filter: the predicate must return one bool" in wanted[0].text


@pytest.mark.parametrize("calls", CALLS)
def test_a_signature_converts_and_checks(calls):
    async def value(x):
        return "no" if x == 1 else x

    spec = ps.TensorSpec((), np.float32)
    came = steps(iter(ps.Dataset.range(3).map(value, calls, output_signature=spec)))
    assert_same([came[0], came[2]], [np.float32(0), np.float32(2)])
    assert came[1].kind == "TypeError"


def _forms():
    class Object:
        async def __call__(self, x):
            return 3 * x

        async def method(self, x):
            return 3 * x

    async def with_factor(factor, x):
        return factor * x

    return {
        "object": Object(),
        "method": Object().method,
        "partial": functools.partial(with_factor, 3),
    }


@pytest.mark.parametrize("form", ["object", "method", "partial"])
@pytest.mark.parametrize("calls", CALLS)
def test_anything_that_is_a_coroutine_function_is_awaited(calls, form):
    assert list(ps.Dataset.range(3).map(_forms()[form], calls)) == [0, 3, 6]


@pytest.mark.parametrize("calls", CALLS)
def test_a_function_that_returns_a_coroutine_is_told_to_be_async(calls):
    came = steps(iter(ps.Dataset.range(1).map(lambda x: triple(x), calls)))
    assert came[0].kind == "TypeError"
    assert "map: the function returned a coroutine" in came[0].text
    assert "async def" in came[0].text
    gc.collect()  # it was closed: no warning that it was never awaited


def test_a_native_function_is_not_async():
    with pytest.raises(TypeError, match="async def"):
        ps.Dataset.range(3).map(ps.native(triple))


def test_worker_processes_run_no_coroutines():
    with pytest.raises(TypeError, match="event loop"):
        ps.Dataset.range(3).map(triple, 2, executor="process")


@pytest.mark.parametrize(
    ("name", "make"),
    [
        ("take_while", lambda ds: ds.take_while(is_small)),
        ("scan", lambda ds: ds.scan(np.int64(0), sum_of)),
        ("flat_map", lambda ds: ds.flat_map(counted_to)),
    ],
)
def test_other_stages_await_their_functions(name, make):
    wanted = {"take_while": [0, 1, 2], "scan": [0, 1, 3, 6, 10], "flat_map": [0, 0, 1, 0, 1, 2]}
    came = [int(x) for x in make(ps.Dataset.range(5))]
    assert came[: len(wanted[name])] == wanted[name]


async def is_small(x):
    return x < 3


async def sum_of(state, x):
    return state + x, state + x


# --- errors ---


@pytest.mark.parametrize("calls", CALLS)
def test_an_error_is_raised_as_itself_with_a_note(calls):
    async def fail(x):
        await asyncio.sleep(0)
        if x == 2:
            raise Boom("two")
        return x

    it = iter(ps.Dataset.range(4).map(fail, calls))
    assert [next(it), next(it)] == [0, 1]
    with pytest.raises(Boom, match="two") as error:
        next(it)
    assert error.traceback[-1].name == "fail"
    assert len(error.traceback) <= 3
    (note,) = error.value.__notes__
    assert note.startswith("penstock: in stage map(fail), element 2 (2)")
    assert steps(it) == [3]


@pytest.mark.parametrize("calls", CALLS)
@pytest.mark.parametrize(
    "error", [asyncio.CancelledError, KeyboardInterrupt, SystemExit, StopAsyncIteration]
)
def test_no_error_of_a_call_ends_the_others(calls, error):
    async def fail(x):
        await asyncio.sleep(0)
        if x == 1:
            raise error("early")
        return x

    it = iter(ps.Dataset.range(4).map(fail, calls))
    assert next(it) == 0
    with pytest.raises((error, RuntimeError)) as caught:
        next(it)
    assert "in stage map(fail), element 1 (1)" in caught.value.__notes__[0]
    assert list(it) == [2, 3]
    assert list(ps.Dataset.range(3).map(triple, 2)) == [0, 3, 6]


@pytest.mark.parametrize("calls", CALLS)
def test_errors_are_left_out_on_demand(calls):
    async def fail(x):
        if x % 3 == 0:
            raise Boom
        return x

    assert list(ps.Dataset.range(7).map(fail, calls, on_error="skip")) == [1, 2, 4, 5]


@pytest.mark.parametrize("calls", CALLS)
def test_an_error_of_a_predicate_is_raised_as_itself_with_a_note(calls):
    async def fail(x):
        await asyncio.sleep(0)
        if x == 2:
            raise Boom("two")
        return x % 2 == 0

    it = iter(ps.Dataset.range(7).filter(fail, num_parallel_calls=calls))
    assert next(it) == 0
    with pytest.raises(Boom, match="two") as error:
        next(it)
    assert error.traceback[-1].name == "fail"
    (note,) = error.value.__notes__
    assert note.startswith("penstock: in stage filter(fail), element 2 (2)")
    assert steps(it) == [4, 6]


@pytest.mark.parametrize("calls", CALLS)
def test_a_predicate_that_fails_is_called_again(calls):
    tries = []

    async def fails_at_first(x):
        tries.append(int(x))
        await asyncio.sleep(0)
        if x % 3 == 1 and tries.count(x) < 3:
            raise Boom("again")
        return x % 2 == 1

    ds = ps.Dataset.range(9)
    it = iter(ds.filter(fails_at_first, num_parallel_calls=calls, on_error="retry"))
    assert list(it) == [1, 3, 5, 7]
    assert [tries.count(x) for x in range(9)] == [1, 3, 1] * 3


@pytest.mark.parametrize("calls", CALLS)
def test_wrong_arguments_are_explained(calls):
    async def of_two(a, b):
        return a

    with pytest.raises(TypeError) as error:
        list(ps.Dataset.range(2).map(of_two, calls))
    assert any("of_two" in note or "argument" in note for note in error.value.__notes__)


# --- randomness ---


def _rng(x, rng):
    return rng.integers(1000)


async def _rng_later(x, rng):
    for _ in range(int(x) % 5):
        await asyncio.sleep(0)
    return rng.integers(1000)


def _drawn(x):
    return ps.random.uniform(()), ps.random.uniform(())


async def _drawn_later(x):
    first = ps.random.uniform(())
    for _ in range(int(x) % 5):
        await asyncio.sleep(0)
    return first, ps.random.uniform(())


async def _drawn_in_tasks(x):
    async def draw():
        return ps.random.uniform(())

    first = await asyncio.create_task(draw())
    return first, await asyncio.to_thread(lambda: ps.random.uniform(()))


@pytest.mark.parametrize("calls", CALLS)
@pytest.mark.parametrize(
    ("plain", "coroutine"),
    [(_rng, _rng_later), (_drawn, _drawn_later), (_drawn, _drawn_in_tasks)],
)
def test_random_numbers_are_those_of_the_element(calls, plain, coroutine):
    def run(function, calls):
        ps.set_seed(7)
        return list(ps.Dataset.range(20).map(function, calls).repeat(2))

    assert_same(run(coroutine, calls), run(plain, None))


@pytest.mark.parametrize("calls", CALLS)
def test_random_numbers_of_a_predicate_are_those_of_the_element(calls):
    async def later(x, rng):
        for _ in range(int(x) % 5):
            await asyncio.sleep(0)
        return (rng.integers(2) == 1) != (ps.random.uniform(()) > 0.5)

    def at_once(x, rng):
        return (rng.integers(2) == 1) != (ps.random.uniform(()) > 0.5)

    def run(predicate, calls):
        ps.set_seed(7)
        return list(ps.Dataset.range(64).filter(predicate, num_parallel_calls=calls).repeat(2))

    assert_same(run(later, calls), run(at_once, None))


# --- closing ---


@pytest.mark.parametrize("stage", ["map", "filter"])
@pytest.mark.parametrize("ahead", [False, True])
@pytest.mark.parametrize("calls", [1, 50])
def test_closing_cancels_the_calls_and_waits_for_them(calls, ahead, stage):
    waiting = Waiting()
    ds = getattr(ps.Dataset.range(100), stage)(waiting, num_parallel_calls=calls)
    it = iter(ds.prefetch(2) if ahead else ds)
    consumer = threading.Thread(target=lambda: next(it, None))
    consumer.start()
    assert waiting.begun.wait(LIMIT)
    it.close()
    consumer.join(LIMIT)
    assert not consumer.is_alive()
    assert sorted(waiting.ended) == list(range(len(waiting.ended)))
    assert 1 <= len(waiting.ended) <= calls


@pytest.mark.parametrize("ahead", [False, True])
def test_closing_cancels_the_call_of_a_sequential_map(ahead):
    waiting = Waiting()
    ds = ps.Dataset.range(100).map(waiting)
    it = iter(ds.prefetch(2) if ahead else ds)
    consumer = threading.Thread(target=lambda: next(it, None))
    consumer.start()
    assert waiting.begun.wait(LIMIT)
    it.close()
    consumer.join(LIMIT)
    assert waiting.ended == [0]


def test_dropping_cancels_the_calls():
    waiting = Waiting(4)

    async def first(x):
        return x if x == 0 else await waiting(x)

    it = iter(ps.Dataset.range(5).map(first, 5))
    assert next(it) == 0
    assert waiting.begun.wait(LIMIT)
    del it
    pause = threading.Event()
    for _ in range(2000):
        if len(waiting.ended) == 4:
            break
        pause.wait(0.005)
    assert sorted(waiting.ended) == [1, 2, 3, 4]


@pytest.mark.parametrize("calls", [None, 2])
@pytest.mark.parametrize("ahead", [None, 2])
def test_iterating_in_a_coroutine_without_async_is_an_error(calls, ahead):
    async def inner(x):
        ds = ps.Dataset.range(x).map(triple, calls)
        return sum(int(y) for y in (ds if ahead is None else ds.prefetch(ahead)))

    came = steps(iter(ps.Dataset.range(3).map(inner, 2)))
    assert {step.kind for step in came} == {"RuntimeError"}
    assert "async for" in came[1].text


def test_iterating_in_a_coroutine_with_async_works():
    async def inner(x):
        return sum([int(y) async for y in ps.Dataset.range(x).map(triple, 2)])

    assert list(ps.Dataset.range(5).map(inner, 3)) == [0, 0, 3, 9, 18]


def test_context_variables_of_the_consumer_are_seen():
    name = contextvars.ContextVar("name", default="none")

    async def named(x):
        return name.get()

    name.set("consumer")
    assert list(ps.Dataset.range(1).map(named)) == ["consumer"]


# --- async generators ---


def test_a_generator_runs_in_one_task():
    async def tasks():
        first = asyncio.current_task()
        async with asyncio.timeout(LIMIT):
            for _ in range(5):
                yield asyncio.current_task() is first

    assert list(ps.Dataset.from_generator(tasks)) == [True] * 5


def test_an_error_of_a_generator_ends_the_data():
    async def failing():
        yield 1
        raise Boom("two")

    came = steps(iter(ps.Dataset.from_generator(failing)))
    assert came == [1, Failure("Boom", "two")]


def test_each_iterator_has_a_generator_of_its_own():
    ds = ps.Dataset.from_generator(numbers)
    one, other = iter(ds), iter(ds)
    assert [next(one), next(one), next(other)] == [(0, "0"), (1, "1"), (0, "0")]


def test_an_async_iterable_without_a_generator_is_enough():
    class Countdown:
        def __init__(self, n):
            self.n = n

        def __aiter__(self):
            return self

        async def __anext__(self):
            if self.n == 0:
                raise StopAsyncIteration
            self.n -= 1
            return self.n

    assert list(ps.Dataset.from_generator(lambda: Countdown(3))) == [2, 1, 0]


@pytest.mark.parametrize("ahead", [False, True])
@pytest.mark.parametrize("wait", [False, True])
def test_closing_runs_the_end_of_a_generator(ahead, wait):
    ended = []

    async def endless():
        try:
            yield 0
            if wait:
                await asyncio.Event().wait()
            yield 1
        finally:
            await asyncio.sleep(0)
            ended.append(True)

    ds = ps.Dataset.from_generator(endless)
    it = iter(ds.prefetch(3) if ahead else ds)
    assert next(it) == 0
    it.close()
    assert ended == [True]


def test_a_generator_that_was_not_begun_needs_no_end():
    it = iter(ps.Dataset.from_generator(numbers))
    it.close()
    assert step(iter(ps.Dataset.from_generator(numbers))) == (0, "0")


# --- the process ---

# With "-X dev", asyncio warns of each callback over 0.1 s, which may be any on a loaded machine.
QUIET = """
import logging
logging.getLogger("asyncio").setLevel(logging.ERROR)
"""
ENDLESS = """
import asyncio
begun = threading.Event()
ended = []
async def wait(x):
    if x == 0:
        return x
    begun.set()
    try:
        await asyncio.Event().wait()
    finally:
        ended.append(int(x))
"""
LIVE = {
    "a parallel map": "it = iter(Dataset.range(9).map(wait, 5)); next(it)",
    "a prefetch": "it = iter(Dataset.range(9).map(wait).prefetch(2)); next(it); begun.wait()",
    "a daemon thread": """
it = iter(Dataset.range(9).map(wait))
threading.Thread(target=lambda: list(it), daemon=True).start()
begun.wait()
""",
    "a generator": """
async def forever():
    while True:
        yield 0
it = iter(Dataset.from_generator(forever).prefetch(2)); next(it)
""",
}


def script(code, *options):
    return run_script(QUIET + ENDLESS + code, "-X", "dev", *options)


@pytest.mark.parametrize("live", LIVE.values(), ids=LIVE)
def test_a_process_ends_at_once_and_without_a_word(live):
    done = script(live)
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")


@pytest.mark.parametrize("calls", [None, 4])
def test_an_interrupt_ends_the_wait_and_costs_no_element(calls):
    done = script(f"""
async def later(x):
    if not begun.is_set():  # in the first call, which next() waits for
        begun.set()
        await asyncio.sleep(0.5)
    return x * np.ones(2)
it = iter(Dataset.range(4).map(lambda x: x * np.ones(1)).map(later, {calls}))
def interrupt():
    begun.wait()
    os.kill(os.getpid(), signal.SIGINT)
threading.Thread(target=interrupt).start()
try:
    next(it)
except KeyboardInterrupt:
    print("interrupted")
print([x.tolist() for x in it])
""")
    wanted = "interrupted\n[[0.0, 0.0], [1.0, 1.0], [2.0, 2.0], [3.0, 3.0]]\n"
    assert (done.returncode, done.stdout, done.stderr) == (0, wanted, "")


def test_a_fork_has_a_loop_of_its_own():
    program = """
async def half(x):
    await asyncio.sleep(0)
    return x // 2
it = iter(Dataset.range(100).map(half, 9))
print(next(it), flush=True)
pid = os.fork()
if pid == 0:
    print([int(x) for x in Dataset.range(4).map(half, 2)], flush=True)
    try:
        list(it)
    except RuntimeError as error:
        print("fork" in str(error), flush=True)
    os._exit(0)
os.waitpid(pid, 0)
print(sum(int(x) for x in it))
"""
    done = script(program, *MAY_FORK)
    wanted = f"0\n[0, 0, 1, 1]\nTrue\n{sum(x // 2 for x in range(100))}\n"
    assert (done.returncode, done.stdout, done.stderr) == (0, wanted, "")
