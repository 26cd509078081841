"""A state that one number of processes has saved continues with any other number."""

import itertools
import pathlib
import random

import numpy as np
import pytest

import penstock as ps
from compare import assert_same

COUNTS = [1, 2, 3, 4, 6, 8, 16]
GLOBAL = 48  # rows of all processes together: every count divides it
ROWS = 5 * GLOBAL


def numbers(n=ROWS):
    return ps.Dataset.range(n)


def drawn(x):
    return x, ps.random.uniform((), 0, 1000)


def lines(folder):
    """Return the names of files of several lengths."""
    names = [pathlib.Path(folder) / f"lines-{i}.txt" for i in range(5)]
    if not names[0].exists():
        for i, count in enumerate([90, 3, 0, 100, 60]):
            names[i].write_text("".join(f"{i}:{j}\n" for j in range(count)))
    return [str(name) for name in names]


def records(folder):
    names = [str(pathlib.Path(folder) / f"records-{i}.tfrecord") for i in range(3)]
    if not pathlib.Path(names[0]).exists():
        for i, count in enumerate([100, 70, 90]):
            with ps.io.TFRecordWriter(names[i]) as writer:
                for j in range(count):
                    writer.write(f"{i}:{j}".encode())
    return names


class Rows:
    """Something that can be indexed."""

    def __len__(self):
        return ROWS

    def __getitem__(self, i):
        return np.int64(i * 3)


def of_length(x):
    return np.full(x % 5 + 1, x)


def ragged(n=ROWS):
    return numbers(n).map(of_length, output_signature=ps.TensorSpec((None,), np.int64))


# What comes before the elements are divided: each defines one order, of at least ROWS elements.
BEFORE = {
    "range": lambda _: numbers(),
    "slices": lambda _: ps.Dataset.from_tensor_slices({"x": np.arange(ROWS), "y": np.ones(ROWS)}),
    "indexable": lambda _: ps.Dataset.from_indexable(Rows()).shuffle(ROWS),
    "parallel indexable": lambda _: ps.Dataset.from_indexable(Rows(), num_parallel_calls=2),
    "shuffle": lambda _: numbers().shuffle(40),
    "seeded shuffle": lambda _: numbers().shuffle(40, seed=5),
    "shuffle of a map": lambda _: numbers().map(lambda x: x + 1, 2).shuffle(20),
    "two shuffles": lambda _: numbers().shuffle(20).map(lambda x: x).shuffle(10),
    "global shuffle": lambda _: ps.Dataset.from_tensor_slices(np.arange(ROWS)).global_shuffle(),
    "select": lambda _: numbers().select(np.arange(ROWS)[::-1]),
    "map": lambda _: numbers().map(lambda x: x * 2),
    "native map": lambda _: numbers().map(ps.native(lambda x: x * 2 + 1)),
    "random map": lambda _: numbers().map(drawn),
    "parallel random map": lambda _: numbers().map(drawn, 2),
    "unordered map": lambda _: numbers().map(drawn, 2, deterministic=False),
    "shuffled random map": lambda _: numbers().shuffle(30).map(drawn).prefetch(3),
    "filter": lambda _: numbers(2 * ROWS).filter(lambda x: x % 2 == 0),
    "random filter": lambda _: numbers(3 * ROWS).filter(
        lambda x: ps.random.uniform((), 0, 1) < 0.5
    ),
    "flat_map": lambda _: numbers(ROWS).flat_map(
        lambda x: ps.Dataset.range(x % 3).map(lambda y: y + 10 * x)
    ),
    "interleave": lambda _: numbers(30).interleave(
        lambda x: ps.Dataset.range(10 * x, 10 * x + 9), cycle_length=4, block_length=2
    ),
    "parallel interleave": lambda _: numbers(30).interleave(
        lambda x: ps.Dataset.range(10 * x, 10 * x + 9), cycle_length=3, num_parallel_calls=2
    ),
    "mix": lambda _: ps.Dataset.sample_from_datasets(
        [numbers().shuffle(20), ps.Dataset.range(1000, 1000 + ROWS)], weights=[0.3, 0.7]
    ),
    "choose": lambda _: ps.Dataset.choose_from_datasets(
        [numbers(), ps.Dataset.range(1000, 1000 + ROWS)], numbers(2 * ROWS).map(lambda x: x % 2)
    ),
    "concatenate and zip": lambda _: ps.Dataset.zip(
        numbers(100).concatenate(numbers(ROWS)), numbers(400).shuffle(9)
    ),
    "pack": lambda _: ragged(3 * ROWS).pack(6, open_packs=3),
    "padded batches": lambda _: ragged(3 * ROWS).padded_batch(3),
    "bucketed batches": lambda _: ragged(4 * ROWS).bucket_by_sequence_length(
        lambda x: x.shape[0], [2, 4], [2, 3, 4]
    ),
    "batches": lambda _: numbers(2 * ROWS).shuffle(50).batch(2),
    "unbatched": lambda _: numbers().batch(7).unbatch(),
    "windows": lambda _: numbers().window(4, shift=1, drop_remainder=True).flat_map(
        lambda w: w.batch(4)
    ),
    "scan": lambda _: numbers().scan(np.int64(0), lambda s, x: (s + x, s + x)),
    "unique": lambda _: numbers(2 * ROWS).map(lambda x: x // 2).unique(),
    "enumerate, take, skip": lambda _: numbers(300).shuffle(9).enumerate().skip(7).take(280),
    "cache": lambda _: numbers().map(drawn).cache(),
    "repeated cache": lambda _: numbers(90).map(drawn).cache().shuffle(15).repeat(4),
    "repeat": lambda _: numbers(100).shuffle(30).map(drawn).repeat(3),
    "endless": lambda _: numbers(70).shuffle(70).repeat(),
    "files": lambda folder: ps.TextLineDataset(lines(folder)),
    "shuffled files": lambda folder: ps.TFRecordDataset(records(folder)).shuffle(50),
    "several files at a time": lambda folder: ps.Dataset.list_files(
        records(folder), seed=3
    ).interleave(ps.TFRecordDataset, cycle_length=3),
    "generator": lambda _: ps.Dataset.from_generator(lambda: iter(range(ROWS))),
    "shuffled generator": lambda _: ps.Dataset.from_generator(lambda: iter(range(ROWS))).shuffle(
        20
    ),
}

# What comes after: from the elements of one process to its batches of so many rows.
AFTER = [
    lambda ds, rows: ds.batch(rows),
    lambda ds, rows: ds.map(lambda *x: x, 2).batch(rows, drop_remainder=True).prefetch(2),
    lambda ds, rows: ds.prefetch(3).batch(rows, num_parallel_calls=2).map(lambda *x: x),
]
ONE_BY_ONE = {"pack", "padded batches", "bucketed batches"}  # nothing is done with them after


def as_rows(batch):
    """Return the elements of a batch of tuples, or of a tuple of arrays."""
    if isinstance(batch, tuple) and len(batch) == 1:
        batch = batch[0]
    if isinstance(batch, tuple):
        return list(zip(*map(as_rows, batch), strict=True))
    if isinstance(batch, dict):
        return [{k: v[i] for k, v in batch.items()} for i in range(len(batch["x"]))]
    return list(batch)


class Processes:
    """Pipelines of one order, as processes make them: each anew."""

    def __init__(self, name, folder):
        self.name = name
        self.folder = folder
        with iter(self.dataset(1, 0)) as it:
            self.whole = list(itertools.islice(it, ROWS))

    def dataset(self, count, index):
        return BEFORE[self.name](self.folder).shard_evenly(count, index)

    def start(self, count, index, after):
        """Return an iterator over batches, and how many rows they have."""
        ds = self.dataset(count, index)
        if self.name in ONE_BY_ONE:
            return iter(ds.prefetch(index % 3)), None
        return iter(after(ds, GLOBAL // count)), GLOBAL // count

    def check(self, it, rows, count, index, begin):
        """Take the next batch, and compare it with what the order has from `begin` on."""
        came = next(it)
        if rows is None:
            assert_same([came], [self.whole[begin + index]])
            return begin + count
        assert_same(as_rows(came), self.whole[begin + index : begin + GLOBAL : count])
        return begin + GLOBAL


@pytest.mark.parametrize("name", BEFORE)
def test_any_number_of_processes_goes_on_where_another_was(name, tmp_path):
    processes = Processes(name, tmp_path)
    rng = random.Random(name)
    for former, after in zip(COUNTS, itertools.cycle(AFTER)):
        index = rng.randrange(former)
        it, rows = processes.start(former, index, after)
        position = 0
        with it:
            for _ in range(rng.randrange(1, 4)):
                position = processes.check(it, rows, former, index, position)
            state = it.get_state()
        assert len(state) <= 1024
        for count in COUNTS:
            for own in {0, count - 1, rng.randrange(count)}:
                it, rows = processes.start(count, own, after)
                with it:
                    it.set_state(state)
                    processes.check(it, rows, count, own, position)
