"""from_arrow: rows of tables from any library, through the Arrow C data interface."""

import gc

import numpy as np
import pytest

import arrow_c
import penstock as ps
from compare import assert_same
from contract import DatasetContract

ROWS = 11
NUMBERS = np.arange(ROWS)
LISTS = [np.arange(n % 4, dtype=np.float32) for n in NUMBERS]


def table():
    texts = [f"row {n}" for n in NUMBERS]
    return arrow_c.Table({"n": NUMBERS, "s": texts, "l": LISTS})


def row(n):
    return {"n": np.int64(n), "s": f"row {n}", "l": LISTS[n]}


class TestTable(DatasetContract):
    build = staticmethod(lambda: ps.Dataset.from_arrow(table()))
    expected = [row(n) for n in NUMBERS]


class TestShuffled(DatasetContract):
    build = staticmethod(
        lambda: ps.Dataset.from_arrow(table()).shuffle(5, seed=1, reshuffle_each_iteration=False)
    )

    @classmethod
    def expected(cls):
        order = [int(element["n"]) for element in cls.build()]
        assert sorted(order) == list(NUMBERS) != order
        return [row(n) for n in order]


class TestRaggedBatches(DatasetContract):
    build = staticmethod(lambda: ps.Dataset.from_arrow(table()).ragged_batch(4))

    @staticmethod
    def expected():
        return list(ps.experimental.from_list([row(n) for n in NUMBERS]).ragged_batch(4))


def test_the_memory_is_released_with_the_dataset():
    gc.collect()
    before = set(arrow_c.HELD.value)
    ds = ps.Dataset.from_arrow(table())
    last = list(ds)[-1]
    own = arrow_c.HELD.value.keys() - before
    assert own
    del ds
    gc.collect()
    assert_same([last], [row(ROWS - 1)])
    del last
    gc.collect()
    assert not own & arrow_c.HELD.value.keys()


def test_what_is_no_table():
    with pytest.raises(TypeError, match="from_tensor_slices for arrays"):
        ps.Dataset.from_arrow([1, 2])
    with pytest.raises(TypeError, match="use from_generator"):
        ps.Dataset.from_huggingface([1, 2])
    with pytest.raises(TypeError, match="ds must be one split"):
        ps.Dataset.from_huggingface({"train": [1, 2]})
