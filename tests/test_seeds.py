"""set_seed: when a seed is taken, and by whom."""

import pytest

import penstock as ps


def noise(x):
    return float(ps.random.uniform((), dtype="float64"))


@pytest.fixture(autouse=True)
def unseeded():
    yield
    ps.set_seed(None)


def noises():
    return ps.Dataset.range(4).map(noise)


def test_an_iterator_takes_its_seed_when_it_is_made():
    ps.set_seed(7)
    wanted = [list(noises()), list(noises())]
    ds = noises()
    ps.set_seed(7)
    a = iter(ds)
    ps.set_seed(7)
    b = iter(ds)
    c = iter(ds)
    assert [list(c), list(b), list(a)] == [wanted[1], wanted[0], wanted[0]]


def test_an_iterator_has_its_seed_whatever_is_set_before_it_starts():
    ps.set_seed(7)
    wanted = list(noises())
    ps.set_seed(7)
    it = iter(noises())
    ps.set_seed(8)
    assert list(it) == wanted
    ps.set_seed(7)
    it = iter(noises())
    ps.set_seed(None)
    assert list(it) == wanted


def test_iterators_count_the_passes_over_a_dataset_when_they_are_made():
    ds = ps.Dataset.range(20).shuffle(20, seed=3)
    first, second = list(ds), list(ds)
    again = ps.Dataset.range(20).shuffle(20, seed=3)
    a, b = iter(again), iter(again)
    assert list(b) == second
    assert list(a) == first


@pytest.mark.parametrize("reshuffles", [True, False])
def test_what_has_a_seed_of_its_own_takes_none(reshuffles):
    ps.set_seed(7)
    wanted = list(noises())
    ps.set_seed(7)
    ps.Dataset.range(3).shuffle(3, seed=1, reshuffle_each_iteration=reshuffles)
    assert list(noises()) == wanted


def test_a_look_at_the_elements_takes_none():
    ps.set_seed(7)
    wanted = list(noises())
    ps.set_seed(7)
    ds = noises()
    assert ds.element_spec.shape == ()
    assert list(ds) == wanted


def test_restoring_takes_none():
    ds = noises()
    ps.set_seed(7)
    it = iter(ds)
    next(it)
    state = it.get_state()
    rest, after = list(it), list(ds)
    ps.set_seed(7)
    it = iter(ds)
    it.set_state(state)
    assert list(it) == rest
    assert list(ds) == after


@pytest.mark.parametrize("shards", [1, 2, 4])
def test_draws_behind_shard_evenly_do_not_depend_on_the_number_of_shards(shards):
    def of_shard(index):
        ps.set_seed(7)
        ds = ps.Dataset.range(8).shard_evenly(shards, index)
        return [(int(x), y) for x, y in ds.map(lambda x: (x, noise(x)))]

    ps.set_seed(7)
    wanted = [(int(x), y) for x, y in ps.Dataset.range(8).map(lambda x: (x, noise(x)))]
    came = sorted(pair for index in range(shards) for pair in of_shard(index))
    assert [x for x, _ in came] == [x for x, _ in wanted]
