"""Each fusion, compared with the same stages unfused: elements, error positions, and states.

``fused=False`` prevents a stage from being fused with its neighbour. The plan is the same with and
without it, so either form can resume a state of the other.
"""

import threading
from typing import NamedTuple

import numpy as np
import pytest
from hypothesis import given, note, settings
from hypothesis import strategies as st

import penstock as ps
from compare import assert_same
from contract import Boom, Failure, step, steps

BOTH = (True, False)
many = settings(max_examples=80)


class Pair(NamedTuple):
    """A structure with a custom class."""

    left: object
    right: object


def scalar(i):
    return np.float32(i)


def nested(i):
    return {"x": np.full((2, 3), i, np.int16), "y": (np.int64(i), Pair(np.float64(i), None))}


def strings(i):
    return Pair(f"text {i}" * (i % 3), (bytes([i % 7]) * i, np.array(["a", str(i)], object)))


def large(i):
    return np.full((90, 100), i, np.uint16), np.int64(i)


FORMS = [scalar, nested, strings, large]


class Elements:
    """A function from numbers to elements; some fail, and some have another shape."""

    def __init__(self, form, fails, ragged):
        self.form = form
        self.fails = fails
        self.ragged = ragged

    def __call__(self, i):
        i = int(i)
        if i in self.fails:
            raise Boom(f"element {i}")
        if i in self.ragged:
            return np.zeros(3 + i % 2)
        return self.form(i)

    def __repr__(self):
        return f"Elements({self.form.__name__}, {self.fails}, {self.ragged})"


numbers = st.frozensets(st.integers(0, 24), max_size=5)
functions = st.builds(Elements, st.sampled_from(FORMS), numbers, numbers)
calls = st.sampled_from([None, 1, 2, 4, ps.AUTOTUNE])
sizes = st.integers(1, 9)


def fused(ds, kind, together, **args):
    """Add a stage that may be fused with its neighbour."""
    return ds._then(kind, fused=together, **args)


def batch(ds, together, size, drop):
    return fused(ds, "batch", together, batch_size=size, drop_remainder=drop)


def shuffle(ds, together, size):
    return fused(ds, "shuffle", together, buffer_size=size, seed=5, reshuffle_each_iteration=True)


def repeat(ds, together, count):
    return fused(ds, "repeat", together, count=count)


def check(make, data):
    """Compare both forms in full, and resume each at any step of the other."""
    one, other = (steps(iter(make(together))) for together in BOTH)
    note(f"{one!r}")
    same_steps(one, other)
    saved_by = data.draw(st.booleans(), label="saved by the fused form")
    places = st.integers(0, len(one))
    at = data.draw(places, label="saved behind so many steps")
    it = iter(make(saved_by))
    for _ in range(at):
        step(it)
    state = it.get_state()
    resumed = iter(make(not saved_by))
    resumed.set_state(state)
    # And once more, from a run that was itself resumed.
    again = data.draw(st.integers(0, len(one) - at), label="saved again behind so many more")
    for _ in range(again):
        step(resumed)
    second = iter(make(saved_by))
    second.set_state(resumed.get_state())
    same_steps(steps(it), one[at:])
    same_steps(steps(resumed), one[at + again :])
    same_steps(steps(second), one[at + again :])


def same_steps(came, wanted):
    assert_same(came, wanted)
    errors = [s for s in came if isinstance(s, Failure)]
    assert errors == [s for s in wanted if isinstance(s, Failure)]


# --- map and batch ---


@pytest.mark.slow
@many
@given(
    n=st.integers(0, 25),
    function=functions,
    parallel=calls,
    size=sizes,
    drop=st.booleans(),
    ahead=st.sampled_from([None, 1, 3]),
    data=st.data(),
)
def test_map_and_batch(n, function, parallel, size, drop, ahead, data):
    def make(together):
        ds = ps.Dataset.range(n).map(function, num_parallel_calls=parallel)
        ds = batch(ds, together, size, drop)
        return ds if ahead is None else ds.prefetch(ahead)

    check(make, data)


# --- shuffle and repeat ---


@many
@given(
    n=st.integers(0, 12),
    function=functions,
    parallel=calls,
    buffer=st.integers(1, 15),
    count=st.integers(0, 4),
    size=st.sampled_from([None, 1, 4]),
    ahead=st.sampled_from([None, 2]),
    data=st.data(),
)
def test_shuffle_and_repeat(n, function, parallel, buffer, count, size, ahead, data):
    def make(together):
        ds = ps.Dataset.range(n).map(function, num_parallel_calls=parallel).shuffle(buffer, seed=5)
        ds = repeat(ds, together, count)
        ds = ds if size is None else ds.batch(size)
        return ds if ahead is None else ds.prefetch(ahead)

    check(make, data)


@many
@given(
    lengths=st.lists(st.integers(0, 6), min_size=1, max_size=5),
    buffer=st.integers(1, 8),
    data=st.data(),
)
def test_shuffle_and_repeat_of_epochs_of_different_lengths(lengths, buffer, data):
    def make(together):
        runs = iter([*lengths, *[0] * 9])

        # The epochs of a run are distinguished by their number, not by when they are opened.
        def epoch(_):
            return ps.Dataset.range(next(runs))

        ds = ps.Dataset.range(1).flat_map(epoch).shuffle(buffer, seed=2)
        return repeat(ds, together, -1)

    one, other = (steps(iter(make(together))) for together in BOTH)
    same_steps(one, other)
    until = lengths.index(0) if 0 in lengths else len(lengths)
    assert len(one) == sum(lengths[:until])


@many
@given(
    n=st.integers(1, 8),
    cached=st.booleans(),
    buffer=st.integers(1, 9),
    taken=st.integers(0, 30),
    data=st.data(),
)
def test_shuffle_and_repeat_for_ever(n, cached, buffer, taken, data):
    def make(together):
        ds = ps.Dataset.from_generator(lambda: iter(range(n)))
        ds = ds.cache() if cached else ds
        ds = repeat(ds.shuffle(buffer, seed=2), together, -1)
        return ds.take(taken)

    check(make, data)


class Epochs:
    """A generator function that records the life of its generators."""

    def __init__(self, n):
        self.n = n
        self.events = []

    def __call__(self):
        self.events.append("begins")
        try:
            for i in range(self.n):
                self.events.append(i)
                yield i
        finally:
            self.events.append("ends")


def test_an_epoch_is_filled_while_the_one_before_is_drained():
    epochs = Epochs(5)
    it = iter(ps.Dataset.from_generator(epochs).shuffle(3).repeat(2))
    whole = ["begins", *range(5), "ends"]
    given = []
    for _ in range(5):
        next(it)
        given.append(len(epochs.events))
    # Three are read for the first element, the fourth reaches the end, and the next epoch begins
    # with the fifth.
    assert given == [4, 5, 6, 7, 9]
    assert epochs.events == [*whole, "begins", 0]
    assert len(list(it)) == 5
    assert epochs.events == whole * 2


def test_kept_apart_an_epoch_begins_behind_the_end_of_the_one_before():
    epochs = Epochs(5)
    it = iter(repeat(ps.Dataset.from_generator(epochs).shuffle(3), False, 2))
    for _ in range(5):
        next(it)
    assert epochs.events == ["begins", *range(5), "ends"]


def test_generators_of_two_epochs_never_overlap():
    epochs = Epochs(4)
    assert len(list(ps.Dataset.from_generator(epochs).shuffle(9).repeat(5))) == 20
    assert epochs.events == ["begins", *range(4), "ends"] * 5


def test_closing_while_the_next_epoch_fills_ends_its_generator():
    epochs = Epochs(4)
    with iter(ps.Dataset.from_generator(epochs).shuffle(4).repeat()) as it:
        for _ in range(3):
            next(it)
        assert epochs.events == ["begins", *range(4), "ends", "begins", 0]
    assert epochs.events[-2:] == [0, "ends"]


def test_an_epoch_that_cannot_begin_fails_at_its_place():
    begun = []

    def generator():
        begun.append(1)
        if len(begun) == 2:
            raise Boom("no second epoch")
        return iter(range(3))

    came = steps(iter(ps.Dataset.from_generator(generator).shuffle(5).repeat(3)))
    assert [isinstance(s, Failure) for s in came] == [False] * 3 + [True] + [False] * 3


# --- slices, shuffle and batch ---


def columns(n):
    return {
        "x": np.arange(4 * n, dtype=np.int16).reshape(n, 2, 2),
        "s": (np.array([f"t{i}" * (i % 3) for i in range(n)], object), np.arange(n) / 2),
    }


@many
@given(
    n=st.integers(0, 25),
    plain=st.booleans(),
    buffer=st.integers(1, 30),
    size=sizes,
    drop=st.booleans(),
    count=st.integers(1, 3),
    ahead=st.sampled_from([None, 2]),
    data=st.data(),
)
def test_slices_shuffle_and_batch(n, plain, buffer, size, drop, count, ahead, data):
    def make(together):
        rows = ps.Dataset.range(n) if plain else ps.Dataset.from_tensor_slices(columns(n))
        ds = shuffle(rows, together, buffer)
        ds = ds if count == 1 else repeat(ds, together, count)
        ds = batch(ds, together, size, drop)
        return ds if ahead is None else ds.prefetch(ahead)

    check(make, data)


# --- combinations ---


@pytest.mark.slow
@many
@given(
    n=st.integers(0, 14),
    first=functions,
    second=functions,
    parallel=calls,
    buffers=st.tuples(st.integers(1, 16), st.integers(1, 16)),
    count=st.integers(1, 3),
    size=sizes,
    data=st.data(),
)
def test_a_whole_pipeline(n, first, second, parallel, buffers, count, size, data):
    def numbered(i):
        first(i)
        return i

    def make(together):
        ds = shuffle(ps.Dataset.from_tensor_slices(np.arange(n)), together, buffers[0])
        ds = shuffle(ds.map(numbered, num_parallel_calls=parallel), together, buffers[1])
        ds = repeat(ds, together, count).map(second, num_parallel_calls=parallel)
        return batch(ds, together, size, False)

    check(make, data)


def test_threads_see_both_forms_alike():
    ds = ps.Dataset.range(50).map(lambda x: x, num_parallel_calls=4).shuffle(20, seed=1).repeat(3)
    results = {}

    def run(name):
        results[name] = [int(x) for x in ds.batch(7).unbatch()]

    threads = [threading.Thread(target=run, args=(i,)) for i in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    for came in results.values():
        assert [sorted(came[i : i + 50]) for i in (0, 50, 100)] == [list(range(50))] * 3
