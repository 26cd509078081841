"""shuffle: uniform, repeatable, and independent of how the data is read."""

from collections import Counter
from itertools import permutations

import numpy as np
import pytest

import penstock as ps
from compare import assert_same
from contract import DatasetContract, Variant, steps


def numbers():
    return ps.Dataset.range(13)


def streamed(ds):
    """Hide the random access of `ds`."""
    return ds.filter(lambda x: True)


def same(x):
    return x


class ShuffleContract(DatasetContract):
    """The contract of a shuffle with a seed: a permutation, always the same."""

    reshuffles = True

    @classmethod
    def expected(cls):
        return list(cls.make(Variant()))

    def test_it_is_a_permutation(self):
        came = [int(x) for x in self.make(Variant())]
        assert sorted(came) == list(range(13))
        assert came != sorted(came)


class TestIndexed(ShuffleContract):
    build = staticmethod(lambda: ps.Dataset.range(13).shuffle(5, seed=7))


class TestStreamed(ShuffleContract):
    source = staticmethod(numbers)
    apply = staticmethod(lambda ds: ds.map(same).shuffle(5, seed=7))


class TestWhole(ShuffleContract):
    source = staticmethod(numbers)
    apply = staticmethod(lambda ds: ds.map(same).shuffle(100, seed=7))


class TestRepeated(DatasetContract):
    source = staticmethod(numbers)
    apply = staticmethod(lambda ds: ds.map(same).shuffle(4, seed=7).repeat(2))
    reshuffles = True
    errors_upstream = 2

    @classmethod
    def expected(cls):
        return list(cls.make(Variant()))


class TestUnreshuffled(DatasetContract):
    source = staticmethod(numbers)
    apply = staticmethod(lambda ds: ds.map(same).shuffle(4, seed=7, reshuffle_each_iteration=False))

    @classmethod
    def expected(cls):
        return list(cls.make(Variant()))


@pytest.mark.parametrize("size", [1, 2, 7, 50, 51, 1000, 2**60])
@pytest.mark.parametrize("seed", [0, 1, -5, 2**63 - 1])
@pytest.mark.parametrize("reshuffle", [True, False])
def test_indexed_and_streamed_forms_give_the_same_order(size, seed, reshuffle):
    rows = np.arange(100).reshape(50, 2)

    def epochs(ds):
        ds = ds.shuffle(size, seed=seed, reshuffle_each_iteration=reshuffle)
        return [[row.tolist() for row in ds] for _ in range(2)]

    # Only stages that affect nothing but timing preserve the random order.
    slices = ps.Dataset.from_tensor_slices(rows)
    wanted = epochs(slices)
    assert sorted(wanted[0]) == rows.tolist()
    assert epochs(slices.prefetch(2)) == wanted
    assert epochs(slices.prefetch(0)) == wanted
    assert epochs(slices.map(same)) == epochs(slices.map(same, num_parallel_calls=2))


def test_a_buffer_of_one_keeps_the_order():
    assert_same(list(numbers().shuffle(1)), list(range(13)))


def test_no_element_comes_earlier_than_the_buffer_allows():
    came = [int(x) for x in ps.Dataset.range(500).shuffle(10, seed=3)]
    assert all(x - at < 10 for at, x in enumerate(came))


@pytest.mark.parametrize("form", [lambda ds: ds, streamed])
def test_permutations_are_uniform(form):
    ds = form(ps.Dataset.range(4)).shuffle(4, seed=11)
    n = 2400
    counts = Counter(tuple(int(x) for x in ds) for _ in range(n))
    expected = n / 24
    chi_square = sum((counts[p] - expected) ** 2 / expected for p in permutations(range(4)))
    assert chi_square < 49.7  # 23 degrees of freedom, one in a thousand; the seed is fixed


def test_epochs_differ_and_are_reproducible_with_a_seed():
    def epochs(seed):
        ds = ps.Dataset.range(30).shuffle(30, seed=seed)
        return [[int(x) for x in ds] for _ in range(3)]

    first = epochs(5)
    assert first[0] != first[1] != first[2] != first[0]
    assert epochs(5) == first
    assert epochs(6) != first


def test_epochs_of_repeat_differ_unless_told_otherwise():
    def epochs(reshuffle):
        ds = ps.Dataset.range(30).shuffle(30, seed=5, reshuffle_each_iteration=reshuffle)
        came = [int(x) for x in ds.repeat(2)]
        return came[:30], came[30:]

    first, second = epochs(True)
    assert first != second
    assert sorted(first) == sorted(second) == list(range(30))
    first, second = epochs(False)
    assert first == second


def test_without_a_seed_runs_differ():
    assert len({tuple(int(x) for x in ps.Dataset.range(30).shuffle(30)) for _ in range(4)}) == 4
    ds = ps.Dataset.range(30).shuffle(30, reshuffle_each_iteration=False)
    assert list(ds) == list(ds)


def test_the_global_seed_makes_runs_reproducible():
    def run():
        ps.random.set_seed(3)
        ds = ps.Dataset.range(30).shuffle(30)
        return [[int(x) for x in ds] for _ in range(2)]

    assert run() == run()
    assert run()[0] != run()[1]


def test_consecutive_shuffles_with_equal_seeds_have_one_order_each():
    once = [int(x) for x in ps.Dataset.range(30).shuffle(30, seed=1)]
    twice = [int(x) for x in ps.Dataset.range(30).shuffle(30, seed=1).shuffle(30, seed=1)]
    other = [int(x) for x in ps.Dataset.range(30).shuffle(30, seed=1).shuffle(30, seed=2)]
    assert once != twice
    assert [once[i] for i in once] == twice
    assert twice != other


def test_a_state_saved_in_a_later_epoch_restores_that_epoch():
    def make():
        return ps.Dataset.range(20).map(same).shuffle(6, seed=2)

    ds = make()
    list(ds)
    it = iter(ds)
    for _ in range(7):
        next(it)
    state = it.get_state()
    resumed = iter(make())
    resumed.set_state(state)
    assert_same(list(resumed), list(it))


def test_a_state_stays_small_over_many_elements_and_a_large_buffer():
    for ds in (ps.Dataset.range(100_000), ps.Dataset.range(100_000).map(same)):
        it = iter(ds.shuffle(50_000, seed=1))
        for _ in range(1000):
            next(it)
        assert len(it.get_state()) < 4096


def test_a_state_stays_small_when_many_elements_fail():
    it = iter(ps.Dataset.range(20_000).map(lambda x: 1 / 0 if x % 2 else x).shuffle(100, seed=1))
    with np.errstate(all="ignore"):
        came = steps(it, 20_001)
    assert len(came) == 20_000
    assert len(it.get_state()) < 4096


@pytest.mark.parametrize(
    ("arguments", "error", "words"),
    [
        ({"buffer_size": 0}, ValueError, "buffer_size must be >= 1 or UNKNOWN_CARDINALITY, got 0"),
        ({"buffer_size": -1}, ValueError, "buffer_size must be >= 1 or UNKNOWN"),
        ({"buffer_size": None}, TypeError, "buffer_size must be an int"),
        ({"buffer_size": 2, "seed": "x"}, TypeError, "seed must be an int"),
    ],
)
def test_wrong_arguments_are_refused_at_the_call(arguments, error, words):
    with pytest.raises(error, match=f"shuffle: {words}"):
        numbers().shuffle(**arguments)


@pytest.mark.parametrize("form", [lambda ds: ds, streamed])
def test_an_unknown_size_shuffles_everything(form):
    n = 300
    ds = form(ps.Dataset.range(n)).shuffle(ps.UNKNOWN_CARDINALITY, seed=1)
    orders = [[int(x) for x in ds] for _ in range(2)]
    assert orders[0] == [int(x) for x in form(ps.Dataset.range(n)).shuffle(n, seed=1)]
    assert orders[0] != orders[1]
    assert all(sorted(order) == list(range(n)) for order in orders)
    it = iter(ds)
    begin = [int(next(it)) for _ in range(7)]
    state, rest = it.get_state(), [int(x) for x in it]
    again = iter(ds)
    again.set_state(state)
    assert [int(x) for x in again] == rest
    assert sorted(begin + rest) == list(range(n))


def test_an_endless_dataset_cannot_be_shuffled_as_a_whole():
    with pytest.raises(ValueError, match="has no end; use a buffer_size of some elements"):
        ps.Dataset.range(3).repeat().shuffle(ps.UNKNOWN_CARDINALITY)
