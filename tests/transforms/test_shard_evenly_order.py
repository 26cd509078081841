"""shard_evenly: processes agree on the order, and can restore each other's states."""

import itertools
import os
import pickle
import signal
import subprocess
import sys

import numpy as np
import pytest

import penstock as ps
from compare import assert_same
from even_shards import POLICIES, SOURCES, even_shards

# --- order ---


def only_some(x):
    return ps.random.uniform(()) < 0.7


RANDOM = {
    "shuffle": lambda ds: ds.shuffle(20),
    "of elements": lambda ds: ds.map(lambda x: x).shuffle(20),
    "window": lambda ds: ds.shuffle(4),
    "twice": lambda ds: ds.shuffle(20).filter(lambda x: True).shuffle(3),
    "repeated": lambda ds: ds.shuffle(20).repeat(2),
    "mixed": lambda ds: ps.Dataset.sample_from_datasets([ds, ds.map(lambda x: x + 50)]),
    "opened": lambda ds: ds.batch(5).flat_map(
        lambda rows: ps.Dataset.from_tensor_slices(rows).shuffle(5)
    ),
    "drawn": lambda ds: ps.Dataset.random().take(20),
    "chosen": lambda ds: ds.filter(only_some),
}


@pytest.mark.parametrize("stage", RANDOM)
def test_processes_agree_on_what_is_random(stage):
    """Each process has its own seeds, and builds the pipeline independently."""

    def process(i, count, seed=0):
        ps.set_seed(None if i % 2 else 10 + i)
        list(ps.Dataset.range(i))  # one run more than the others
        ds = RANDOM[stage](ps.Dataset.range(20))
        ds = ds.shard_evenly(count, i, "repeat", seed=seed)
        return [[int(x) for x in ds] for _ in range(3)]

    (alone,) = [process(0, 1)]
    shards = [process(i, 3) for i in range(3)]
    for epoch, whole in enumerate(alone):
        assert [shard[epoch] for shard in shards] == even_shards(whole, 3, "repeat")
    assert alone[0] != alone[1] != alone[2] != alone[0]
    assert process(0, 1, seed=1)[0] != alone[0]


@pytest.mark.parametrize(
    ("make", "words"),
    [
        (lambda ds: ds.shuffle(9, reshuffle_each_iteration=False), "give that shuffle a seed"),
        (lambda ds: ps.Dataset.zip(ds, ds.shuffle(9, None, False)), "give that shuffle a seed"),
        (lambda ds: ds.shuffle(9).cache().batch(2), "put cache before the shuffle"),
        (lambda ds: ds.shuffle(9, seed=3).cache("name"), "put cache before the shuffle"),
        (lambda ds: ds.shuffle(9).map(abs).snapshot("name"), "put snapshot before the shuffle"),
        (
            lambda ds: ps.Dataset.from_indexable([1, 2]).shuffle(9, None, False),
            "give that shuffle a seed",
        ),
    ],
)
def test_an_order_that_is_of_one_process_alone_is_refused(make, words):
    with pytest.raises(ValueError, match=f"shard_evenly: .*{words}"):
        make(ps.Dataset.range(9)).shard_evenly(2, 0)


def test_an_order_that_is_kept_may_come_from_a_seed():
    ds = ps.Dataset.range(9).shuffle(9, seed=1, reshuffle_each_iteration=False)
    for same in (ds, ds.cache()):
        whole = [int(x) for x in same]
        assert [[int(x) for x in same.shard_evenly(2, i)] for i in range(2)] == even_shards(
            whole, 2, "drop"
        )


def test_a_cache_of_what_is_not_random_is_kept():
    calls = []
    ds = ps.Dataset.range(5).map(lambda x: calls.append(int(x)) or x).cache()
    assert len(list(ds)) == 5
    assert_same(list(ds.shard_evenly(2, 1)), [1, 3])
    assert calls == [0, 1, 2, 3, 4]


@pytest.mark.parametrize("remainder", POLICIES)
def test_a_cache_before_it_is_complete_after_a_pass(remainder):
    calls = []
    ds = ps.Dataset.range(5).map(lambda x: calls.append(int(x)) or x).cache()
    shard = ds.shard_evenly(3, 0, remainder)
    assert list(shard) == list(shard)
    assert calls == [0, 1, 2, 3, 4]


def test_rows_of_others_are_not_fetched():
    class Rows:
        def __init__(self):
            self.fetched = []

        def __len__(self):
            return 13

        def __getitem__(self, i):
            self.fetched.append(i)
            return i * i

    for remainder, calls in itertools.product(POLICIES, [None, 2]):
        rows = Rows()
        ds = ps.Dataset.from_indexable(rows, num_parallel_calls=calls)
        shard = list(ds.shard_evenly(4, 3, remainder))
        assert len(shard) == 3 + (remainder != "drop")
        if remainder == "pad":  # checked through the shape of the padding
            assert set(rows.fetched) - {2} == {3, 7, 11}
        else:
            assert sorted(rows.fetched) == sorted([3, 7, 11] + [2] * (remainder == "repeat"))


# --- states ---


@pytest.mark.parametrize("remainder", POLICIES)
@pytest.mark.parametrize("source", ["range", "generator", "rows", "parallel rows", "mapped"])
def test_the_state_of_any_shard_serves_all(source, remainder):
    n = 17
    for count, passed in [(4, 2), (2, 5), (3, 0), (5, 4)]:

        def shards(count=count):
            ds = SOURCES[source](n)
            return [iter(ds.shard_evenly(count, i, remainder).prefetch(2)) for i in range(count)]

        states = []
        for it in shards():
            with it:
                for _ in range(passed):
                    next(it, None)
                states.append(it.get_state())
        wanted = even_shards(range(n), count, remainder, begin=count * passed)
        for state in states:
            for it, rest in zip(shards(), wanted, strict=True):
                it.set_state(state)
                assert_same(list(it), rest)


def test_a_state_of_another_number_of_shards_that_a_function_opens_is_refused():
    def shards(count):
        return iter(
            ps.Dataset.range(2).flat_map(lambda _: ps.Dataset.range(9).shard_evenly(count, 1))
        )

    it = shards(2)
    next(it)
    other = shards(3)
    words = "set_state: .*saved by one of 2 shards, this is one of 3; .* skip"
    with pytest.raises(ps.StateError, match="flat_map: the function has changed"):
        other.set_state(it.get_state())
    with pytest.warns(RuntimeWarning), pytest.raises(ValueError, match=words):
        other.set_state(it.get_state(), strict=False)


def test_another_number_of_shards_goes_on_behind_what_the_former_ones_had():
    epochs = ps.Dataset.range(10).shuffle(10).repeat(3)
    whole = [int(x) for x in epochs.shard_evenly(1, 0)]
    steps, count = 3, 4
    before = [
        int(x) for i in range(count) for x in again(epochs).shard_evenly(count, i).take(steps)
    ]
    behind = again(epochs).skip(steps * count)
    assert [[int(x) for x in again(behind).shard_evenly(3, i)] for i in range(3)] == even_shards(
        whole[12:], 3, "drop"
    )
    assert sorted(before) == sorted(whole[:12])


def again(ds):
    """Return the same pipeline as built by another process: with no runs so far."""
    return pickle.loads(pickle.dumps(ds))


def test_a_state_of_one_shuffled_shard_serves_the_others():
    def shard(i):
        return iter(ps.Dataset.range(40).shuffle(12).shard_evenly(2, i).batch(4))

    one, other = shard(0), shard(1)
    seen = np.concatenate([next(it) for it in (one, other, one, other)])
    state = one.get_state()
    for i, it in enumerate((one, other)):
        again = shard(i)
        again.set_state(state)
        rest = list(it)
        assert_same(list(again), rest)
        seen = np.concatenate([seen, *rest])
    assert sorted(seen) == list(range(40))


def test_a_state_taken_in_an_interrupted_round_goes_back_to_its_beginning():
    stop = []

    def interrupted_once(x):
        if x in stop:
            stop.clear()
            signal.raise_signal(signal.SIGINT)
        return x

    for remainder, index in itertools.product(POLICIES, range(3)):
        stop[:] = [5]
        ds = ps.Dataset.range(8).filter(lambda x: interrupted_once(x) >= 0)
        it = iter(ds.shard_evenly(3, index, remainder))
        wanted = even_shards(range(8), 3, remainder)[index]
        came = []
        with pytest.raises(KeyboardInterrupt):
            came.extend(it)
        resumed = iter(ds.shard_evenly(3, index, remainder))
        resumed.set_state(it.get_state())
        assert_same(came + list(resumed), wanted)
        assert_same(came + list(it), wanted)


# --- processes ---

PROCESS = """
import penstock as ps

ds = ps.Dataset.range(50).map(lambda x: x, 4, deterministic=False).shuffle(30)
for _ in range(2):
    print(*ds.shard_for_torch("pad").map(lambda x, real: x if real else -1))
"""


def test_real_processes_agree():
    started = [
        subprocess.Popen(
            [sys.executable, "-c", PROCESS],
            env={**os.environ, "RANK": str(rank), "WORLD_SIZE": "3"},
            stdout=subprocess.PIPE,
            text=True,
        )
        for rank in range(3)
    ]
    epochs = zip(*(p.communicate(timeout=100)[0].splitlines() for p in started), strict=True)
    came = [[[int(x) for x in line.split()] for line in lines] for lines in epochs]
    assert len(came) == 2
    for shards in came:
        assert {len(shard) for shard in shards} == {17}
        assert sorted(itertools.chain(*shards)) == [-1, *range(50)]


def test_each_pass_draws_other_numbers_whatever_stands_behind():
    """This includes iterables that are rebuilt for each pass, as in trainers."""

    def drawn(x, rng):
        return x * 1000 + rng.integers(1000)

    def shard(index):
        return ps.Dataset.range(8).map(drawn).shard_evenly(2, index)

    shards = [shard(0), shard(1)]
    epochs = [[[int(x) for x in each.prefetch(2)] for each in shards] for _ in range(3)]
    assert [[x // 1000 for x in part] for part in epochs[0]] == [[0, 2, 4, 6], [1, 3, 5, 7]]
    assert epochs[0] != epochs[1] != epochs[2] != epochs[0]
    whole = ps.Dataset.range(8).map(drawn).shard_evenly(1, 0)
    for epoch in epochs:  # the processes agree
        one, other = epoch
        assert [int(x) for x in whole.prefetch(2)] == [
            x for pair in zip(one, other, strict=True) for x in pair
        ]
