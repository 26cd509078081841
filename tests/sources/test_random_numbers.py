"""random: an infinite sequence of random integers."""

import numpy as np
import pytest

import penstock as ps
from compare import assert_same
from contract import BOOM, DatasetContract

FIRST = [int(x) for x in ps.Dataset.random(seed=5).take(9)]


class TestRandom(DatasetContract):
    source = staticmethod(lambda: ps.Dataset.random(seed=5))
    apply = staticmethod(lambda ds: ds.take(9))
    expected = FIRST

    def expected_around_error(self):
        return [x for i, x in enumerate(self.wanted()) if i != BOOM]  # take counts it


def test_the_numbers_of_a_seed_stay_the_same():
    assert FIRST[:2] == [1982461122, 2143113261]


def test_they_are_uniform_in_32_bits():
    numbers = np.array(list(ps.Dataset.random(seed=1).take(20_000)))
    assert numbers.dtype == np.int64
    assert numbers.min() >= 0
    assert numbers.max() < 2**32
    assert abs(numbers.mean() / 2**32 - 0.5) < 0.01
    counts = np.bincount(numbers % 16, minlength=16)
    assert counts.min() > 20_000 / 16 * 0.85


def test_with_a_seed_each_epoch_and_iterator_has_the_same():
    ds = ps.Dataset.random(seed=3).take(4)
    assert_same(list(ds), list(ds))
    assert_same(list(ds.repeat(2)), list(ds) * 2)
    assert list(ds) != list(ps.Dataset.random(seed=4).take(4))


def test_without_a_seed_the_epochs_of_an_iterator_have_the_same():
    ds = ps.Dataset.random().take(4)
    twice = list(ds.repeat(2))
    assert_same(twice[:4], twice[4:])
    assert list(ds) != list(ds)
    pairs = list(ps.Dataset.zip(ps.Dataset.random(), ps.Dataset.random()).take(4))
    assert all(a != b for a, b in pairs)


def test_set_seed_decides_when_there_is_none():
    def draw():
        ps.random.set_seed(11)
        return list(ps.Dataset.random().take(4))

    assert_same(draw(), draw())


@pytest.mark.parametrize("seed", [3, None])
def test_rerandomized_every_epoch_and_iterator_has_others(seed):
    ps.random.set_seed(2)
    ds = ps.Dataset.random(seed, rerandomize_each_iteration=True).take(3).repeat(2)
    one, other = list(ds), list(ds)
    assert len({*one, *other}) == 12
    if seed is not None:
        again = ps.Dataset.random(seed, rerandomize_each_iteration=True).take(3).repeat(2)
        assert_same([list(again), list(again)], [one, other])


def test_a_state_goes_on_with_the_numbers_of_its_run():
    for rerandomize in (False, True):
        ds = ps.Dataset.random(rerandomize_each_iteration=rerandomize).take(3).repeat(3)
        it = iter(ds)
        seen = [next(it) for _ in range(4)]
        copy = ps.Dataset.random(rerandomize_each_iteration=rerandomize).take(3).repeat(3)
        again = iter(copy)
        again.set_state(it.get_state())
        rest = list(it)
        assert_same(list(again)[:2], rest[:2])
        other = iter(ds)
        other.set_state(it.get_state())
        assert len(seen) + len(rest) == 9


def test_it_has_no_end():
    ds = ps.Dataset.random(seed=1)
    assert ds.cardinality() == ps.INFINITE_CARDINALITY
    assert ds.element_spec == ps.TensorSpec((), np.int64)
    assert_same(list(ds.skip(1000).take(2)), list(ds.take(1002))[1000:])


def test_wrong_arguments_are_refused():
    with pytest.raises(TypeError, match="random: seed must be an int, got '1'"):
        ps.Dataset.random("1")


def test_the_experimental_name_is_the_method():
    ds = ps.experimental.RandomDataset(5).take(9)
    assert_same(list(ds), FIRST)
