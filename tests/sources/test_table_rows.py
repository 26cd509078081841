"""table_rows: the rows of tables that are fetched sequentially."""

import numpy as np
import pytest

import arrow_c
import penstock as ps
from compare import assert_same
from contract import DatasetContract, Failure, steps

SIZES = [3, 4, 1, 5]
FIRSTS = np.cumsum([0, *SIZES])


class Fetched:
    def __init__(self, table, file):
        self.table = table
        self.file = file


class Tables:
    """Tables with consecutive numbers, and lists of that many of them."""

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


class LargeTables:
    """Tables of 1,000 wide rows; counts the fetches of each."""

    def __init__(self, count, fails=None):
        self.count = count
        self.fails = fails
        self.fetched = []

    def __len__(self):
        return self.count

    def __getitem__(self, i):
        self.fetched.append(i)
        if i == self.fails:
            raise OSError(f"table {i}")
        numbers = np.arange(1000 * i, 1000 * i + 1000)
        # 1,024 bytes per row.
        wide = {f"w{k}": numbers + k for k in range(127)}
        return Fetched(arrow_c.Table({"n": numbers, **wide}), f"file {i}")


def large(tables):
    made = ps.Dataset.from_indexable(tables)
    schema = tables[0].table
    tables.fetched.clear()
    return made._then("table_rows", schema=schema, sizes=[1000] * tables.count)


def limited(ds, memory_limit):
    options = ps.Options()
    options.memory_limit = memory_limit
    return ds.with_options(options)


def numbers_of(ds):
    return [int(each["n"]) for each in ds]


FITS, SMALL = 256 << 20, 16 << 20  # 20 tables take 20 MB; half of the limit is usable


def test_global_shuffle_fetches_each_table_once_if_all_fit():
    tables = LargeTables(20)
    shuffled = limited(large(tables).global_shuffle(seed=3), FITS)
    order = [int(i) for i in ps.Dataset.range(20_000).global_shuffle(seed=3)]
    assert numbers_of(shuffled) == order
    assert sorted(tables.fetched) == list(range(20))


def through(ds, how):
    return {
        "source": lambda: ds.global_shuffle(seed=3),
        "shard": lambda: ds.global_shuffle(seed=3).shard(1, 0),
        "shard_evenly": lambda: ds.shard_evenly(1, 0).global_shuffle(seed=3),
        "function": lambda: ds.map(lambda each: each).global_shuffle(seed=3),
        "skip and take": lambda: ds.skip(0).take(20_000).global_shuffle(seed=3),
        "select twice": lambda: ds.select(range(20_000)).global_shuffle(seed=3),
        "concatenate": lambda: ds.take(9_000).concatenate(ds.skip(9_000)).global_shuffle(seed=3),
        "repeat": lambda: ds.repeat(1).global_shuffle(seed=3),
    }[how]()


@pytest.mark.parametrize(
    "how",
    [
        *("source", "shard", "shard_evenly", "function", "skip and take", "select twice"),
        *("concatenate", "repeat"),
    ],
)
def test_global_shuffle_of_large_tables_fetches_each_once_for_many_rows(how):
    tables = LargeTables(20)
    shuffled = limited(through(large(tables), how), SMALL)
    order = [int(i) for i in ps.Dataset.range(20_000).global_shuffle(seed=3)]
    assert numbers_of(shuffled) == order
    # A window contains thousands of rows; one fetch per row would be 20,000.
    assert len(tables.fetched) < 12 * 20


def test_two_iterators_over_one_dataset_look_ahead_separately():
    tables = LargeTables(20)
    source = large(tables)
    both = limited(ps.Dataset.zip(*(source.global_shuffle(seed=s) for s in (3, 4))), SMALL)
    orders = [ps.Dataset.range(20_000).global_shuffle(seed=s) for s in (3, 4)]
    assert [(a["n"], b["n"]) for a, b in both] == list(zip(*orders, strict=True))
    assert len(tables.fetched) < 2 * 12 * 20


def test_later_epochs_draw_other_orders_and_fetch_as_often():
    tables = LargeTables(20)
    shuffled = limited(large(tables).global_shuffle(seed=3).repeat(2), SMALL)
    order = [int(i) for i in ps.Dataset.range(20_000).global_shuffle(seed=3).repeat(2)]
    assert numbers_of(shuffled) == order
    assert order[:20_000] != order[20_000:]
    assert len(tables.fetched) < 2 * 12 * 20


def test_global_shuffle_of_batches_fetches_tables_once_for_many_batches():
    tables = LargeTables(20)
    shuffled = limited(large(tables).batch(8).global_shuffle(seed=3), SMALL)
    first = [int(each["n"][0]) for each in shuffled]
    assert first == [8 * int(i) for i in ps.Dataset.range(2_500).global_shuffle(seed=3)]
    assert len(tables.fetched) < 12 * 20


@pytest.mark.parametrize("memory_limit", [FITS, SMALL])
@pytest.mark.parametrize("position", [0, 1, 1000, 9_001])
def test_a_state_within_a_window_continues_with_the_next_row(memory_limit, position):
    def build():
        return limited(large(LargeTables(20)).global_shuffle(seed=3).batch(1), memory_limit)

    order = [int(i) for i in ps.Dataset.range(20_000).global_shuffle(seed=3)]
    it = iter(build())
    for _ in range(position):
        next(it)
    restored = iter(build())
    restored.set_state(it.get_state(), strict=False)
    assert [int(next(restored)["n"][0]) for _ in range(50)] == order[position : position + 50]


@pytest.mark.parametrize("memory_limit", [FITS, SMALL])
def test_a_table_that_cannot_be_fetched_is_an_error_for_each_of_its_rows(memory_limit):
    shuffled = limited(large(LargeTables(4, fails=1)).global_shuffle(seed=3), memory_limit)
    came = steps(iter(shuffled))
    order = [int(i) for i in ps.Dataset.range(4_000).global_shuffle(seed=3)]
    assert [c.text if isinstance(c, Failure) else int(c["n"]) for c in came] == [
        "table 1" if 1000 <= n < 2000 else n for n in order
    ]


def test_rows_of_several_tables_keep_their_files_and_lists():
    ds = build().select([12, 0, 3, 12, 7])
    assert_same([*ds], [row(n) for n in (12, 0, 3, 12, 7)])
