"""filter with num_parallel_calls: the elements and order of the sequential filter."""

import threading

import numpy as np
import pytest

import penstock as ps
from compare import assert_same
from contract import Boom, DatasetContract, Failure, steps


def numbers():
    return ps.Dataset.range(15)


def third(x):
    return x % 3 == 0


native_third = ps.native(third)


def drawn(x, rng):
    return (rng.integers(2) == 1) != (ps.random.uniform(()) > 0.5)


def shaped():
    """Return strings, arrays of several shapes, and numbers."""
    return numbers().map(lambda x: {"text": f"{x}", "row": np.arange(x % 4), "n": x})


class TestParallelFilter(DatasetContract):
    source = staticmethod(numbers)
    apply = staticmethod(
        lambda ds, num_parallel_calls: ds.filter(third, num_parallel_calls=num_parallel_calls)
    )
    expected = list(range(0, 15, 3))


class TestNative(DatasetContract):
    source = staticmethod(numbers)
    apply = staticmethod(
        lambda ds, num_parallel_calls: ds.filter(
            native_third, num_parallel_calls=num_parallel_calls
        )
    )
    expected = list(range(0, 15, 3))


class TestRowsOfSeveralShapes(DatasetContract):
    source = staticmethod(shaped)
    apply = staticmethod(
        lambda ds, num_parallel_calls: ds.filter(
            lambda row: row["n"] % 2 == 1, num_parallel_calls=num_parallel_calls
        )
    )
    expected = staticmethod(lambda: [row for row in shaped() if row["n"] % 2 == 1])
    pickles = False


class TestNothingStays(DatasetContract):
    source = staticmethod(numbers)
    apply = staticmethod(lambda ds: ds.filter(lambda x: False, num_parallel_calls=2))
    expected = []
    pickles = False


class TestAutotune(DatasetContract):
    source = staticmethod(numbers)
    apply = staticmethod(lambda ds: ds.filter(third, num_parallel_calls=ps.AUTOTUNE))
    expected = list(range(0, 15, 3))


def test_predicates_run_at_the_same_time():
    together = threading.Barrier(2, timeout=60)

    def meets(x):
        together.wait()
        return x % 2 == 0

    assert_same(list(ps.Dataset.range(4).filter(meets, num_parallel_calls=2)), [0, 2])


def test_order_does_not_depend_on_the_options():
    options = ps.Options()
    options.deterministic = False
    ds = ps.Dataset.range(500).filter(third, num_parallel_calls=4).with_options(options)
    assert_same(list(ds), list(range(0, 500, 3)))


@pytest.mark.parametrize("calls", [None, 2])
def test_a_state_goes_on_with_another_number_of_calls(calls):
    other = 2 if calls is None else None
    it = iter(numbers().filter(third, num_parallel_calls=calls))
    head = [int(next(it)) for _ in range(2)]
    rest = iter(numbers().filter(third, num_parallel_calls=other))
    rest.set_state(it.get_state())
    assert head + [int(x) for x in rest] == list(range(0, 15, 3))


@pytest.mark.parametrize("answer", [1, None, "yes", np.array([True, True])])
def test_another_answer_is_the_error_of_the_sequential_filter(answer):
    wanted = steps(iter(ps.Dataset.range(3).filter(lambda x: answer)))
    came = steps(iter(ps.Dataset.range(3).filter(lambda x: answer, num_parallel_calls=2)))
    assert came == wanted
    assert "filter: the predicate must return one bool" in came[0].text


def test_a_failing_predicate_leaves_the_others():
    def fail(x):
        if x == 2:
            raise Boom("two")
        return x % 2 == 0

    ds = ps.Dataset.range(7).filter(fail, num_parallel_calls=2)
    assert steps(iter(ds)) == [0, Failure("Boom", "two"), 4, 6]
    with pytest.raises(Boom) as error:
        list(ds)
    (note,) = error.value.__notes__
    assert note.startswith("penstock: in stage filter(fail), element 2")


def test_a_predicate_draws_what_it_draws_alone():
    def kept(calls):
        ps.random.set_seed(5)
        return list(ps.Dataset.range(64).filter(drawn, num_parallel_calls=calls))

    assert_same(kept(3), kept(None))


def test_a_coroutine_function_is_awaited():
    async def even(x):
        return x % 2 == 0

    assert_same(list(ps.Dataset.range(6).filter(even, num_parallel_calls=2)), [0, 2, 4])


def test_batches_of_what_stays_are_whole():
    ds = ps.Dataset.range(100).map(lambda x: np.full((30, 40), x))
    ds = ds.filter(lambda image: image[0, 0] % 2 == 0, num_parallel_calls=2).batch(8)
    wanted = [np.full((30, 40), x) for x in range(0, 100, 2)]
    assert_same([row for batch in ds for row in batch], wanted)
