"""reduce: all elements combined into one value."""

import signal
import threading

import numpy as np
import pytest

import penstock as ps
from compare import assert_same
from contract import DatasetContract


def assert_value(came, wanted):
    assert_same([came], [wanted])


class TestReduceStage(DatasetContract):
    """The stage of the method: a dataset of the one value."""

    build = staticmethod(
        lambda: ps.Dataset.range(5)._then(
            "reduced", initial_state=np.int64(2), reduce_func=ps.native(lambda s, x: s + x)
        )
    )
    expected = [12]
    pickles = False


def test_it_gives_the_last_state():
    assert_value(ps.Dataset.range(5).reduce(np.int64(0), lambda s, x: s + x), np.int64(10))
    assert_value(ps.Dataset.range(0).reduce(np.int64(7), lambda s, x: s + x), np.int64(7))
    assert_same(
        ps.Dataset.range(3).reduce((0, "a"), lambda s, x: (s[0] + 1, s[1] + "b")), (3, "abbb")
    )
    assert_value(ps.Dataset.range(3).reduce((0, 1), lambda s, x: [s[0] + 1, s[1]]), (3, 1))


def test_a_nested_element_is_one_argument():
    ds = ps.Dataset.zip(ps.Dataset.range(4), ps.Dataset.range(4))
    assert_value(ds.reduce(np.int64(0), lambda s, pair: s + pair[0] * pair[1]), np.int64(14))
    rows = ps.Dataset.from_tensor_slices({"a": [1, 2]})
    assert_value(rows.reduce(0, lambda s, e: s + e["a"]), np.int64(3))


@pytest.mark.parametrize("calls", [None, 3])
def test_native_functions_and_parallel_inputs_give_the_same(calls):
    @ps.native
    def both(state, x):
        return {"max": np.maximum(state["max"], x), "sum": state["sum"] + x}

    ds = ps.Dataset.range(100).map(lambda x: x * 37 % 101, num_parallel_calls=calls)
    initial = {"sum": np.int64(0), "max": np.int64(0)}
    assert_same(
        ds.reduce(initial, both),
        {"sum": np.int64(sum(i * 37 % 101 for i in range(100))), "max": np.int64(100)},
    )
    assert_value(ds.reduce(initial, both), ds.reduce(initial, both.__wrapped__))


def test_a_shape_may_change_and_a_dtype_may_not():
    def append(state, x):
        return np.append(state, x)

    ds = ps.Dataset.range(3)
    assert_value(ds.reduce(np.zeros(0, np.int64), append), np.arange(3))
    with pytest.raises(TypeError, match="reduce: the new state must have the structure and dtypes"):
        ds.reduce(0.5, lambda s, x: x)
    with pytest.raises(TypeError, match="reduce: the new state must have the structure and dtypes"):
        ds.reduce(np.int64(0), lambda s, x: (s, x))


def test_opaque_objects_can_be_the_state():
    assert ps.Dataset.range(5).reduce(set(), lambda s, x: s | {int(x) % 2}) == {0, 1}


def test_the_first_error_is_raised_unless_it_is_left_out():
    def broken(x):
        if x % 2:
            raise ValueError(f"odd {int(x)}")
        return x

    ds = ps.Dataset.range(6).map(broken)
    with pytest.raises(ValueError, match="odd 1"):
        ds.reduce(np.int64(0), lambda s, x: s + x)
    assert ds.ignore_errors().reduce(np.int64(0), lambda s, x: s + x) == 6

    def fails(state, x):
        raise OSError("gone")

    with pytest.raises(OSError, match="gone") as caught:
        ps.Dataset.range(6).reduce(np.int64(0), fails)
    assert caught.value.__notes__[0].startswith("penstock: in stage reduce(fails), element 0")


@pytest.mark.parametrize("native", [False, True])
def test_ctrl_c_ends_it(native):
    begun = threading.Event()

    def begin():
        begun.set()
        yield 1

    def add(state, x):
        return state + x

    first = ps.Dataset.from_generator(begin, output_signature=ps.TensorSpec((), np.int64))
    ds = first.concatenate(ps.Dataset.range(10**15))
    thread = threading.Thread(target=lambda: (begun.wait(), signal.raise_signal(signal.SIGINT)))
    thread.start()
    with pytest.raises(KeyboardInterrupt):
        ds.reduce(np.int64(0), ps.native(add) if native else add)
    thread.join()


def test_what_is_no_function_is_refused():
    with pytest.raises(TypeError, match="reduce: reduce_func must be callable, got 3"):
        ps.Dataset.range(3).reduce(0, 3)
