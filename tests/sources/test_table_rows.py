"""table_rows: the rows of tables that are fetched one after the other."""

import numpy as np

import arrow_c
import penstock as ps
from contract import DatasetContract, Failure, steps

SIZES = [3, 4, 1, 5]
FIRSTS = np.cumsum([0, *SIZES])


class Fetched:
    def __init__(self, table, file):
        self.table = table
        self.file = file


class Tables:
    """Tables with consecutive numbers and lists of so many of them."""

    def __init__(self, fails=None):
        self.fails = fails

    def __len__(self):
        return len(SIZES)

    def __getitem__(self, i):
        if i == self.fails:
            raise OSError(f"table {i}")
        return Fetched(table(FIRSTS[i], FIRSTS[i + 1]), f"file {i}")


def table(first, end):
    numbers = np.arange(first, end)
    return arrow_c.Table({"n": numbers, "l": [np.full(n % 3, n) for n in numbers]})


def row(n):
    return {"n": np.int64(n), "l": np.full(n % 3, n)}


def build(fails=None, num_parallel_calls=None, sizes=SIZES):
    tables = ps.Dataset.from_indexable(Tables(fails), num_parallel_calls=num_parallel_calls)
    return tables._then("table_rows", schema=table(0, 1), sizes=sizes)


class TestKnownSizes(DatasetContract):
    build = staticmethod(lambda num_parallel_calls=None: build(None, num_parallel_calls))
    expected = [row(n) for n in range(FIRSTS[-1])]


class TestUnknownSizes(DatasetContract):
    build = staticmethod(lambda: build(sizes=None))
    expected = [row(n) for n in range(FIRSTS[-1])]


class TestRaggedBatches(DatasetContract):
    build = staticmethod(lambda: build().ragged_batch(4))

    @staticmethod
    def expected():
        return list(ps.experimental.from_list([row(n) for n in range(FIRSTS[-1])]).ragged_batch(4))


def test_a_table_that_cannot_be_fetched_is_one_error():
    came = steps(iter(build(fails=1)))
    assert [c.text if isinstance(c, Failure) else int(c["n"]) for c in came] == [
        *range(3),
        "table 1",
        *range(7, 13),
    ]


def test_another_number_of_rows_is_an_error():
    came = steps(iter(build(sizes=[3, 5, 1, 5])))
    (failure,) = [c for c in came if isinstance(c, Failure)]
    assert failure.kind == "DataError"
    assert "table 1 has another number of rows" in failure.text
    assert "file 1" in failure.text
