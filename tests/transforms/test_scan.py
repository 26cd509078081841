"""scan: a state that is passed from element to element."""

import itertools

import numpy as np
import pytest

import penstock as ps
from compare import assert_same
from contract import BOOM, DatasetContract, Failure, steps


def add(state, x):
    return state + x, (state, x)


class TestScan(DatasetContract):
    source = staticmethod(lambda: ps.Dataset.range(9))
    apply = staticmethod(lambda ds: ds.scan(np.int64(10), add))
    expected = [(10 + sum(range(i)), i) for i in range(9)]


class TestScanOfBatches(DatasetContract):
    """Rows buffered in blocks, and a state of several leaves."""

    source = staticmethod(lambda: ps.Dataset.range(12))

    @staticmethod
    def apply(ds):
        def join(state, rows):
            total, names, none = state
            return (total + rows.sum(), names + str(rows[0]), none), names

        return ds.batch(2).scan((np.int64(0), "n", None), join).prefetch(2)

    expected = ["n", "n0", "n02", "n024", "n0246", "n02468"]
    pickles = False


class TestScanOfArrays(DatasetContract):
    """A state whose shape grows, of strings and numbers."""

    source = staticmethod(lambda: ps.Dataset.range(6))

    @staticmethod
    def apply(ds):
        def append(state, x):
            grown = np.append(state["x"], np.float32(x))
            names = np.append(state["s"], np.array([f"ä{x}"], object))
            return {"s": names, "x": grown}, (grown.sum(dtype=np.float32), "".join(names))

        return ds.scan({"x": np.zeros(0, np.float32), "s": np.array([""], object)}, append)

    pickles = False

    @staticmethod
    def expected():
        return [
            (np.float32(sum(range(i + 1))), "".join(f"ä{j}" for j in range(i + 1)))
            for i in range(6)
        ]


class TestScanOfObjects(DatasetContract):
    """A state that cannot be serialised is recomputed."""

    source = staticmethod(lambda: ps.Dataset.range(7))

    @staticmethod
    def apply(ds):
        return ds.scan(frozenset(), lambda seen, x: (seen | {int(x) % 3}, len(seen)))

    expected = [0, 1, 2, 3, 3, 3, 3]
    pickles = False

    def expected_around_error(self):
        return [0, 1, 2, 3, 3, 3]


@ps.native
def native_add(state, x):
    return {"sum": state["sum"] + x, "n": state["n"] + 1}, (x, state["sum"] / 2)


class TestNativeScan(DatasetContract):
    source = staticmethod(lambda: ps.Dataset.range(8))

    @staticmethod
    def apply(ds):
        return ds.scan({"sum": np.int64(0), "n": np.int64(0)}, native_add)

    expected = [(i, sum(range(i)) / 2) for i in range(8)]


def test_native_and_plain_functions_give_the_same_over_nested_elements():
    def running(state, element):
        key, value = element
        return (state[0] + key, state[1] * value), (state, value)

    ds = ps.Dataset.range(1, 5).enumerate(start=3)
    initial = (np.int64(0), np.int64(1))
    assert_same(list(ds.scan(initial, ps.native(running))), list(ds.scan(initial, running)))


def test_a_failed_element_leaves_the_state_as_it_was():
    def add_all_but(state, x):
        if x == BOOM:
            raise ValueError("no")
        return state + x, state + x

    came = steps(iter(ps.Dataset.range(7).scan(np.int64(0), add_all_but)))
    assert_same(came, [0, 1, 3, 6, Failure("ValueError", "no"), 11, 17])


@pytest.mark.parametrize("second", [2.5, (2,), None, "2", np.int32(2)])
def test_a_state_of_another_kind_is_an_error_in_its_place(second):
    ds = ps.Dataset.range(3).scan(np.int64(1), lambda s, x: (second if x == 1 else s + 1, s))
    it = iter(ds)
    assert next(it) == 1
    with pytest.raises(TypeError, match="scan: the new state must have the structure") as caught:
        next(it)
    assert caught.value.__notes__ == ["penstock: in stage scan, element 1"]
    assert_same(list(it), [2])


@pytest.mark.parametrize("result", [5, (1,), (1, 2, 3), {"a": 1, "b": 2}, None])
def test_what_is_no_pair_is_an_error(result):
    with pytest.raises(TypeError, match="scan: scan_func must return"):
        list(ps.Dataset.range(1).scan(np.int64(1), lambda s, x: result))


def test_a_list_of_two_is_a_pair():
    assert_same(list(ps.Dataset.range(2).scan(np.int64(1), lambda s, x: [s + 1, s])), [1, 2])


def test_dicts_may_list_their_keys_in_another_order():
    ds = ps.Dataset.range(3).scan(
        {"a": 0, "b": 0.5}, lambda s, x: ({"b": s["b"] + 1, "a": s["a"] + 2}, (s["a"], s["b"]))
    )
    assert_same(list(ds), [(0, 0.5), (2, 1.5), (4, 2.5)])


def test_arrays_of_the_state_cannot_be_changed():
    def change(state, x):
        state += x
        return state, x

    initial = np.zeros(2)
    with pytest.raises(ValueError, match="read-only"):
        list(ps.Dataset.range(1).scan(initial, change))
    assert initial.tolist() == [0, 0]


def test_every_iterator_begins_with_the_initial_state():
    ds = ps.Dataset.range(3).scan(np.int64(0), add)
    assert_same(list(ds.repeat(2)), list(ds) * 2)


def test_the_cardinality_is_that_of_the_input():
    assert ps.Dataset.range(3).scan(np.int64(0), add).cardinality() == 3
    endless = ps.Dataset.range(3).repeat().scan(np.int64(0), add)
    assert endless.cardinality() == ps.INFINITE_CARDINALITY
    assert_same(list(itertools.islice(endless, 4))[-1], (3, 0))
    assert list(ps.Dataset.range(0).scan(np.int64(0), add)) == []


def test_elements_that_fail_count_in_later_errors():
    def fail_at_odd(state, x):
        if x % 2:
            raise ValueError(f"odd {x}")
        return state, x

    it = iter(ps.Dataset.range(4).scan(np.int64(0), fail_at_odd))
    for number in (1, 3):
        assert next(it) == number - 1
        with pytest.raises(ValueError, match=f"odd {number}") as caught:
            next(it)
        assert f", element {number} " in caught.value.__notes__[0]


def test_random_numbers_in_it_belong_to_the_element():
    def draw(state, x):
        return state, ps.random.uniform((), seed=1)

    ds = ps.Dataset.range(50).scan(np.int64(0), draw)
    plain = ps.Dataset.range(50).prefetch(3).scan(np.int64(0), draw).prefetch(2)
    assert len(set(ds)) == 50
    assert_same(list(ds), list(plain))


def test_a_state_is_small_and_a_damaged_one_is_refused():
    ds = ps.Dataset.range(9).scan((np.int64(0), "text"), lambda s, x: ((s[0] + x, s[1]), x))
    it = iter(ds)
    next(it)
    state = it.get_state()
    assert len(state) < 400
    other = ps.Dataset.range(9).scan((np.zeros(4), "text"), lambda s, x: (s, x))
    with pytest.raises(ps.StateError, match=r"scan: .*initial_state"):
        iter(other).set_state(state)
    with pytest.warns(RuntimeWarning), pytest.raises(ValueError, match="set_state"):
        iter(other).set_state(state, strict=False)


def test_what_is_no_function_is_refused():
    with pytest.raises(TypeError, match="scan: scan_func must be callable, got 3"):
        ps.Dataset.range(3).scan(0, 3)


def test_the_experimental_function_is_the_method():
    ds = ps.Dataset.range(5)
    assert_same(
        list(ds.apply(ps.experimental.scan(np.int64(0), add))), list(ds.scan(np.int64(0), add))
    )


def test_an_interrupted_call_is_made_again():
    calls = []

    def once(state, x):
        calls.append(int(x))
        if calls == [0, 1]:
            raise KeyboardInterrupt
        return state + x, state + x

    ds = ps.Dataset.range(4).scan(np.int64(0), once)
    it = iter(ds)
    assert next(it) == 0
    with pytest.raises(KeyboardInterrupt):
        next(it)
    again = iter(ds)
    again.set_state(it.get_state())
    assert_same(list(it), [1, 3, 6])
    assert_same(list(again), [1, 3, 6])
