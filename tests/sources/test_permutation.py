"""permutation: the numbers below a size, each once, in an order that needs no memory."""

import collections
import itertools
import math

import numpy as np
import pytest

import penstock as ps
from contract import DatasetContract

D = ps.Dataset
FEW = 4096  # up to this size, orders are uniform


def permutation(size, seed=1, reshuffle=False):
    return D._make(
        "permutation", (), {"size": size, "seed": seed, "reshuffle_each_iteration": reshuffle}
    )


def order(size, seed):
    return np.fromiter(permutation(size, seed).batch(10_000).unbatch(), np.int64)


class TestPermutation(DatasetContract):
    build = staticmethod(lambda: permutation(17))
    expected = staticmethod(lambda: list(permutation(17)))


class TestLarge(DatasetContract):
    build = staticmethod(lambda: permutation(10**15).take(20))
    expected = staticmethod(lambda: list(permutation(10**15).take(20)))


SIZES = [
    0,
    1,
    2,
    3,
    7,
    FEW - 1,
    FEW,
    FEW + 1,
    8191,
    8192,
    8193,
    2**16 - 1,
    2**16,
    2**16 + 1,
    99_991,
]


@pytest.mark.parametrize("size", SIZES)
def test_each_number_comes_once(size):
    for seed in range(3):
        assert np.array_equal(np.sort(order(size, seed)), np.arange(size))


@pytest.mark.parametrize("size", [2**31, 2**32 + 5, 2**53 + 1, 2**62])
def test_large_sizes_give_numbers_below_them(size):
    numbers = [int(x) for x in permutation(size).take(2000)]
    assert len(set(numbers)) == 2000
    assert min(numbers) >= 0
    assert max(numbers) < size
    assert max(numbers) > size * 0.99


@pytest.mark.parametrize("size", [2, 3, 4, 5])
def test_all_orders_of_few_numbers_are_equally_likely(size):
    trials = 200 * math.factorial(size)
    counts = collections.Counter(tuple(order(size, seed)) for seed in range(trials))
    assert set(counts) == set(itertools.permutations(range(size)))
    chi_square = sum((count - 200) ** 2 / 200 for count in counts.values())
    freedom = math.factorial(size) - 1
    assert chi_square < freedom + 5 * math.sqrt(2 * freedom)


@pytest.mark.parametrize("size", [FEW, FEW + 1, 8192, 100_000])
def test_positions_and_numbers_do_not_depend_on_each_other(size):
    cells = 16
    counts = np.zeros((cells, cells))
    seeds = 20
    for seed in range(seeds):
        numbers = order(size, seed)
        where = np.arange(size) * cells // size
        np.add.at(counts, (where, numbers * cells // size), 1)
    expected = seeds * size / cells**2
    chi_square = ((counts - expected) ** 2 / expected).sum()
    freedom = (cells - 1) ** 2
    assert chi_square < freedom + 6 * math.sqrt(2 * freedom)


@pytest.mark.parametrize("size", [FEW + 1, 8192, 100_000])
def test_neighbours_are_no_neighbours_before(size):
    distances = np.concatenate([np.diff(order(size, seed)) for seed in range(20)])
    near = np.count_nonzero(np.abs(distances) <= 4)
    expected = 8 * len(distances) / size
    assert abs(near - expected) < 6 * math.sqrt(expected) + 1


def test_other_seeds_give_other_orders():
    first, second = order(50_000, 1), order(50_000, 2)
    assert np.count_nonzero(first == second) < 12
    assert np.array_equal(order(50_000, 1), first)
