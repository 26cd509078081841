"""cache: the first full pass is kept."""

import numpy as np
import pytest

import penstock as ps
from compare import assert_same
from contract import Boom, DatasetContract, Failure, steps


class TestCache(DatasetContract):
    source = staticmethod(lambda: ps.Dataset.range(12))
    apply = staticmethod(lambda ds: ds.map(abs).cache())
    expected = list(range(12))


class TestCacheInTheMiddle(DatasetContract):
    source = staticmethod(lambda: ps.Dataset.range(12))
    apply = staticmethod(
        lambda ds, num_parallel_calls: ds.cache().map(abs, num_parallel_calls=num_parallel_calls)
    )
    expected = list(range(12))


class TestCacheUnderRepeat(DatasetContract):
    source = staticmethod(lambda: ps.Dataset.range(6))
    apply = staticmethod(lambda ds: ds.map(abs).cache().repeat(3))
    expected = list(range(6)) * 3
    errors_upstream = 3  # it fails again in each pass


@pytest.fixture
def counted():
    calls = []

    def make(n, **arguments):
        return ps.Dataset.range(n).map(lambda x: calls.append(1) or x, **arguments)

    return make, calls


def test_later_passes_compute_nothing(counted):
    make, calls = counted
    ds = make(5).cache()
    for _ in range(3):
        assert_same(list(ds), list(range(5)))
    assert_same(list(ds.repeat(2)), list(range(5)) * 2)
    assert_same(list(ds.batch(5)), [np.arange(5)])
    assert len(calls) == 5


@pytest.mark.parametrize("ahead", [lambda ds: ds, lambda ds: ds.prefetch(3)])
def test_a_pass_that_stops_early_caches_nothing(counted, ahead):
    make, calls = counted
    ds = make(5).cache()
    with iter(ahead(ds.take(3))) as it:
        list(it)
    assert_same(list(ds), list(range(5)))
    assert len(calls) == 3 + 5
    list(ds)
    assert len(calls) == 3 + 5


def test_two_passes_at_a_time_both_compute(counted):
    make, calls = counted
    ds = make(4).cache()
    pairs = list(zip(ds, ds, strict=True))
    assert_same(pairs, [(i, i) for i in range(4)])
    assert len(calls) == 8
    list(ds)
    assert len(calls) == 8


def test_a_pass_with_an_error_is_tried_again():
    failing = [True]

    def fail_once(x):
        if x == 2 and failing:
            failing.clear()
            raise Boom("once")
        return x

    ds = ps.Dataset.range(4).map(fail_once).cache()
    assert steps(iter(ds)) == [0, 1, Failure("Boom", "once"), 3]
    assert_same(list(ds), [0, 1, 2, 3])


def test_what_is_handed_out_cannot_change_the_cache():
    ds = ps.Dataset.range(3).map(lambda x: np.full(2, x)).cache()
    for _ in range(3):
        for i, row in enumerate(ds):
            assert row.tolist() == [i, i]
            if row.flags.writeable:
                row[:] = 99


def test_a_shuffle_before_is_frozen_and_one_behind_is_not():
    frozen = ps.Dataset.range(30).shuffle(30, seed=1).cache()
    assert list(frozen) == list(frozen)
    fresh = ps.Dataset.range(30).cache().shuffle(30, seed=1)
    assert list(fresh) != list(fresh)


@pytest.mark.parametrize("seed", [3, None])
def test_a_state_works_where_the_cache_is_not_filled(seed):
    def make():
        return ps.Dataset.range(9).map(abs).shuffle(5, seed=seed).cache()

    ds = make()
    list(ds)
    it = iter(ds)
    came = [next(it) for _ in range(4)]
    resumed = iter(make())
    resumed.set_state(it.get_state())
    assert_same(came + list(resumed), list(ds))
