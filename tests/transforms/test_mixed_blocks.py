"""Mixes that read their inputs in blocks: the same as element by element, at every step."""

import numpy as np
import pytest

import penstock as ps
from compare import assert_same
from contract import DatasetContract, Failure, step, steps

sample = ps.Dataset.sample_from_datasets
choose = ps.Dataset.choose_from_datasets


@ps.native
def number(text):
    return ps.strings.to_number(text, np.int64)


def texts(*items):
    return ps.Dataset.from_tensor_slices(np.array(items, object))


def same(ds):
    """Return `ds` followed by a Python function, before which nothing is pulled ahead."""
    return ds.map(lambda *e: e if len(e) > 1 else e[0])


def numbers(start, stop):
    return ps.Dataset.range(start, stop)


def arrays(n, *shape):
    return ps.Dataset.from_tensor_slices(np.arange(n * np.prod(shape)).reshape(n, *shape))


FAILING = [b"0", b"1", b"x", b"3", b"y", b"z", b"6", b"7"]

INPUTS = {
    "numbers": lambda: [numbers(0, 9), numbers(100, 103), numbers(200, 230)],
    "one": lambda: [numbers(0, 12)],
    "empty": lambda: [numbers(0, 0), numbers(0, 4), numbers(7, 7)],
    "pairs": lambda: [ps.Dataset.zip(numbers(i, i + 9), arrays(9, 2, 3)) for i in (0, 50)],
    "short blocks": lambda: [
        numbers(0, 3).concatenate(numbers(10, 12)).concatenate(numbers(20, 29)),
        numbers(100, 102).repeat(5),
    ],
    "shapes": lambda: [arrays(8, 2), arrays(8, 3), arrays(20, 6).batch(4)],
    "shapes of one input": lambda: [numbers(0, 11).batch(4), numbers(50, 63).batch(3)],
    "texts": lambda: [texts(*"abcdefg"), texts(*"tuvwxyz")],
    "large": lambda: [arrays(6, 30, 30), arrays(4, 30, 30)],
    "failing": lambda: [texts(*FAILING).map(number), numbers(100, 120)],
    "all failing": lambda: [texts(*FAILING).map(number) for _ in range(3)],
    "shuffled": lambda: [numbers(0, 20).shuffle(5, 1, False), numbers(50, 60).prefetch(2)],
}


def turns(count, seed=3):
    return np.random.default_rng(seed).integers(0, count, 60)


def weights(count):
    return np.random.default_rng(4).random((60, count))


def by_weights(parts, pulled, **stop):
    return sample(parts, np.linspace(0.2, 1, len(parts)), seed=5, **stop)


def by_given_weights(parts, pulled):
    return sample(parts, pulled(ps.Dataset.from_tensor_slices(weights(len(parts)))), seed=5)


def by_choices(parts, pulled, **stop):
    return choose(parts, pulled(ps.Dataset.from_tensor_slices(turns(len(parts)))), **stop)


def by_bad_choices(parts, pulled):
    given = turns(len(parts))
    given[[5, 6, 17]] = -1, len(parts), 99
    return choose(parts, pulled(ps.Dataset.from_tensor_slices(given)), False)


MIXES = {
    "weights": by_weights,
    "weights, stop": lambda p, f: by_weights(p, f, stop_on_empty_dataset=True),
    "given weights": by_given_weights,
    "choices": lambda p, f: by_choices(p, f, stop_on_empty_dataset=False),
    "choices, stop": by_choices,
    "bad choices": by_bad_choices,
}


def both(inputs, mix):
    """Return a mix that reads blocks, and the same mix element by element."""
    parts = INPUTS[inputs]()
    return MIXES[mix](parts, lambda ds: ds), MIXES[mix]([same(p) for p in parts], same)


def told(came):
    """Return the steps, without the texts of errors, which name other positions."""
    return [Failure(s.kind, "") if isinstance(s, Failure) else s for s in came]


@pytest.mark.parametrize("mix", MIXES)
@pytest.mark.parametrize("inputs", INPUTS)
def test_blocks_give_what_elements_give(inputs, mix):
    blocks, elements = both(inputs, mix)
    wanted = told(steps(iter(elements)))
    assert_same(told(steps(iter(blocks))), wanted)
    # From a background thread: up to a limit, several elements per request.
    assert_same(told(steps(iter(blocks.prefetch(3)))), wanted)
    good = [s for s in wanted if not isinstance(s, Failure)]
    for n in (0, 1, 7, 1000):
        assert_same(list(blocks.ignore_errors().take(n)), good[:n])
    if inputs not in ("shapes", "shapes of one input"):
        for size in (3, 64, 5000):
            assert_same(list(blocks.ignore_errors().batch(size).unbatch()), good)
            assert_same(
                told(steps(iter(blocks.batch(size)))), told(steps(iter(elements.batch(size))))
            )


@pytest.mark.parametrize("mix", MIXES)
@pytest.mark.parametrize("inputs", INPUTS)
def test_a_state_at_every_step_continues_there(inputs, mix):
    for ds in (both(inputs, mix)[0], both(inputs, mix)[0].batch(3)):
        if inputs.startswith("shapes") and ds.element_spec != both(inputs, mix)[0].element_spec:
            continue
        wanted = steps(iter(ds))
        it = iter(ds)
        for i in range(len(wanted) + 1):
            again = iter(ds)
            again.set_state(it.get_state())
            assert_same(steps(again), wanted[i:])
            if i < len(wanted):
                assert_same([step(it)], [wanted[i]])


class TestMixOfWhatFailsNatively(DatasetContract):
    """An error takes its turn, and elements pulled with it remain."""

    build = staticmethod(
        lambda: choose(
            [texts(b"0", b"1", b"2", b"3").map(number), numbers(10, 14)],
            ps.Dataset.from_tensor_slices([0, 1, 0, 1, 0, 1, 0, 1]),
        ).batch(4)
    )
    expected = [np.array([0, 10, 1, 11]), np.array([2, 12, 3, 13])]


def test_many_rows_come_in_their_order():
    parts = [numbers(i * 10**6, i * 10**6 + 5000) for i in range(3)]
    rows = np.concatenate(list(sample(parts, [0.5, 0.3, 0.2], seed=1).batch(4096)))
    for i in range(3):
        mine = rows[rows // 10**6 == i]
        assert_same(mine, np.arange(i * 10**6, i * 10**6 + 5000))
    assert len(rows) == 15_000


@pytest.mark.parametrize("inputs", ["short blocks", "texts", "pairs"])
@pytest.mark.parametrize("mix", ["weights", "given weights", "choices"])
def test_random_operations_behind_it_have_the_keys_of_the_elements(inputs, mix):
    def draw(*element):
        return element, ps.random.uniform((), 0, 10**9, np.int64)

    def start():
        ps.random.set_seed(1)
        return iter(both(inputs, mix)[0].map(ps.native(draw)))

    with ps.experimental.debug_mode():  # which pulls nothing ahead
        wanted = steps(start())
    assert_same(steps(start()), wanted)
