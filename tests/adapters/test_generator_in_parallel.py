"""A generator split into a generator of indices and a map that loads in parallel."""

import threading

import numpy as np
import pytest

import penstock as ps
from compare import assert_same
from contract import Boom

ITEMS = 24


def load(i, bad=None):
    if i == bad:
        raise Boom(f"item {i}")
    return {"x": np.full((3, 2), i, np.float32), "label": np.int64(i)}


def in_one(bad=None):
    return ps.Dataset.from_generator(lambda: (load(i, bad) for i in range(ITEMS)))


def taken_apart(function, calls=4):
    indices = ps.Dataset.from_generator(lambda: range(ITEMS))
    return indices.map(function, num_parallel_calls=calls)


@pytest.mark.parametrize("calls", [1, 2, 8, ps.AUTOTUNE])
def test_items_and_order_are_the_generator_s(calls):
    ds = taken_apart(load, calls)
    for _ in range(2):
        assert_same(list(ds), list(in_one()))


def test_as_many_items_are_loaded_at_once_as_calls_are_asked_for():
    calls = 3
    together = threading.Barrier(calls)  # passes only when this many calls are inside

    def meet(i):
        together.wait(60)
        return load(i)

    assert_same(list(taken_apart(meet, calls)), list(in_one()))


def test_an_order_that_calls_end_in_does_not_show():
    later = threading.Event()

    def overtaken(i):
        if i == 0:
            assert later.wait(60)
        if i == 1:
            later.set()
        return load(i)

    assert_same(list(taken_apart(overtaken)), list(in_one()))


def test_a_failed_item_is_raised_at_its_place_and_the_others_come():
    """A generator that raises is exhausted; a function can be called again."""
    it = iter(taken_apart(lambda i: load(i, bad=5)))
    labels = [int(next(it)["label"]) for _ in range(5)]
    with pytest.raises(Boom, match="item 5"):
        next(it)
    labels += [int(item["label"]) for item in it]
    assert labels == [i for i in range(ITEMS) if i != 5]

    it = iter(in_one(bad=5))
    assert len([next(it) for _ in range(5)]) == 5
    with pytest.raises(Boom, match="item 5"):
        next(it)
    assert list(it) == []


def test_py_function_gives_its_dtypes():
    def typed(i):
        return ps.py_function(lambda i: list(load(i).values()), [i], [np.float16, np.int32])

    x, label = taken_apart(typed).first()
    assert (x.dtype, label.dtype) == (np.float16, np.int32)


def test_the_program_of_tf_data_runs():
    from penstock.compat import tf

    ds = tf.data.Dataset.from_generator(lambda: range(ITEMS), tf.int64).map(
        lambda i: tf.py_function(lambda i: load(int(i))["x"], [i], tf.float32),
        num_parallel_calls=tf.data.AUTOTUNE,
    )
    came = list(ds.as_numpy_iterator())
    assert_same(came, [item["x"] for item in in_one()])


def test_the_pipeline_continues_from_a_state():
    ds = taken_apart(load).batch(5)
    expected = list(ds)
    it = iter(ds)
    next(it)
    state = it.get_state()
    it = iter(ds)
    it.set_state(state)
    assert_same(list(it), expected[1:])
