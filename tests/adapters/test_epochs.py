"""Epochs of a trainer: separate runs, or steps of one continuing run; needs no framework."""

import gc

import numpy as np
import pytest

import penstock as ps
from contract import Boom, assert_frees_threads
from penstock.adapters.batches import Batches
from penstock.adapters.epochs import Epochs, Place


def epochs_of(dataset, steps=None, length=None):
    return Epochs("here", Batches(dataset, int), steps, length, Place())


def test_without_steps_each_epoch_is_a_pass():
    epochs = epochs_of(ps.Dataset.range(5).shuffle(5, seed=1))
    one, other = list(epochs), list(epochs)
    assert sorted(one) == sorted(other) == list(range(5))
    assert one != other


def test_steps_go_on_over_passes():
    epochs = epochs_of(ps.Dataset.range(5).repeat(), 3)
    assert [list(epochs) for _ in range(4)] == [[0, 1, 2], [3, 4, 0], [1, 2, 3], [4, 0, 1]]


@pytest.mark.parametrize("used", range(3))
def test_an_epoch_that_was_left_begins_again_with_the_same_batches(used):
    dataset = ps.Dataset.range(7).shuffle(7, seed=2).repeat().prefetch(2)
    epochs = epochs_of(dataset, 3)
    left = iter(epochs)
    seen = [next(left) for _ in range(used)]
    again = list(epochs)
    assert again[:used] == seen
    rest = list(epochs) + list(epochs)
    assert sorted((again + rest)[:7]) == list(range(7))  # the first pass: none lost, none repeated


def test_in_the_middle_an_epoch_that_was_left_begins_again():
    epochs = epochs_of(ps.Dataset.range(100).repeat(), 3)
    assert list(epochs) == [0, 1, 2]
    assert next(iter(epochs)) == 3
    iter(epochs)  # like PyTorch's loader: an epoch without a request for a batch
    assert list(epochs) == [3, 4, 5]
    assert list(epochs) == [6, 7, 8]


@pytest.mark.parametrize("bad", [0, 1])
@pytest.mark.parametrize("steps", [None, 2])
def test_after_an_error_an_epoch_begins_anew(bad, steps):
    failures = [Boom()]

    def fail_once(i):
        if i == bad and failures:
            raise failures.pop()
        return i

    numbers = ps.Dataset.range(2).repeat(1 if steps is None else None)
    epochs = epochs_of(numbers.map(fail_once), steps)
    epoch = iter(epochs)
    with pytest.raises(Boom):
        list(epoch)
    assert epoch.given == bad
    assert list(epochs)[:2] == [0, 1]


def test_no_batch_at_all_is_an_error():
    with pytest.raises(ValueError, match="here: at least one batch was expected"):
        list(epochs_of(ps.Dataset.range(0)))


def test_the_last_of_a_known_number_of_batches_ends_the_threads():
    epochs = epochs_of(ps.Dataset.range(3).prefetch(2), length=3)
    kept = []

    def take():
        kept.append(iter(epochs))
        for _ in range(3):
            next(kept[-1])

    assert_frees_threads(take)


def test_closing_ends_the_threads_and_begins_anew():
    epochs = epochs_of(ps.Dataset.counter().prefetch(2), 2)
    kept = []

    def take():
        kept.append([iter(epochs), next(iter(epochs)), list(epochs)])
        epochs.close()

    assert_frees_threads(take)
    assert list(epochs) == [0, 1]


def test_dropping_them_ends_the_threads():
    def take():
        next(iter(epochs_of(ps.Dataset.counter().prefetch(2), 2)))

    gc.disable()  # there are no reference cycles
    try:
        assert_frees_threads(take)
    finally:
        gc.enable()


def test_waiting_is_counted():
    epochs = epochs_of(ps.Dataset.range(3))
    list(epochs)
    assert 0 < epochs.wait_seconds < np.inf
