"""shard_evenly after from_indexable, and after the largest numbers of elements."""

import threading

import numpy as np
import pytest

import indexable
import penstock as ps
from compare import assert_same
from contract import Failure, step, steps

MOST = 2**63 - 1


class Rows(indexable.Rows):
    """Numbers as rows; records the requested rows, some of which fail."""

    def __getitem__(self, i):
        super().__getitem__(i)
        return np.int64(i)


def padded(rows, shards, index, calls=None):
    ds = ps.Dataset.from_indexable(rows, num_parallel_calls=calls)
    return ds.shard_evenly(shards, index, "pad")


def failed(i):
    return Failure("Boom", f"row {i}")


# --- padding ---


@pytest.mark.parametrize("calls", [None, 2])
def test_padding_raises_no_error_of_another_shard(calls):
    shards = [padded(Rows(7, (0,)), 3, i, calls) for i in range(3)]
    assert_same(steps(iter(shards[0])), [failed(0), (3, True), (6, True)])
    assert_same(steps(iter(shards[1])), [(1, True), (4, True), (0, False)])
    assert_same(steps(iter(shards[2])), [(2, True), (5, True), (0, False)])
    assert_same([ps.experimental.at(shards[1], i) for i in range(3)], list(shards[1]))


@pytest.mark.parametrize("calls", [None, 2])
@pytest.mark.parametrize("saved", range(3))
def test_a_state_of_any_shard_leads_to_the_padding(saved, calls):
    wanted = [steps(iter(padded(Rows(7, (0,)), 3, i, calls))) for i in range(3)]
    it = iter(padded(Rows(7, (0,)), 3, saved, calls))
    for done in range(4):
        for index in range(3):
            other = iter(padded(Rows(7, (0,)), 3, index, calls))
            other.set_state(it.get_state())
            assert_same(steps(other), wanted[index][done:])
        if done < 3:
            step(it)


@pytest.mark.parametrize("calls", [None, 2])
def test_the_shape_of_padding_is_that_of_the_shards_own_last_element(calls):
    class Ragged(Rows):
        def __getitem__(self, i):
            return np.full(super().__getitem__(i) + 1, i)

    shard = padded(Ragged(7), 3, 2, calls)
    wanted = [np.full(3, 2), np.full(6, 5), np.zeros(6, np.int64)]
    assert_same(list(shard), list(zip(wanted, np.array([True, True, False]), strict=True)))
    assert_same(ps.experimental.at(shard, 2), (wanted[2], np.False_))


def test_where_that_failed_it_is_that_of_the_element_in_its_place():
    assert_same(steps(iter(padded(Rows(7, (4,)), 3, 1))), [(1, True), failed(4), (0, False)])
    assert_same(steps(iter(padded(Rows(2), 3, 2))), [(0, False)])
    assert steps(iter(padded(Rows(0), 3, 2))) == []


def test_where_both_failed_there_is_none():
    one, two, three = steps(iter(padded(Rows(7, (0, 4)), 3, 1)))
    assert_same([one, two], [(1, True), failed(4)])
    assert three.kind == "RuntimeError"
    assert "shape of padding is that of an element beside it, but the last 2 failed" in three.text
    (only,) = steps(iter(padded(Rows(2, (0,)), 3, 2)))
    assert only.kind == "RuntimeError"


def test_padding_loads_no_row_of_another_shard():
    rows = Rows(7)
    assert len(list(padded(rows, 3, 1))) == 3
    assert rows.asked == [1, 4, 4]
    rows = Rows(7)
    assert len(list(padded(rows, 3, 1, 2))) == 3
    assert sorted(rows.asked) in ([1, 4, 4], [0, 1, 4, 4])  # loaded ahead, and unused


def test_rows_that_may_come_in_any_order_keep_theirs_before_padding():
    class Waits(Rows):
        padded = threading.Event()

        def __getitem__(self, i):
            if i == 4:
                assert self.padded.wait(60)
            if i == 0:
                self.padded.set()
            return super().__getitem__(i)

    ds = ps.Dataset.from_indexable(Waits(7), num_parallel_calls=3, deterministic=False)
    assert_same(list(ds.shard_evenly(3, 1, "pad")), [(1, True), (4, True), (0, False)])


# --- large numbers ---


@pytest.mark.parametrize("shards", [3, 10, 2**31 - 1])
@pytest.mark.parametrize("remainder", ["drop", "repeat", "pad"])
@pytest.mark.parametrize("source", ["range", "map", "rows", "slices of them"])
def test_the_last_of_as_many_elements_as_there_can_be(source, remainder, shards):
    numbers = ps.Dataset.range(MOST)
    ds = {
        "range": numbers,
        "map": numbers.map(lambda x: x),
        "rows": ps.Dataset.from_indexable(Rows(MOST)),
        "slices of them": numbers.skip(MOST - 7).take(7),
    }[source]
    first, n = (MOST - 7, 7) if source == "slices of them" else (0, MOST)
    for index in {0, 1, min(shards - 1, 10**6)}:
        shard = ds.shard_evenly(shards, index, remainder)
        count = n // shards + (remainder != "drop" and n % shards > 0)
        assert shard.cardinality() == count
        if count == 0:
            continue
        number = (count - 1) * shards + index
        wanted = first + number % n
        if remainder == "pad":
            wanted = (wanted, True) if number < n else (0, False)
        assert_same([ps.experimental.at(shard, count - 1)], [wanted])
        if source != "slices of them" and (source == "map" or remainder == "pad"):
            continue  # skip would iterate over all of them
        it = iter(shard.skip(count - 1))
        assert_same(list(it), [wanted])
        again = iter(shard.skip(count - 1))
        again.set_state(it.get_state())
        assert list(again) == []


def test_an_element_behind_all_numbers_is_refused():
    shard = ps.Dataset.range(5).repeat().shard_evenly(3, 1, "repeat")
    assert ps.experimental.at(shard, MOST // 3 - 1) == (MOST // 3 * 3 - 2) % 5
    with pytest.raises(ValueError, match=r"at: element \d+ of shard_evenly has no number < 2\^63"):
        ps.experimental.at(shard, MOST)
