"""map with executor="process": the results of threads, and processes that die."""

import dataclasses
import gc
import importlib
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
from scripts import wait_until
from spoiling import spoiled

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="worker processes need Linux")

Pair = namedtuple("Pair", "left right")
CALLS = [None, 2]


@dataclasses.dataclass
class Box:
    inside: int
    name: str


def numbers():
    return ps.Dataset.range(12)


def square(x):
    return x * x


def describe(x):
    return {"x": np.full(2, x, np.float32), "name": f"n{x}é", "raw": b"r" * int(x)}, (x, None)


def rows(x):
    return np.full((3, 40, 50), x, np.uint8), x


class TestInProcesses(DatasetContract):
    source = staticmethod(numbers)
    apply = staticmethod(lambda ds: ds.map(square, executor="process"))
    expected = [x * x for x in range(12)]


class TestParallelInProcesses(DatasetContract):
    source = staticmethod(numbers)
    apply = staticmethod(
        lambda ds, num_parallel_calls: ds.map(
            describe, num_parallel_calls=num_parallel_calls, executor="process"
        )
    )
    expected = [describe(x) for x in range(12)]


def pids(x):
    return os.getpid()


@pytest.mark.parametrize("calls", CALLS)
def test_other_processes_call_the_function_and_all_datasets_share_them(calls):
    first = {int(pid) for pid in numbers().map(pids, num_parallel_calls=calls, executor="process")}
    assert os.getpid() not in first
    known = {*first, *_core.idle_workers()}
    again = numbers().map(pids, num_parallel_calls=calls, executor="process")
    assert {int(pid) for pid in again} <= known


def test_no_process_starts_before_the_first_iteration():
    before = set(_core.idle_workers())
    ds = numbers().map(pids, executor="process").batch(4)
    assert ds.cardinality() == 3
    assert set(_core.idle_workers()) == before


def kinds(x):
    return (
        Pair(x, np.float16(1.5)),
        Box(int(x), "b"),
        {"deep": ({"a": np.arange(6).reshape(2, 3)}, None, ())},
        np.array([[b"a", b"bc"]], object),
        np.datetime64("2026-01-01") + int(x),
        True,
        2.5 + 1j,
        np.zeros((0, 3), np.int8),
    )


@pytest.mark.parametrize("calls", CALLS)
def test_every_kind_of_value_comes_back_as_from_a_thread(calls):
    wanted = list(numbers().map(kinds))
    assert_same(list(numbers().map(kinds, num_parallel_calls=calls, executor="process")), wanted)


def first_and_second(pair, box, *others):
    assert type(pair).__name__ == "Pair"
    return box.inside + 1, others[0], pair.left


def test_every_kind_of_value_goes_in():
    ds = numbers().map(kinds)
    wanted = list(ds.map(first_and_second))
    assert_same(list(ds.map(first_and_second, executor="process")), wanted)


def with_objects(x):
    return {int(x), "set"}, x


def opened(objects, x):
    return len(objects), sorted(map(str, objects))[0], objects


@pytest.mark.parametrize("calls", CALLS)
def test_other_objects_are_pickled(calls):
    ds = numbers().map(with_objects, num_parallel_calls=calls, executor="process")
    assert [objects for objects, _ in ds] == [{x, "set"} for x in range(12)]
    back = ds.map(opened, num_parallel_calls=calls, executor="process")
    assert [objects for _, _, objects in back] == [{x, "set"} for x in range(12)]


def test_lambdas_and_closures_go_with_cloudpickle():
    offset = 40
    ds = numbers().map(lambda x: x + offset, executor="process")
    assert_same(list(ds), [x + 40 for x in range(12)])


def drawn(x, rng):
    return rng.integers(1000), ps.random.uniform((2,))


@pytest.mark.parametrize("calls", CALLS)
def test_random_draws_are_those_of_threads(calls):
    ds = numbers().shuffle(5, seed=3, reshuffle_each_iteration=False)
    threads = list(_seeded(ds.map(drawn)))
    processes = list(_seeded(ds.map(drawn, num_parallel_calls=calls, executor="process")))
    assert_same(processes, threads)


def _seeded(ds):
    ps.random.set_seed(7)
    yield from ds


def fails(x):
    if x == 4:
        raise Boom(f"at {x}")
    return x


@pytest.mark.parametrize("calls", CALLS)
def test_an_exception_is_raised_as_itself_at_its_element(calls):
    it = iter(numbers().map(fails, num_parallel_calls=calls, executor="process"))
    assert [int(next(it)) for _ in range(4)] == [0, 1, 2, 3]
    with pytest.raises(Boom, match="at 4") as caught:
        next(it)
    assert caught.value.__notes__ == ["penstock: in stage map(fails), element 4 (4)"]
    cause = str(caught.value.__cause__)
    assert 'raise Boom(f"at {x}")' in cause
    assert "penstock/workers" not in cause
    assert [int(x) for x in it] == list(range(5, 12))


class Picky(Exception):
    def __init__(self, one, two):
        super().__init__(one)
        self.two = threading.Lock()


def raises_picky(x):
    raise Picky("of one's own", 2)


class Mute(Exception):
    def __str__(self):
        raise ValueError("no text")

    def __reduce__(self):
        raise TypeError("no pickle either")


def raises_mute(x):
    raise Mute


def test_an_exception_that_cannot_be_pickled_has_a_stand_in():
    with pytest.raises(RuntimeError, match="of one's own") as caught:
        next(iter(numbers().map(raises_picky, executor="process")))
    assert type(caught.value).__name__ == "Picky"
    assert "raises_picky" in str(caught.value.__cause__)
    with pytest.raises(RuntimeError, match="cannot be made"):
        next(iter(numbers().map(raises_mute, executor="process")))


class Nine(Exception):
    def __reduce__(self):
        return int, (9,)


def raises_nine(x):
    raise Nine(f"at {x}")


def yields_and_raises_nine():
    yield 0
    raises_nine(1)


def test_an_exception_that_is_read_as_something_else_has_a_stand_in():
    called = numbers().map(raises_nine, executor="process")
    generated = ps.Dataset.from_generator(yields_and_raises_nine, executor="process")
    for it, element, place in (
        (iter(called), "at 0", "in stage map(raises_nine), element 0 (0)"),
        (iter(generated.skip(1)), "at 1", "from_generator(yields_and_raises_nine), element 1"),
    ):
        with pytest.raises(RuntimeError, match=element) as caught:
            next(it)
        assert type(caught.value).__name__ == "Nine"
        assert place in caught.value.__notes__[0]
        assert "raises_nine" in str(caught.value.__cause__)


def test_a_result_that_cannot_be_pickled_is_an_error_of_its_element():
    it = iter(numbers().map(lambda x: (threading.Lock() if x == 1 else x, x), executor="process"))
    assert_same(next(it), (0, 0))
    with pytest.raises(TypeError, match="objects that can be pickled were expected, got lock"):
        next(it)
    assert_same(next(it), (2, 2))


@pytest.mark.parametrize("calls", CALLS)
def test_on_error_leaves_elements_out(calls):
    ds = numbers().map(fails, num_parallel_calls=calls, executor="process", on_error="skip")
    assert [int(x) for x in ds] == [0, 1, 2, 3, *range(5, 12)]


def ends(x):
    if x == 3:
        os._exit(7)
    if x == 8:
        os.kill(os.getpid(), signal.SIGKILL)
    return np.full((20, 30), x)


@pytest.mark.parametrize("calls", CALLS)
def test_a_worker_that_ends_is_an_error_of_the_element_that_it_had(calls):
    found = steps(iter(numbers().map(ends, num_parallel_calls=calls, executor="process")))
    failures = {i: each for i, each in enumerate(found) if isinstance(each, Failure)}
    assert list(failures) == [3, 8]
    assert {each.kind for each in failures.values()} == {"WorkerError"}
    assert "has left with exit code 7 while it had this element" in failures[3].text
    assert "is killed by signal: SIGKILL (9) while it had this element" in failures[8].text
    others = [each for i, each in enumerate(found) if i not in failures]
    assert_same(others, [np.full((20, 30), x) for x in range(12) if x not in (3, 8)])


def closes(x):
    if x == 3:
        os.closerange(3, 100)
        time.sleep(60)
    return x


def test_a_function_that_closes_the_files_of_its_process_ends_it():
    found = steps(iter(numbers().map(closes, executor="process")))
    assert isinstance(found[3], Failure)
    assert found[3].kind == "WorkerError"
    assert_same([*found[:3], *found[4:]], [x for x in range(12) if x != 3])


def waits(x):
    time.sleep(0.05)
    return x


def test_workers_that_end_while_they_are_idle_are_replaced():
    # There are more of them than retries, and they may still be exiting when they are used.
    list(numbers().map(waits, num_parallel_calls=6, executor="process"))
    ds = numbers().map(pids, executor="process")
    for pid in _core.idle_workers():
        os.kill(pid, signal.SIGKILL)
    assert len(list(ds)) == 12


def of_other_length(x):
    return np.full(3 + (x >= 6), x)


def text_or_number(x):
    return np.full(3, x), np.array(["a", "bc"]) if x < 6 else np.full(2, -x)


def one_or_two(x):
    row = np.full(3, x)
    return (row, row + 1) if x < 6 else (row, row + 1, row + 2)


@pytest.mark.parametrize("function", [of_other_length, text_or_number, one_or_two])
@pytest.mark.parametrize("calls", CALLS)
@pytest.mark.parametrize("numbers_", [range(12), range(11, -1, -1), [0, 6, 1, 7] * 3])
def test_batches_of_rows_of_other_forms_are_those_of_threads(function, calls, numbers_):
    def batches(executor):
        ds = ps.Dataset.from_tensor_slices(np.array(numbers_))
        ds = ds.map(function, num_parallel_calls=calls, executor=executor).batch(3)
        # The locations of output rows are learnt from earlier rows, including those of earlier
        # passes.
        return [step for _ in range(3) for step in steps(iter(ds))]

    for made, wanted in zip(batches("process"), batches("thread"), strict=True):
        if isinstance(wanted, Failure):
            assert made.kind == wanted.kind
            assert made.text.splitlines()[0] == wanted.text.splitlines()[0]
        else:
            assert_same(made, wanted)


def hangs(x):
    if x == 2:
        time.sleep(60)
    return x


@pytest.mark.parametrize("calls", CALLS)
def test_a_call_that_takes_too_long_is_an_error_of_its_element(calls):
    ds = numbers().map(hangs, num_parallel_calls=calls, executor="process", worker_timeout=0.3)
    found = steps(iter(ds))
    assert isinstance(found[2], Failure)
    assert "within 0.3 s (worker_timeout)" in found[2].text
    assert_same(found[:2] + found[3:], [0, 1, *range(3, 12)])


def test_closing_does_not_wait_for_a_call():
    it = iter(numbers().map(hangs, num_parallel_calls=2, executor="process"))
    assert [int(next(it)) for _ in range(2)] == [0, 1]
    started = time.monotonic()
    it.close()
    assert time.monotonic() - started < 20
    assert_same(list(numbers().map(square, executor="process")), [x * x for x in range(12)])


@pytest.mark.parametrize("batch", [None, 3])
def test_arrays_keep_their_values_however_long_they_are_kept(batch):
    ds = ps.Dataset.range(60).map(rows, num_parallel_calls=2, executor="process")
    kept = list(ds if batch is None else ds.batch(batch))
    list(ds)  # uses all free memory
    for i, (image, number) in enumerate(kept):
        assert np.all(np.ravel(number) == (i if batch is None else np.arange(3) + 3 * i))
        assert np.all(image == np.reshape(number, (-1, *[1] * 3)) if batch else image == number)


def slow_rows(x):
    if x > 5:
        time.sleep(0.1)
    return np.full((300, 400), x)


def other_rows(x):
    return np.full((300, 400), x + 1000)


def test_calls_that_no_one_waits_for_write_to_no_other_batch():
    slow = ps.Dataset.range(40).map(slow_rows, num_parallel_calls=4, executor="process").batch(4)
    other = ps.Dataset.range(16).map(other_rows, num_parallel_calls=4, executor="process").batch(4)
    for _ in range(4):
        it = iter(slow)
        next(it)
        it.close()  # in the middle of calls, which write after their sleep
        held = list(other)
        time.sleep(0.3)
        wanted = np.arange(1000, 1016).reshape(4, 4, 1, 1)
        assert all(np.all(batch == row) for batch, row in zip(held, wanted, strict=True))


def test_a_message_that_cannot_be_sent_announces_no_class():
    def one(x):
        return Box(threading.Lock() if x == 0 else int(x), "b")

    it = iter(ps.Dataset.range(3).map(one, executor="process"))
    with pytest.raises(TypeError, match="got lock"):
        next(it)
    assert [box.inside for box in it] == [1, 2]


_kept = []


def keeps(image, number):
    _kept.append((image, int(number)))
    return all(np.all(each == n) for each, n in _kept)


def test_arguments_that_a_function_keeps_keep_their_values():
    ds = ps.Dataset.range(40).map(rows).map(keeps, executor="process")
    assert all(ds)


def flags(x):
    return all(leaf.flags.writeable for leaf in (x.values() if isinstance(x, dict) else [x]))


def of_some_sizes(x):
    return {"a": np.full(3, x), "b": np.full((20, 30), x), "c": np.full((0, 2), x)}


def of_one_size(x):
    return np.full((20, 30), x)


async def passes(x):
    return True


# Enough elements that fast ones are sent in blocks.
ELEMENTS = 40
OWN = {
    "batch": lambda: ps.Dataset.range(3 * ELEMENTS).batch(3),
    "map": lambda: ps.Dataset.range(ELEMENTS).map(of_some_sizes),
    "one size": lambda: ps.Dataset.range(ELEMENTS).map(of_one_size),
    "parallel map": lambda: ps.Dataset.range(ELEMENTS).map(of_one_size, num_parallel_calls=2),
    "process": lambda: ps.Dataset.range(ELEMENTS).map(of_some_sizes, executor="process"),
    "prefetch": lambda: ps.Dataset.range(ELEMENTS).map(of_one_size).prefetch(3),
    "generator": lambda: ps.Dataset.from_generator(lambda: (np.arange(5) + i for i in range(40))),
    "shuffle": lambda: ps.Dataset.range(ELEMENTS).map(of_one_size).shuffle(4, seed=1),
    "filter": lambda: ps.Dataset.range(ELEMENTS).map(of_one_size).filter(lambda x: x[0, 0] % 3 > 0),
    "same": lambda: ps.Dataset.range(ELEMENTS).map(of_one_size).prefetch(3).map(lambda x: x),
    "rows of batches": lambda: ps.Dataset.range(ELEMENTS).map(of_one_size).batch(8).unbatch(),
    "interleave": lambda: ps.Dataset.range(5).interleave(
        lambda _: ps.Dataset.range(8).map(of_one_size), cycle_length=2
    ),
    "take": lambda: ps.Dataset.range(ELEMENTS).map(of_one_size).prefetch(2).skip(1).take(21),
}
# Without a GIL, an array seen by the event loop's thread is released some time later. The element
# stays read-only, which costs only a copy.
if getattr(sys, "_is_gil_enabled", lambda: True)():
    OWN["async filter"] = lambda: ps.Dataset.range(ELEMENTS).map(of_one_size).filter(passes)
SHARED = {
    "slices": lambda: ps.Dataset.from_tensor_slices(np.zeros((ELEMENTS, 3))),
    "window": lambda: ps.Dataset.range(ELEMENTS).map(of_one_size).window(4).flat_map(lambda w: w),
    "slices in each": lambda: ps.Dataset.range(5).flat_map(
        lambda _: ps.Dataset.from_tensor_slices(np.zeros((8, 3)))
    ),
    "cache": lambda: ps.Dataset.range(ELEMENTS).map(of_one_size).cache(),
    "large cache": lambda: ps.Dataset.range(4).map(lambda x: np.zeros(20_000) + x).cache(),
}
EXECUTORS = ["thread", "process"]


@pytest.mark.parametrize("calls", [None, 1, 2, 4])
@pytest.mark.parametrize("executor", EXECUTORS)
@pytest.mark.parametrize("name", OWN)
def test_a_function_may_write_to_arrays_that_no_one_else_has(name, executor, calls):
    assert all(OWN[name]().map(flags, calls, executor=executor))


@pytest.mark.parametrize("calls", [None, 1, 2, 4])
@pytest.mark.parametrize("name", SHARED)
def test_a_function_may_write_to_shared_arrays_in_a_worker_alone(name, calls):
    ds = SHARED[name]()
    for _ in range(2):
        assert not any(ds.map(flags, calls))
        assert all(ds.map(flags, calls, executor="process"))


@pytest.mark.parametrize("name", OWN | SHARED)
def test_whether_elements_are_writeable_does_not_depend_on_how_many_travel_together(name):
    ds = (OWN | SHARED)[name]()
    for _ in range(2):
        assert {flags(x) for x in ds} == {flags(x) for x in ds.prefetch(2)} == {name in OWN}


def ones(x):
    return np.full(3, x)


async def notes_later(x):
    NOTED.append(x)
    return True


def notes(x):
    NOTED.append(x)
    return True


NOTED = []


@pytest.mark.parametrize("predicate", [notes, notes_later])
@pytest.mark.parametrize("calls", [None, 2])
@pytest.mark.parametrize("ahead", [None, 3])
def test_what_a_predicate_keeps_is_not_written_to(predicate, calls, ahead):
    NOTED.clear()
    ds = ps.Dataset.range(ELEMENTS).map(ones)
    ds = ds if ahead is None else ds.prefetch(ahead)
    came = [spoiled(x)[0] for x in ds.filter(predicate, num_parallel_calls=calls)]
    wanted = [ones(x) for x in range(ELEMENTS)]
    assert_same(came, wanted)
    assert_same(sorted(NOTED, key=lambda x: x[0]), wanted)


@pytest.mark.parametrize("executor", EXECUTORS)
def test_a_function_that_is_called_again_may_write_to_the_same_values(executor, tmp_path):
    def adds_one_at_the_second_try(x):
        first = tmp_path / str(int(x[0, 0]))
        x += 1
        if not first.exists():
            first.touch()
            raise OSError
        return x

    ds = ps.Dataset.range(ELEMENTS).map(of_one_size).prefetch(3)
    ds = ds.map(adds_one_at_the_second_try, 1, executor=executor, on_error="retry")
    assert_same(list(ds), [of_one_size(x + 1) for x in range(ELEMENTS)])


def adds_one(x):
    x += 1
    return x


def adds_one_or_ends(x):
    if x[0] == 6:
        os._exit(3)
    return adds_one(x)


@pytest.mark.parametrize("calls", CALLS)
@pytest.mark.parametrize("size", [3, 3000])
def test_what_a_function_writes_to_its_argument_is_its_own(size, calls):
    parts = [np.full(size, x) for x in range(12)]
    ds = ps.Dataset.from_generator(lambda: (part.copy() for part in parts))
    for source in (ds, ds.map(adds_one, executor="process")):
        wanted = list(source.map(adds_one))
        assert_same(list(source.map(adds_one, calls, executor="process")), wanted)
    found = steps(iter(ds.map(adds_one_or_ends, calls, executor="process", on_error="retry")))
    assert isinstance(found[6], Failure)
    assert_same(found[:6] + found[7:], [part + 1 for part in parts if part[0] != 6])


def test_memory_is_used_again():
    ds = ps.Dataset.range(300).map(rows, num_parallel_calls=2, executor="process").batch(4)
    for _ in ds:
        pass
    maps = Path("/proc/self/maps").read_text().count("memfd:penstock")
    for _ in range(3):
        for _ in ds:
            pass
    gc.collect()
    assert Path("/proc/self/maps").read_text().count("memfd:penstock") < maps + 40


def longer(x):
    return np.arange(x * 100), f"{x}"


def describe_one(x):
    return describe(x)[0]


def test_rows_of_batches_have_the_forms_of_threads():
    ds = ps.Dataset.range(50)
    for function in (rows, longer, square):
        wanted = list(ds.map(function).padded_batch(7))
        found = ds.map(function, num_parallel_calls=2, executor="process").padded_batch(7)
        assert_same(list(found), wanted)
    for function in (rows, describe_one, square):
        wanted = list(ds.map(function).batch(7))
        found = ds.map(function, num_parallel_calls=2, executor="process").batch(7)
        assert_same(list(found), wanted)
    for function in (rows, longer):
        wanted = list(ds.map(function).ragged_batch(7))
        found = ds.map(function, num_parallel_calls=2, executor="process").ragged_batch(7)
        assert_same(list(found), wanted)


def test_files_of_elements_are_named_in_errors(tmp_path):
    (tmp_path / "a.txt").write_text("1\nx\n3\n")
    ds = ps.TextLineDataset(str(tmp_path / "a.txt")).map(int, executor="process")
    found = steps(iter(ds))
    with pytest.raises(ValueError, match="invalid literal") as caught:
        list(ds)
    assert "a.txt" in caught.value.__notes__[0]
    assert_same([found[0], found[2]], [1, 3])


@pytest.mark.parametrize("calls", CALLS)
def test_a_state_of_threads_goes_on_in_processes(calls):
    threads = numbers().map(square, num_parallel_calls=calls)
    it = iter(threads)
    head = [int(next(it)) for _ in range(5)]
    other = iter(numbers().map(square, num_parallel_calls=calls, executor="process"))
    other.set_state(it.get_state())
    assert head + [int(x) for x in other] == [x * x for x in range(12)]


def within(x):
    return len(list(ps.Dataset.range(3).map(square, num_parallel_calls=2).prefetch(1))) + x


def within_processes(x):
    return len(list(ps.Dataset.range(3).map(square, executor="process")))


def test_a_function_may_have_a_pipeline_of_its_own_but_no_workers():
    assert_same(list(numbers().map(within, executor="process")), [x + 3 for x in range(12)])
    with pytest.raises(RuntimeError, match="use executor='thread' in functions"):
        next(iter(numbers().map(within_processes, executor="process")))


def test_a_pickled_dataset_calls_its_function_in_processes():
    ds = pickle.loads(pickle.dumps(numbers().map(pids, executor="process")))
    assert os.getpid() not in {int(pid) for pid in ds}


def test_native_functions_need_no_process():
    before = set(_core.idle_workers())
    ds = numbers().map(ps.native(lambda x: x + 1), executor="process")
    assert_same(list(ds), list(range(1, 13)))
    assert set(_core.idle_workers()) == before


def test_debugging_calls_the_function_in_this_process():
    with ps.experimental.debug_mode():
        assert [int(x) for x in numbers().map(pids, executor="process")] == [os.getpid()] * 12


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"executor": "fork"}, "executor must be 'thread', 'process' or 'auto', got 'fork'"),
        (
            {"executor": "thread", "worker_timeout": 1.0},
            "is for executor='process', got 1.0 with 'thread'",
        ),
        ({"executor": "process", "worker_timeout": 0.0}, "a number of seconds > 0"),
    ],
)
def test_wrong_options_say_what_was_expected(options, message):
    with pytest.raises(ValueError, match=message):
        numbers().map(square, **options)


def test_a_function_that_cannot_be_sent_says_what_to_do():
    lock = threading.Lock()
    with pytest.raises(TypeError, match="map: executor='process' sends the function to other"):
        numbers().map(lambda x: lock and x, executor="process")


class Unloadable:
    def __call__(self, x):
        return x

    def __reduce__(self):
        return importlib.import_module, ("there_is_no_such_module",)


@pytest.mark.parametrize("calls", CALLS)
@pytest.mark.parametrize("on_error", ["skip", "retry", lambda error, info: None])
def test_a_function_that_no_worker_can_load_is_no_error_of_an_element(on_error, calls):
    ds = numbers().map(Unloadable(), calls, executor="process", on_error=on_error)
    with pytest.raises(ModuleNotFoundError, match="there_is_no_such_module") as caught:
        next(iter(ds))
    assert not any("max_retries" in note for note in caught.value.__notes__)
    ds = numbers().filter(Unloadable(), executor="process", on_error="skip")
    with pytest.raises(ModuleNotFoundError):
        next(iter(ds))


def test_stats_show_what_each_worker_holds():
    it = iter(ps.Dataset.range(12).map(rows, 2, executor="process", on_error="retry").batch(2))
    kept = list(it)
    assert len(kept) == 6
    batches, stage, source = it.stats()
    assert batches["workers"] == source["workers"] == []
    assert stage["workers"]
    for worker in stage["workers"]:
        assert worker["pid"] in _core.idle_workers()
        assert worker["calls"] > 0
        assert worker["functions"] > 0
        assert 10**6 < worker["shared_bytes"] < worker["resident_bytes"]
    os.kill(stage["workers"][0]["pid"], signal.SIGKILL)
    list(ps.Dataset.range(1).map(square, executor="process"))
    left = {worker["pid"] for worker in stage["workers"][1:]}
    # The system may still be freeing the memory of the killed worker.
    wait_until(lambda: {worker["pid"] for worker in it.stats()[1]["workers"]} == left)


def test_workers_forget_the_functions_of_datasets_that_are_gone():
    most = []
    for i in range(20):
        it = iter(ps.Dataset.range(4).map(lambda x, i=i: x + i, executor="process"))
        list(it)
        most.append(max(worker["functions"] for worker in it.stats()[0]["workers"]))
        del it
    assert most[-1] <= most[0] + 1
