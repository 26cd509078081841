"""rng: a function with this parameter gets a generator keyed by its element."""

import gc

import numpy as np
import pytest

import penstock as ps
from compare import assert_same

Dataset = ps.Dataset


def noisy(x, *, rng):
    return x + rng.normal(size=3), rng.integers(1000), rng.random(dtype=np.float32)


def run(dataset, seed=4):
    ps.random.set_seed(seed)
    try:
        return list(dataset)
    finally:
        ps.random.set_seed(None)


def test_numbers_do_not_depend_on_parallelism():
    wanted = run(Dataset.range(40).map(noisy))
    for calls in (1, 2, 8):
        ds = Dataset.range(40).map(noisy, num_parallel_calls=calls).prefetch(2)
        assert_same(run(ds), wanted)


def test_elements_epochs_and_seeds_differ():
    draws = [int(x[1]) for x in run(Dataset.range(100).repeat(2).map(noisy))]
    assert len(set(draws)) > 150
    assert draws != [int(x[1]) for x in run(Dataset.range(100).repeat(2).map(noisy), seed=5)]


def test_each_call_begins_anew():
    def draws_some(x, rng):
        first, *_ = [rng.integers(2**32, dtype=np.uint32) for _ in range(int(x) + 1)]
        return first

    assert_same(run(Dataset.range(20).map(draws_some)), run(Dataset.range(20).map(
        lambda x, rng: rng.integers(2**32, dtype=np.uint32))))  # fmt: skip


def test_random_operations_beside_it_have_numbers_of_their_own():
    values = np.arange(1000)

    def both(x, rng):
        return ps.image.random_crop(values, (1,))[0], rng.integers(1000)

    drawn = np.array(run(Dataset.range(200).map(both)))
    assert (drawn[:, 0] == drawn[:, 1]).sum() < 5


def test_distribution():
    drawn = np.array(run(Dataset.range(20_000).map(lambda x, rng: rng.random())))
    assert abs(drawn.mean() - 0.5) < 0.01
    assert abs(drawn.var() - 1 / 12) < 0.005
    assert abs(np.corrcoef(drawn[:-1], drawn[1:])[0, 1]) < 0.03


@pytest.mark.parametrize("stage", ["filter", "flat_map", "interleave"])
def test_other_stages(stage):
    ds = Dataset.range(50)
    if stage == "filter":
        ds = ds.filter(lambda x, rng: rng.random() < 0.5)
    else:
        ds = getattr(ds, stage)(lambda x, rng: Dataset.from_tensors(rng.random()))
    first = run(ds)
    assert_same(run(ds), first)
    assert 10 < len(first) <= 50


def test_a_first_argument_of_that_name_is_the_element():
    assert [int(x) for x in Dataset.range(3).map(lambda rng: rng * 2)] == [0, 2, 4]


def test_tuples_are_spread_before_it():
    ds = Dataset.from_tensor_slices(([1, 2], [3, 4])).map(
        lambda a, b, rng: a + b + 0 * rng.random()
    )
    assert [float(x) for x in ds] == [4.0, 6.0]


def test_a_generator_that_is_kept_stays_usable():
    kept = []
    ds = Dataset.range(3).map(lambda x, rng: kept.append(rng) or x)
    assert len(list(ds)) == 3
    del ds
    gc.collect()
    assert 0 <= kept[0].random() < 1


def test_an_error_in_the_middle_costs_no_generator():
    def fails(x, rng):
        return 1 // int(x % 2) + 0 * rng.random()

    it = iter(Dataset.range(4).map(fails))
    for _ in range(2):
        with pytest.raises(ZeroDivisionError):
            next(it)
        assert next(it) == 1.0
    assert list(it) == []
