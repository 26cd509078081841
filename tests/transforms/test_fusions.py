"""Fused stages return the same elements, errors and states as their parts."""

import numpy as np
import pytest

import penstock as ps
from compare import assert_same
from contract import Boom, DatasetContract, Failure, steps


def image(x):
    return np.full((3, 2), x, np.float32), x


def stacked(rows):
    return tuple(
        np.stack([np.asarray(part) for part in parts]) for parts in zip(*rows, strict=True)
    )


BATCHES = [
    stacked([image(np.int64(i)) for i in rows]) for rows in np.split(np.arange(14), [4, 8, 12])
]


class TestMapAndBatch(DatasetContract):
    source = staticmethod(lambda: ps.Dataset.range(14))
    apply = staticmethod(
        lambda ds, num_parallel_calls: ds.map(image, num_parallel_calls=num_parallel_calls).batch(4)
    )
    expected = BATCHES


class TestMapAndParallelBatch(DatasetContract):
    source = staticmethod(lambda: ps.Dataset.range(14))
    apply = staticmethod(
        lambda ds, num_parallel_calls: ds.map(image, num_parallel_calls=num_parallel_calls).batch(
            4, num_parallel_calls=2
        )
    )
    expected = BATCHES


class TestSlicesShuffleBatch(DatasetContract):
    build = staticmethod(
        lambda: (
            ps.Dataset.from_tensor_slices(np.arange(28).reshape(14, 2)).shuffle(5, seed=3).batch(4)
        )
    )
    reshuffles = True

    @classmethod
    def expected(cls):
        rows = [list(r) for r in cls.unfused()]
        return [np.array(rows[i : i + 4]) for i in range(0, 14, 4)]

    @staticmethod
    def unfused():
        rows = ps.Dataset.from_tensor_slices(np.arange(28).reshape(14, 2))
        return rows.prefetch(1).shuffle(5, seed=3)

    def test_a_second_iteration_gives_the_same(self, variant):
        ds = self.make(variant)
        first, second = (np.concatenate(list(ds)).tolist() for _ in range(2))
        assert first != second
        assert sorted(first) == sorted(second)


@pytest.mark.parametrize("calls", [None, 1, 2, 8])
@pytest.mark.parametrize(
    "bad", [(0,), (3,), (4,), (13,), (2, 3), (1, 5, 6, 7, 8), range(14)], ids=repr
)
@pytest.mark.parametrize("how", ["raises", "shape"])
def test_errors_of_a_fused_map_leave_their_neighbours(calls, bad, how):
    def make(calls, hide=False):
        def function(x):
            if int(x) in bad:
                if how == "raises":
                    raise Boom(str(int(x)))
                return np.zeros(5), x
            return image(x)

        ds = ps.Dataset.range(14).map(function, num_parallel_calls=calls)
        return (ds.filter(lambda *_: True) if hide else ds).batch(4)

    fused, plain = steps(iter(make(calls))), steps(iter(make(None, hide=True)))
    assert_same(fused, plain)
    if how == "raises":
        assert sum(isinstance(s, Failure) for s in fused) == len(bad)
    for at in range(len(fused)):
        it = iter(make(calls))
        for _ in range(at):
            steps_one(it)
        resumed = iter(make(calls))
        resumed.set_state(it.get_state())
        assert_same(steps(resumed), fused[at:])


def steps_one(it):
    try:
        return next(it)
    except (Boom, ValueError):
        return None


def test_batches_of_a_fused_map_do_not_share_rows():
    batches = list(ps.Dataset.range(64).map(image, num_parallel_calls=4).batch(8))
    for i, (pixels, _) in enumerate(batches):
        assert pixels[:, 0, 0].tolist() == list(range(8 * i, 8 * i + 8))
        pixels[:] = -1
    assert not any(np.shares_memory(a, b) for a, _ in batches for b, _ in batches if a is not b)


def test_rows_of_a_slab_may_list_the_keys_of_their_dicts_in_any_order():
    def row(i):
        a, b = np.full(4, i), np.full(4, -i)
        return {"a": a, "b": b} if i % 3 else {"b": b, "a": a}

    batches = list(ps.Dataset.range(24).map(row, num_parallel_calls=3).batch(8))
    np.testing.assert_array_equal(
        np.concatenate([batch["a"] for batch in batches]), np.repeat(range(24), 4).reshape(24, 4)
    )
    np.testing.assert_array_equal(
        np.concatenate([batch["b"] for batch in batches]), -np.repeat(range(24), 4).reshape(24, 4)
    )


def test_arrays_beside_strings_and_arrays_of_another_dtype_are_in_their_batch():
    def row(i):
        return np.full(9000, i), f"text {i}", np.full(2, i, np.int8 if i == 20 else np.int16)

    data = ps.Dataset.range(32).map(row, num_parallel_calls=3).batch(8).ignore_errors()
    (arrays, strings, _), (later, *_), *_ = batches = list(data)
    np.testing.assert_array_equal(arrays[:, 0], range(8))
    np.testing.assert_array_equal(later[:, -1], range(8, 16))
    assert list(strings) == [f"text {i}" for i in range(8)]
    assert [int(i) for batch in batches for i in batch[0][:, 5]] == [*range(20), *range(21, 32)]


def test_a_fused_gather_does_not_share_memory_with_the_source():
    array = np.arange(20.0)
    for batch in ps.Dataset.from_tensor_slices(array).shuffle(20).batch(5):
        batch[:] = -1
    assert array.tolist() == list(range(20))
