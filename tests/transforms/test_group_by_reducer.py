"""group_by_reducer: one value for each key."""

import contextlib
import threading

import numpy as np
import pytest

import penstock as ps
from compare import assert_same
from contract import Boom, DatasetContract, Failure, steps

ex = ps.experimental


def third(x):
    return -(x % 3)


def init(key):
    return (key * 0, "")


def extend(state, x):
    return (state[0] + x, state[1] + f" {x}")


def finish(total, text):
    return {"total": total, "text": text}


def reduced(ds, key_func=third, init=init, reduce=extend, finalize=finish):
    return ds.apply(ex.group_by_reducer(key_func, ex.Reducer(init, reduce, finalize)))


def total(ds, key_func=third):
    return reduced(ds, key_func, lambda key: 0, lambda state, x: state + x, lambda state: state)


class TestGroupByReducer(DatasetContract):
    source = staticmethod(lambda: ps.Dataset.range(10))
    apply = staticmethod(reduced)
    expected = [
        {"total": 15, "text": " 2 5 8"},
        {"total": 12, "text": " 1 4 7"},
        {"total": 18, "text": " 0 3 6 9"},
    ]


class TestReducersOfParallelMaps(DatasetContract):
    source = staticmethod(lambda: ps.Dataset.range(10).map(int, num_parallel_calls=3))
    apply = staticmethod(reduced)
    expected = TestGroupByReducer.expected


# tf.data 2.21's results.
def test_values_are_those_of_tf_data():
    numbers = ps.Dataset.range(10)
    sums = reduced(numbers, lambda x: x % 3, lambda key: key * 100, lambda s, x: s + x, lambda s: s)
    assert_same(list(sums), [18, 112, 215])
    means = reduced(
        numbers,
        third,
        lambda key: (0.0, 0.0),
        lambda s, x: ((s[0] * s[1] + x) / (s[1] + 1), s[1] + 1),
        lambda mean, count: mean,
    )
    assert_same(list(means), [5.0, 4.0, 4.5])
    assert list(total(ps.Dataset.range(0))) == []
    pairs = ps.Dataset.zip((ps.Dataset.range(4), ps.Dataset.range(4)))
    both = reduced(
        pairs, lambda a, b: a % 2, lambda key: 0, lambda s, e: s + e[0] * 10 + e[1], lambda s: s
    )
    assert_same(list(both), [22, 44])
    grown = reduced(
        ps.Dataset.range(5),
        lambda x: x % 2,
        lambda key: np.zeros(0, np.int64),
        lambda s, x: np.append(s, x),
        lambda s: s,
    )
    assert_same(list(grown), [np.array([0, 2, 4]), np.array([1, 3])])


def test_the_cardinality_is_unknown():
    assert total(ps.Dataset.range(5)).cardinality() == ps.UNKNOWN_CARDINALITY
    assert total(ps.Dataset.range(5).repeat()).cardinality() == ps.UNKNOWN_CARDINALITY


def test_a_state_of_another_kind_is_an_error_of_its_element():
    ds = reduced(
        ps.Dataset.range(4),
        lambda x: 0,
        lambda key: 0,
        lambda state, x: state + (0.5 if x == 2 else x),
        lambda state: state,
    )
    came = steps(iter(ds))
    assert came[0].kind == "TypeError"
    assert came[0].text.startswith("group_by_reducer: reduce_func must return a state of the")
    assert_same(came[1:], [4])


def test_errors_of_each_function_leave_the_others():
    def boom_if(what, wrong, value):
        if wrong:
            raise Boom(what)
        return value

    ds = reduced(
        ps.Dataset.range(12),
        lambda x: boom_if("key", x == 1, x % 4),
        lambda key: boom_if("init", key == 2, 0),
        lambda state, x: boom_if("reduce", x == 3, state + x),
        lambda state: boom_if("finalize", state == 14, state),
    )
    assert steps(iter(ds)) == [
        Failure("Boom", "key"),
        Failure("Boom", "init"),
        Failure("Boom", "reduce"),
        Failure("Boom", "init"),
        Failure("Boom", "init"),
        12,
        Failure("Boom", "finalize"),
        18,
    ]


def test_states_tell_of_no_error_twice():
    def reduce(state, x):
        if x in (2, 5):
            raise Boom(f"at {x}")
        return state + x

    def make():
        return reduced(
            ps.Dataset.range(8).map(int), lambda x: x % 2, lambda k: 0, reduce, lambda s: s
        )

    whole = steps(iter(make()))
    assert whole == [Failure("Boom", "at 2"), Failure("Boom", "at 5"), 10, 11]
    for at in range(len(whole) + 1):
        it = iter(make())
        for _ in range(at):
            with contextlib.suppress(Boom):
                next(it)
        other = iter(make())
        other.set_state(it.get_state())
        again = iter(make())
        again.set_state(other.get_state())
        assert steps(other) == whole[at:]
        assert steps(again) == whole[at:]


def test_wrong_arguments_are_refused():
    reducer = ex.Reducer(init, extend, finish)
    with pytest.raises(TypeError, match="Reducer: reduce_func must be callable, got 3"):
        ex.Reducer(init, 3, finish)
    with pytest.raises(TypeError, match="group_by_reducer: key_func must be callable"):
        ex.group_by_reducer(3, reducer)
    with pytest.raises(TypeError, match="group_by_reducer: a Reducer was expected, got"):
        ex.group_by_reducer(third, init)
    assert (reducer.init_func, reducer.reduce_func, reducer.finalize_func) == (init, extend, finish)


def test_native_functions_give_the_same():
    functions = (
        lambda x: x % 3,
        lambda key: key,
        lambda state, x: state + x * 2,
        lambda state: state - 1,
    )
    ds = ps.Dataset.range(20)
    assert_same(list(reduced(ds, *map(ps.native, functions))), list(reduced(ds, *functions)))


def test_random_numbers_depend_on_no_thread():
    def run(calls):
        ps.random.set_seed(3)
        ds = ps.Dataset.range(12).map(int, num_parallel_calls=calls)
        return list(
            reduced(
                ds,
                third,
                lambda key: (ps.random.uniform(()), ps.random.uniform(())),
                lambda s, x: (s[0] + ps.random.uniform(()), s[1]),
                lambda a, b: (a, b, ps.random.uniform(())),
            )
        )

    first = run(None)
    assert_same(run(4), first)
    assert len({float(x) for values in first for x in values}) == 9


def test_an_endless_input_may_be_closed():
    reached = threading.Event()

    def key(x):
        reached.set()
        return 0

    it = iter(total(ps.Dataset.range(3).repeat(), key))
    reader = threading.Thread(target=lambda: next(it, None))
    reader.start()
    reached.wait()
    it.close()
    reader.join()
    assert list(it) == []
