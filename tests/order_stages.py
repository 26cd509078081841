"""Pipelines of about 10,000 elements for test_order.py, by the kind of dataset.

A kind without an entry here uses the pipeline of its contract. A kind needs an entry if a few
elements do not show its behaviour, because it draws, reorders or works ahead. A source takes the
run settings; a transformation also takes a dataset of 10,000 pairs (number, noise). The resulting
elements must have the same shape, or the kind must be in `WHOLE`.
"""

import dataclasses
import io
import tarfile
from pathlib import Path

import numpy as np

import penstock as ps

N = 10_000


@dataclasses.dataclass(frozen=True)
class Run:
    """The settings of a run, none of which may change the result."""

    calls: int | None = None
    ahead: int | None = None
    threads: int | None = None
    debug: bool = False
    deterministic: bool | None = None
    folder: Path = Path()

    def __str__(self):
        return f"calls={self.calls} prefetch={self.ahead} threads={self.threads} {self.debug=}"

    def some(self, most):
        """Return the number of calls, up to this maximum."""
        return self.calls if self.calls is None else min(self.calls, most)

    def options(self):
        options = ps.Options()
        options.deterministic = self.deterministic
        options.threading.private_threadpool_size = self.threads
        return options


@ps.native
def noisy(x):
    return x, ps.random.uniform(())


@ps.native
def more_noise(x, noise):
    return x, noise + ps.random.uniform(())


@ps.native
def some_of_them(x, noise):
    return noise < 0.5


def plain(x, noise):
    return x, noise, ps.random.uniform(())


def copies(x, noise):
    return ps.Dataset.from_tensors((x, noise)).repeat(int(x) % 4).map(more_noise)


def hundreds(x):
    return ps.Dataset.range(100 * x, 100 * x + 100).map(noisy, 2)


def last_digit(x, noise):
    return x % 10


def last_digits(x, noise):
    return (x * 7919) % 3001


def ragged(x, noise):
    return np.full(x % 5, noise)


SUM_OF_NOISE = ps.experimental.Reducer(
    lambda key: np.float64(0),
    lambda total, pair: total + pair[1] * ps.random.uniform(()),
    lambda total: total,
)


@ps.native
def early(x, noise):
    return x < 9000


def fails_often(x, noise):
    if x % 7 < 3:
        raise ValueError(f"no {x}")
    return x, noise


def folded(state, pair):
    return state[0] + pair[0], state[1] + pair[1] * ps.random.uniform(())


def scanned(state, pair):
    state = state / 2 + pair[1] * ps.random.uniform(())
    return state, (pair[0], state)


class Rows:
    def __len__(self):
        return N

    def __getitem__(self, i):
        return np.int64(i * i)


def numbers(run):
    return ps.Dataset.range(N).map(noisy, run.calls)


def written(run, name, contents):
    file = run.folder / name
    if not file.exists():
        file.write_bytes(contents)
    return str(file)


def archive(numbers):
    """Return a tar archive with a sample for each number."""
    made = io.BytesIO()
    with tarfile.open(fileobj=made, mode="w") as files:
        for i in numbers:
            info = tarfile.TarInfo(f"{i}.txt")
            info.size = len(b"%d" % i)
            files.addfile(info, io.BytesIO(b"%d" % i))
    return made.getvalue()


def npy(array):
    made = io.BytesIO()
    np.save(made, array)
    return made.getvalue()


def records(run):
    file = run.folder / "records"
    if not file.exists():
        with ps.io.TFRecordWriter(str(file)) as writer:
            for i in range(N):
                writer.write(b"%d" % i)
    return str(file)


def indexed(run):
    file = records(run)
    ps.index(file, format="tfrecord")
    return ps.TFRecordDataset(file, indexed=True)


@ps.native
def noisy_record(record):
    return ps.strings.to_number(record, np.int64), ps.random.uniform(())


def saved(run):
    folder = run.folder / "saved"
    if not folder.exists():
        ps.set_seed(1)
        ps.Dataset.range(N).map(noisy).save(str(folder))
        ps.set_seed(7)
    return ps.Dataset.load(str(folder))


LINES = b"".join(b"line %d\n" % i for i in range(N))

SOURCES = {
    "counter": lambda run: ps.Dataset.counter(5, -3).take(N).map(noisy, run.calls),
    "csv_record": lambda run: ps.experimental.CsvDataset(
        written(run, "csv", b"".join(b"%d,%d.5\n" % (i, i) for i in range(N))), [0, 0.5]
    ),
    "fixed_length_record": lambda run: ps.FixedLengthRecordDataset(
        written(run, "fixed", bytes(range(200)) * 150), 3
    ),
    "from_generator": lambda run: ps.Dataset.from_generator(lambda: iter(range(N))).map(
        noisy, run.calls
    ),
    "from_indexable": lambda run: ps.Dataset.from_indexable(Rows()),
    "from_list": lambda run: ps.experimental.from_list(list(range(N))).map(noisy, run.calls),
    "from_tensor_slices": lambda run: ps.Dataset.from_tensor_slices(np.arange(N)).map(
        noisy, run.calls
    ),
    "from_tensors": lambda run: ps.Dataset.from_tensors(np.arange(N)).map(noisy, run.calls),
    "indexed_records": lambda run: indexed(run).shuffle(700).map(noisy_record, run.calls),
    "load": saved,
    "numpy_rows": lambda run: ps.NumpyDataset(
        [written(run, f"{i}.npy", npy(np.arange(i, N, 4))) for i in range(4)]
    ),
    "parallel_from_indexable": lambda run: ps.Dataset.from_indexable(
        Rows(), num_parallel_calls=run.calls or 3
    ),
    "permutation": lambda run: ps.Dataset._make(
        "permutation", (), {"size": N, "seed": None, "reshuffle_each_iteration": True}
    ).map(noisy, run.calls),
    "random_numbers": lambda run: ps.Dataset.random().take(N),
    "range": numbers,
    "tar_sample": lambda run: ps.TarDataset(
        [written(run, f"tar{i}", archive(range(i, N, 4))) for i in range(4)],
        "txt",
        num_parallel_reads=3,
    ),
    "text_line": lambda run: ps.TextLineDataset(
        [written(run, f"text{i}", LINES[i * 30_000 : (i + 1) * 30_000]) for i in range(4)],
        num_parallel_reads=3,  # determines the order in which files are read
    ),
    "tf_record": lambda run: ps.TFRecordDataset(records(run)),
}

STAGES = {
    "assert_cardinality": lambda ds, run: ds.apply(ps.experimental.assert_cardinality(N)),
    "at": lambda ds, run: ps.Dataset.from_tensor_slices(
        [ps.experimental.at(ps.Dataset.range(N).shuffle(N, seed=1), i) for i in range(0, N, 50)]
    ),
    "batch": lambda ds, run: ds.batch(7, num_parallel_calls=run.calls).map(more_noise, run.calls),
    "bucket_by_sequence_length": lambda ds, run: (
        ds.map(ragged, run.calls)
        .filter(lambda row: row.size > 0)
        .bucket_by_sequence_length(len, [2, 4], [7, 8, 9])
    ),
    "cache": lambda ds, run: ds.cache().map(more_noise, run.calls),
    "cache_file": lambda ds, run: ds.cache(str(run.folder / "cache")).map(more_noise, run.calls),
    "choose_from_datasets": lambda ds, run: ps.Dataset.choose_from_datasets(
        [ds, numbers(run).shuffle(9)], ps.Dataset.random().take(N).map(lambda x: x % 2)
    ),
    "count": lambda ds, run: ps.Dataset.from_tensor_slices(
        [ps.experimental.count(ds.filter(lambda x, k=k: x % k == 0)) for k in range(1, 9)]
    ),
    "concatenate": lambda ds, run: ds.concatenate(numbers(run)).map(more_noise, run.calls),
    "elements": lambda ds, run: ds.window(9).flat_map(lambda a, b: ps.Dataset.zip(a, b)),
    "enumerate": lambda ds, run: ds.enumerate(),
    "filter": lambda ds, run: ds.filter(some_of_them),
    "flat_map": lambda ds, run: ds.take(1000).flat_map(copies),
    "group_by_reducer": lambda ds, run: ds.apply(
        ps.experimental.group_by_reducer(last_digit, SUM_OF_NOISE)
    ),
    "group_by_window": lambda ds, run: ds.take(3000).group_by_window(
        last_digit, lambda key, rows: rows.batch(6).map(more_noise, run.calls), 6
    ),
    "ignore_errors": lambda ds, run: ds.map(fails_often, run.calls, on_error="skip"),
    "interleave": lambda ds, run: ps.Dataset.range(100).interleave(
        hundreds, 8, 3, num_parallel_calls=run.some(8)
    ),
    "map": lambda ds, run: ds.map(plain),
    "pack": lambda ds, run: ds.map(ragged, run.calls).pack(11, open_packs=7),
    "padded_batch": lambda ds, run: ds.map(ragged, run.calls).padded_batch(50, 6),
    "parallel_map": lambda ds, run: ds.map(plain, run.calls or 3),
    "prefetch": lambda ds, run: ds.prefetch(run.ahead or 1),
    "ragged_batch": lambda ds, run: ds.map(ragged, run.calls).ragged_batch(50),
    "rebatch": lambda ds, run: ds.batch(11).rebatch([3, 50]).unbatch(),
    "reduced": lambda ds, run: ds._then(
        "reduced", initial_state=(np.int64(0), 0.5), reduce_func=folded
    ),
    "rejection_resample": lambda ds, run: ds.rejection_resample(
        ps.native(lambda x, noise: x % 3), [0.6, 0.2, 0.2]
    ).map(lambda label, pair: pair),
    "repeat": lambda ds, run: ds.shuffle(100).repeat(2),
    "sample_from_datasets": lambda ds, run: ps.Dataset.sample_from_datasets(
        [ds, numbers(run).shuffle(9)], [0.7, 0.3]
    ),
    "scan": lambda ds, run: ds.scan(0.5, scanned),
    "shard": lambda ds, run: ds.shard(3, 1).map(more_noise, run.calls),
    "shard_evenly": lambda ds, run: (
        ds.filter(some_of_them)
        .shuffle(100)
        .shard_evenly(3, 1, "pad")
        .map(lambda x, noise, real: (*more_noise(x, noise), real), run.calls)
    ),
    "select": lambda ds, run: ds.global_shuffle().map(more_noise, run.calls),
    "shuffle": lambda ds, run: ds.shuffle(500).map(more_noise, run.calls),
    "skip": lambda ds, run: ds.skip(77).map(more_noise, run.calls),
    "snapshot": lambda ds, run: ds.snapshot(str(run.folder / "snapshot")),
    "take": lambda ds, run: ds.take(7777).map(more_noise, run.calls),
    "take_while": lambda ds, run: ds.take_while(early).map(more_noise, run.calls),
    "unbatch": lambda ds, run: ds.batch(13).map(more_noise, run.calls).unbatch(),
    "unique": lambda ds, run: ds.map(last_digits, run.calls).unique(),
    "window": lambda ds, run: ds.window(5, shift=3).map(lambda a, b: sum(a), run.calls),
    "zip": lambda ds, run: ps.Dataset.zip(ds, numbers(run).shuffle(9)),
}

# Kinds whose elements differ in shape: all others are hashed in batches, which is faster.
WHOLE = {"batch", "bucket_by_sequence_length", "group_by_window", "ragged_batch"}

# Kinds whose elements do not depend on the order of their input.
ORDER_FREE = ["filter", "flat_map", "map", "parallel_map", "interleave", "prefetch", "cache"]
