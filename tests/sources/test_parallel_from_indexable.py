"""from_indexable with num_parallel_calls: several concurrent fetches."""

import threading

import pytest

import penstock as ps
from compare import assert_same
from contract import DatasetContract, Failure, steps
from indexable import ManyRows, Rows, row


class TestParallelFetch(DatasetContract):
    @staticmethod
    def build(num_parallel_calls=None):
        return ps.Dataset.from_indexable(Rows(9), num_parallel_calls=num_parallel_calls)

    expected = [row(i) for i in range(9)]


class TestParallelFetchOfShuffledRows(DatasetContract):
    @staticmethod
    def build(num_parallel_calls=None):
        ds = ps.Dataset.from_indexable(Rows(9), num_parallel_calls=num_parallel_calls)
        return ds.shuffle(9, seed=3, reshuffle_each_iteration=False).repeat(2)

    @staticmethod
    def expected():
        order = ps.Dataset.range(9).shuffle(9, seed=3, reshuffle_each_iteration=False).repeat(2)
        return [row(int(i)) for i in order]


class TestParallelFetchInAnyOrder(DatasetContract):
    ordered = False

    @staticmethod
    def build(num_parallel_calls=2):
        return ps.Dataset.from_indexable(
            Rows(9), num_parallel_calls=num_parallel_calls, deterministic=False
        )

    expected = [row(i) for i in range(9)]


def test_fetches_run_at_the_same_time():
    class Meeting:
        both = threading.Barrier(2)

        def __len__(self):
            return 2

        def __getitem__(self, i):
            self.both.wait(60)  # passes only if another fetch waits here concurrently
            return i

    assert_same(list(ps.Dataset.from_indexable(Meeting(), num_parallel_calls=2)), [0, 1])


@pytest.mark.parametrize("kind", [Rows, ManyRows])
def test_a_failing_row_is_told_of_once_and_in_its_place(kind):
    came = steps(iter(ps.Dataset.from_indexable(kind(40, bad=[17]), num_parallel_calls=3)))
    assert [i for i, s in enumerate(came) if isinstance(s, Failure)] == [17]
    assert len(came) == 40


def test_a_state_is_that_of_one_call_at_a_time():
    one = ps.Dataset.from_indexable(Rows(9))
    many = ps.Dataset.from_indexable(Rows(9), num_parallel_calls=4)
    it = iter(many)
    for _ in range(4):
        next(it)
    resumed = iter(one)
    resumed.set_state(it.get_state())
    assert_same(list(resumed), [row(i) for i in range(4, 9)])


@pytest.mark.parametrize("calls", [0, -2])
def test_a_wrong_number_of_calls_is_refused(calls):
    with pytest.raises(ValueError, match="from_indexable: num_parallel_calls must be >= 1"):
        ps.Dataset.from_indexable([1], num_parallel_calls=calls)
