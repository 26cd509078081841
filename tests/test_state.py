"""Iterator states: refused ones, and combinations that the contract does not cover."""

import itertools
import pickle

import numpy as np
import pytest

import penstock as ps
from compare import assert_same, assert_same_unordered
from contract import Boom, steps


def chain():
    return (
        ps.Dataset.range(60)
        .map(abs, num_parallel_calls=2)
        .filter(lambda x: x % 5 != 0)
        .shuffle(7, seed=4)
        .batch(4)
        .prefetch(2)
        .repeat(3)
        .unbatch()
        .interleave(lambda x: ps.Dataset.from_tensors(x).repeat(2), cycle_length=3)
    )


def test_a_long_chain_restores_in_the_middle():
    wanted = [int(x) for x in chain()]
    assert len(wanted) == 48 * 3 * 2
    it = iter(chain())
    for at in range(len(wanted)):
        if at % 7 == 0:
            state = it.get_state()
            assert len(state) < 4096
            resumed = iter(chain())
            resumed.set_state(state)
            assert [int(x) for x in resumed] == wanted[at:]
        next(it)


def test_a_state_can_be_saved_in_a_loop_of_restores():
    wanted = [int(x) for x in chain()]
    came, state = [], None
    while len(came) < len(wanted):
        with iter(chain()) as it:
            if state is not None:
                it.set_state(state)
            came += [int(next(it)) for _ in range(min(9, len(wanted) - len(came)))]
            state = it.get_state()
    assert came == wanted


def test_saving_changes_nothing():
    it = iter(chain())
    came = []
    for x in it:
        it.get_state()
        came.append(int(x))
    assert came == [int(x) for x in chain()]


def test_a_state_at_the_end_stays_at_the_end():
    it = iter(chain().take(3))
    list(it)
    resumed = iter(chain().take(3))
    resumed.set_state(it.get_state())
    assert list(resumed) == []


def test_a_running_iterator_can_be_set_back_and_forth():
    it = iter(chain())
    wanted = [int(x) for x in chain()]
    states = []
    for _ in range(20):
        states.append(it.get_state())
        next(it)
    for at in (3, 19, 0, 0, 11):
        it.set_state(states[at])
        assert [int(next(it)) for _ in range(9)] == wanted[at : at + 9]
    it.set_state(states[5])
    assert [int(x) for x in it] == wanted[5:]
    it.set_state(states[18])
    assert [int(x) for x in it] == wanted[18:]


def test_a_state_of_another_pipeline_is_refused_with_both_named():
    state = iter(ps.Dataset.range(3).batch(2)).get_state()
    with pytest.raises(
        ValueError,
        match=r"another pipeline: stage 2 of it is batch, of this one map; "
        r"it is range > batch; this one is range > map",
    ):
        iter(ps.Dataset.range(3).map(abs)).set_state(state)


def test_damaged_bytes_are_refused():
    it = iter(ps.Dataset.range(9).shuffle(3, seed=1).batch(2))
    next(it)
    state = it.get_state()
    broken = [b"", b"abc", state[:-1], state + b"\0", state[5:], state[: len(state) // 2]]
    for i in range(len(state)):
        broken.append(state[:i] + bytes([state[i] ^ 0x41]) + state[i + 1 :])
    for bad in broken:
        with pytest.raises(ValueError, match="set_state: "):
            iter(ps.Dataset.range(9).shuffle(3, seed=1).batch(2)).set_state(bad)


@pytest.mark.parametrize("thing", [3, None, [1]])
def test_a_state_is_bytes(thing):
    with pytest.raises(TypeError):
        iter(ps.Dataset.range(3)).set_state(thing)


def test_a_closed_iterator_has_no_state():
    it = iter(ps.Dataset.range(3))
    it.close()
    with pytest.raises(ValueError, match="get_state: the iterator is closed"):
        it.get_state()


def test_iterators_refuse_to_be_pickled_with_advice():
    with pytest.raises(TypeError, match=r"iterator: .*get_state"):
        pickle.dumps(iter(ps.Dataset.range(3)))


def test_an_unseeded_shuffle_goes_on_in_its_own_order():
    ds = ps.Dataset.range(40).shuffle(40)
    it = iter(ds)
    came = [next(it) for _ in range(15)]
    resumed = iter(ps.Dataset.range(40).shuffle(40))
    resumed.set_state(it.get_state())
    rest = list(it)
    assert_same(list(resumed), rest)
    assert_same_unordered(came + rest, list(range(40)))


def test_random_operations_go_on_where_they_were():
    image = np.arange(400, dtype=np.uint8).reshape(10, 20, 2)

    def make(calls):
        return ps.Dataset.range(12).map(lambda x: ps.image.random_crop(image, (2, 2, 2)), calls)

    for calls in (None, 2):
        it = iter(make(calls))
        for _ in range(5):
            next(it)
        resumed = iter(make(calls))
        resumed.set_state(it.get_state())
        assert_same(list(resumed), list(it))


def test_a_generator_is_run_up_to_its_place_again():
    started = []

    def generator():
        started.append(1)
        yield from range(10)

    ds = ps.Dataset.from_generator(generator)
    it = iter(ds)
    for _ in range(4):
        next(it)
    resumed = iter(ds)
    resumed.set_state(it.get_state())
    assert_same(list(resumed), list(range(4, 10)))
    assert len(started) == 2


@pytest.mark.parametrize(
    "behind",
    [
        lambda ds: ds,
        lambda ds: ds.prefetch(1),
        lambda ds: ds.prefetch(5),
        lambda ds: ds.batch(3),
        lambda ds: ds.map(abs, num_parallel_calls=3),
        lambda ds: ds.repeat(2),
        lambda ds: ds.unbatch(),
    ],
)
def test_errors_that_were_told_are_not_told_again(behind):
    def fail(x):
        if x % 3 == 1:
            raise Boom(str(int(x)))
        return np.full(2, x)

    def make():
        return behind(ps.Dataset.range(11).map(fail))

    wanted = [str(s) for s in steps(iter(make()))]
    for at in range(len(wanted) + 1):
        it = iter(make())
        came = []
        for _ in range(at):
            try:
                came.append(str(next(it)))
            except Boom:
                came.append(None)
        resumed = iter(make())
        resumed.set_state(it.get_state())
        assert [str(s) for s in steps(resumed)] == wanted[at:]


COUNTED = ps.Dataset.range(40).map(lambda x: x * 3)
PREFETCHED = {
    "batch": (lambda: COUNTED.batch(3), lambda: COUNTED.batch(3, num_parallel_calls=2)),
    "inside": (
        lambda: COUNTED.shuffle(5, seed=3).take(30).batch(2),
        lambda: COUNTED.prefetch(2).shuffle(5, seed=3).prefetch(7).take(30).batch(2).prefetch(1),
    ),
    "inputs": (
        lambda: ps.Dataset.zip((COUNTED, COUNTED.skip(2))).concatenate(
            ps.Dataset.zip((COUNTED, COUNTED)).take(3)
        ),
        lambda: ps.Dataset.zip((COUNTED.prefetch(3), COUNTED.skip(2))).concatenate(
            ps.Dataset.zip((COUNTED, COUNTED.prefetch(2).prefetch(1))).take(3).prefetch(0)
        ),
    ),
    "opened": (
        lambda: ps.Dataset.range(4).interleave(lambda n: COUNTED.skip(n).take(6), 2, 3),
        lambda: (
            ps.Dataset.range(4)
            .prefetch(1)
            .interleave(lambda n: COUNTED.prefetch(4).skip(n).take(6).prefetch(2), 2, 3, 2)
        ),
    ),
}


@pytest.mark.filterwarnings("ignore:set_state. the state is of other data:RuntimeWarning")
@pytest.mark.parametrize("name", PREFETCHED)
def test_a_prefetch_may_be_put_in_or_left_out_between_saving_and_restoring(name):
    wanted = list(PREFETCHED[name][0]())
    strict = name != "opened"  # inside a function, it is a different function
    for saving, restoring in itertools.permutations(PREFETCHED[name]):
        it = iter(saving())
        for at in range(len(wanted)):
            resumed = iter(restoring())
            resumed.set_state(it.get_state(), strict)
            again = iter(saving())  # and restored, before and after the first step
            again.set_state(resumed.get_state(), strict)
            assert_same(list(again), wanted[at:])
            assert_same(list(resumed), wanted[at:])
            next(it)


def work(x):
    """Take a different time for each element."""
    sum(range(7919 * int(x) % 5000))
    return x


@pytest.mark.parametrize(
    "behind",
    [
        lambda ds: ds,
        lambda ds: ds.prefetch(2),
        lambda ds: ds.shuffle(8, seed=1),
        lambda ds: ds.batch(4).unbatch(),
    ],
    ids=["nothing", "prefetch", "shuffle", "unbatch"],
)
@pytest.mark.parametrize(
    "unordered",
    [
        lambda: ps.Dataset.range(80).map(work, num_parallel_calls=4, deterministic=False),
        lambda: ps.Dataset.range(8).interleave(
            lambda n: ps.Dataset.range(10 * n, 10 * n + 10).map(work), 4, 1, 4, False
        ),
    ],
    ids=["map", "interleave"],
)
def test_unordered_stages_restore_the_rest_as_a_multiset(unordered, behind):
    for at in range(0, 80, 3):
        it = iter(behind(unordered()))
        came = [next(it) for _ in range(at)]
        resumed = iter(behind(unordered()))
        resumed.set_state(it.get_state())
        assert_same_unordered([*came, *resumed], list(range(80)))
