"""prefetch: elements ahead of use."""

import threading

import numpy as np
import pytest

import penstock as ps
from compare import assert_same
from contract import DatasetContract, steps
from nightly import nightly
from penstock import _core


class TestPrefetch(DatasetContract):
    source = staticmethod(lambda: ps.Dataset.range(12))
    apply = staticmethod(lambda ds: ds.prefetch(2))
    expected = list(range(12))


class TestPrefetchOfSlowSource(DatasetContract):
    source = staticmethod(lambda: ps.Dataset.range(12).map(abs))
    apply = staticmethod(lambda ds: ds.prefetch(ps.AUTOTUNE).map(abs).prefetch(1))
    expected = list(range(12))


class TestPrefetchOfNothing(DatasetContract):
    source = staticmethod(lambda: ps.Dataset.range(12))
    apply = staticmethod(lambda ds: ds.prefetch(0))
    expected = list(range(12))


class TestPrefetchOfBatches(DatasetContract):
    source = staticmethod(lambda: ps.Dataset.range(12))
    apply = staticmethod(lambda ds: ds.map(abs).batch(5).prefetch(2).unbatch())
    expected = list(range(12))


class TestPrefetchFromSideToSide(DatasetContract):
    """Alternate between the consumer and a thread, as when the load changes."""

    source = staticmethod(lambda: ps.Dataset.range(12))
    apply = staticmethod(lambda ds: ds.prefetch(2).batch(5).prefetch(3).unbatch().prefetch(1))
    expected = list(range(12))

    @pytest.fixture(autouse=True, params=[3, *nightly(1)])
    def changing(self, request):
        _core.change_sides(request.param)
        yield
        _core.change_sides(0)


@pytest.mark.parametrize("size", [1, 2, 5])
def test_as_many_elements_are_made_ahead_as_were_asked_for(size):
    made = threading.Semaphore(0)
    count = []

    def make(x):
        count.append(x)
        made.release()
        return x

    with iter(ps.Dataset.range(100).map(make).prefetch(size)) as it:
        assert count == []
        next(it)
        for _ in range(size + 1):
            assert made.acquire(timeout=60)
        # One element may wait outside the full buffer.
        assert len(count) <= size + 2


def test_a_state_taken_where_the_consumer_pulls_makes_nothing_again():
    # Skipping rows of a filter means testing them again.
    ds = ps.Dataset.range(10_000).filter(ps.native(lambda x: x >= 0)).prefetch(1)
    _core.change_sides(1_000)
    try:
        with iter(ds) as it:
            for _ in range(1_500):  # one per request, the last hundreds without a thread
                next(it)
            state = it.get_state()
    finally:
        _core.change_sides(0)
    with iter(ds) as resumed:
        resumed.set_state(state)
        assert next(resumed) == 1_500
        (made,) = (stage["elements"] for stage in resumed.stats() if stage["kind"] == "filter")
        assert made < 100


@pytest.mark.parametrize("size", [-2, -100])
def test_a_negative_size_is_refused(size):
    with pytest.raises(ValueError, match="prefetch: buffer_size must be >= 0"):
        ps.Dataset.range(3).prefetch(size)


def test_none_is_autotune():
    assert_same(list(ps.Dataset.range(3).prefetch(None)), [0, 1, 2])


def test_a_long_chain_of_prefetches():
    ds = ps.Dataset.range(50)
    for _ in range(20):
        ds = ds.prefetch(1)
    assert len(steps(iter(ds))) == 50


@pytest.mark.parametrize(
    "behind",
    [
        lambda ds: ds.filter(lambda x: True),
        lambda ds: ds.unique(),
        lambda ds: ds.shard(1, 0),
        lambda ds: ds.flat_map(ps.Dataset.from_tensors),
        lambda ds: ds.scan(np.int64(0), lambda state, x: (state, x)),
        lambda ds: ps.Dataset.zip((ds, ds)).map(lambda x, _: x),
        lambda ds: ds.group_by_window(lambda x: 0, lambda key, window: window, window_size=1),
    ],
    ids=["filter", "unique", "shard", "flat_map", "scan", "zip", "group_by_window"],
)
def test_an_error_beside_an_element_is_not_lost_in_stages_that_take_single_steps(behind):
    # Native, so that blocks of many rows are filled; each ends with an error, after one element.
    texts = [f"odd {i}" if i > 200 and i % 2 else str(i) for i in range(1000)]
    number = ps.native(lambda text: ps.strings.to_number(text, np.int64))
    it = iter(behind(ps.Dataset.from_tensor_slices(texts).map(number).prefetch(64)))
    steps = []
    while True:
        try:
            steps.append(int(next(it)))
        except StopIteration:
            break
        except ValueError as error:
            steps.append(int(str(error).split("'odd ")[1].split("'")[0]))
    assert steps == list(range(1000))


@pytest.mark.parametrize(("limit", "most"), [(None, 64), (3_600_000, 3), (2_100_000, 2)])
def test_autotune_enlarges_a_buffer_that_was_full_and_is_empty(limit, most):
    """Up to the rest of the memory budget: each element takes a megabyte."""
    going_on = threading.Event()

    def make(x):
        if x == 4:
            going_on.wait()
        return np.zeros(1_000_000, np.uint8)

    options = ps.Options()
    options.memory_limit = limit
    with iter(ps.Dataset.range(8).map(make).prefetch(ps.AUTOTUNE).with_options(options)) as it:
        next(it)
        (stage,) = (each for each in it.stats() if each["kind"] == "prefetch")
        assert stage["buffer_limit"] == 2
        while stage["buffer_size"] < 2:
            threading.Event().wait(0.001)
            stage = it.stats()[0]
        for _ in range(3):
            next(it)
        threading.Timer(0.2, going_on.set).start()
        next(it)  # the consumer has to wait for it
        moves = [move for move in it.tuning_moves() if move["knob"] == "buffer_size"]
        sizes = [move["to"] for move in moves]
        assert sizes == sorted(sizes)
        assert it.stats()[0]["buffer_limit"] == max([2, *sizes])
        assert max([2, *sizes]) <= most
        if most > 2:
            assert (moves[0]["from"], sizes[0]) == (2, min(4, most)) or sizes[0] > 4
            assert "the buffer was found empty" in moves[0]["reason"]
        assert sum(1 for _ in it) == 3
