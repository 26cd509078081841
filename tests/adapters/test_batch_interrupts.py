"""Ctrl-C at any point of an iteration over a trainer's batches loses no batch."""

import pytest

import penstock as ps
from penstock.adapters.batches import Batches
from striking import Striking

N = 4


def run(places):
    """Return the batches of a pass with interrupts, and its number of signal checks."""
    it = iter(Batches(ps.Dataset.range(N), lambda x: 10 * int(x)))
    striking = Striking("penstock/adapters", places)
    came = []
    while True:
        try:
            with striking:
                batch = it.__next__()
        except KeyboardInterrupt:
            continue
        except StopIteration:
            return came, striking.looks
        came.append(batch)


def test_interrupts_at_any_place_lose_no_batch():
    want, looks = run(())
    assert want == [10 * i for i in range(N)]
    assert looks > N
    for places in [*({place} for place in range(1, looks + 1)), range(2, 99, 2), range(3, 99, 3)]:
        assert run(places)[0] == want, places


def test_a_state_between_an_interrupt_and_the_batch_that_it_kept_is_refused():
    struck = [True]

    def form(x):
        if struck.pop():
            raise KeyboardInterrupt
        return int(x)

    batches = Batches(ps.Dataset.range(N), form)
    it = iter(batches)
    with pytest.raises(KeyboardInterrupt):
        next(it)
    with pytest.raises(RuntimeError, match=r"get_state: .* call next\(\) once more first"):
        it.get_state()
    struck[:] = [False] * N
    assert next(it) == 0
    state = it.get_state()
    assert list(it) == [1, 2, 3]
    struck[:] = [False] * N
    again = iter(batches)
    again.set_state(state)
    assert list(again) == [1, 2, 3]


def test_a_state_takes_the_place_of_a_batch_that_an_interrupt_kept():
    struck = [False, False, True, False]

    def form(x):
        if struck.pop():
            raise KeyboardInterrupt
        return int(x)

    it = iter(Batches(ps.Dataset.range(N), form))
    state = it.get_state()
    assert next(it) == 0
    with pytest.raises(KeyboardInterrupt):
        next(it)
    it.set_state(state)
    assert [next(it), next(it)] == [0, 1]
