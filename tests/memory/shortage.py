"""Make each allocation of a pipeline fail in turn, one run per allocation; run by its test.

`shortage.py LIBRARY FOLDER MOST WIDTH [NAME...]` tests the named pipelines, or all of them. It
tries at most MOST allocations of each pipeline, evenly spaced; WIDTH consecutive allocations fail.
Problems are printed, and the exit status is then 1. If an allocation crashes the process, it is the
last one printed.

Each pipeline runs twice: allocations fail from the first ``next`` on, or already while the pipeline
and its iterator are created.
"""

import ctypes
import dataclasses
import faulthandler
import functools
import gzip
import itertools
import sys
import time
import types
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

import penstock as ps

ROWS = 24
MOST_STEPS = 400
IN_A_ROW = 30  # errors after which an iterator is assumed to fail forever
HANG = 20  # seconds
THREADS = len(list(Path("/proc/self/task").iterdir()))  # includes NumPy's


@dataclasses.dataclass
class Pipeline:
    """A pipeline's builder and its expected rows."""

    build: Callable[[Path], Any]  # takes a folder for files kept from the first run
    ids: Callable[[Any], list[int]] = lambda x: [int(x)]  # row numbers of an element
    lost: int = 1  # maximum rows lost per failure: those of one element of any stage
    ordered: bool = True
    fresh: bool = False  # writes files: each run gets a new folder
    once: bool = False  # cannot be rerun, so an error may end it
    skips: bool = False  # drops failed elements


PIPELINES: dict[str, Pipeline] = {}
LIBRARY = ctypes.CDLL(sys.argv[1])
WIDTH = int(sys.argv[4])
MESSAGES: list[str] = []  # messages of the MemoryErrors of a run


def pipeline(**options):
    def note(build):
        PIPELINES[build.__name__] = Pipeline(build, **options)
        return build

    return note


def opens(function):
    """Exempt the function from the shortage when several allocations fail.

    Another failure may rebuild the run, which then calls the function again. If the first call
    raised and the second does not, the dataset of the second call yields different rows than the
    run before: a run is repeatable only if its functions are.
    """

    def call(*args):
        LIBRARY.memory_spare(ctypes.c_bool(WIDTH > 1))
        try:
            return function(*args)
        finally:
            LIBRARY.memory_spare(ctypes.c_bool(False))

    return call


def row(i):
    """Return the values of row i other than its number; they reveal unfilled or wrong rows."""
    return np.full(5 + i % 3, i * 3 + 1, np.int32)


def check_id(number, rest):
    """Return the row number if `rest` are the row's other values, otherwise -1."""
    return int(number) if np.array_equal(rest, row(int(number))) else -1


def batch_ids(batch):
    return [int(x) for x in np.asarray(batch).reshape(-1)]


def slices():
    return ps.Dataset.from_tensor_slices(
        {"id": np.arange(ROWS), "x": np.arange(ROWS)[:, None] * np.ones((1, 3000), np.float32)}
    )


def slice_ids(batch):
    same = (batch["x"] == np.asarray(batch["id"])[..., None]).all(axis=-1)
    return [
        int(i) if ok else -1
        for i, ok in zip(np.atleast_1d(batch["id"]), np.atleast_1d(same), strict=True)
    ]


@ps.native
def plus_nothing(row):
    return {"id": row["id"], "x": row["x"] + 0}


def plain_copy(row):
    return {"id": row["id"], "x": row["x"] + 0}


@pipeline(ids=slice_ids, lost=4)
def native_map_batch(folder):
    return slices().map(plus_nothing).batch(4)


@pipeline(ids=slice_ids, lost=4)
def python_map_batch(folder):
    return slices().map(plain_copy, num_parallel_calls=2).batch(4)


RECORDS = [
    ps.io.make_example({"id": [i], "x": [float(i)] * 5000, "s": b"%d" % i}) for i in range(ROWS)
]
FEATURES = {
    "id": ps.io.FixedLenFeature([], np.int64),
    "x": ps.io.FixedLenFeature([5000], np.float32),
    "s": ps.io.FixedLenFeature([], bytes),
}


@ps.native
def parse(record):
    return ps.io.parse_single_example(record, FEATURES)


def example_ids(batch):
    return [
        int(i) if (x == i).all() and s == b"%d" % i else -1
        for i, x, s in zip(batch["id"], batch["x"], batch["s"], strict=True)
    ]


@pipeline(ids=example_ids, lost=4)
def parallel_parse(folder):
    return ps.experimental.from_list(RECORDS).map(parse, num_parallel_calls=2).batch(4)


@pipeline(ids=example_ids, lost=4)
def parse_batches(folder):
    return (
        ps.experimental.from_list(RECORDS)
        .batch(4)
        .map(
            ps.native(lambda records: ps.io.parse_example(records, FEATURES)), num_parallel_calls=2
        )
        .prefetch(2)
    )


@pipeline(ordered=False)
def shuffled(folder):
    return ps.Dataset.range(ROWS).shuffle(8, seed=3)


@pipeline(ids=lambda x: [check_id(*x)], ordered=False)
def shuffled_rows(folder):
    ds = ps.Dataset.range(ROWS).map(lambda i: (i, row(i)))
    return ds.shuffle(8, seed=3).prefetch(2)


@pipeline()
def prefetched(folder):
    return ps.Dataset.range(ROWS).prefetch(2).map(ps.native(lambda x: x + 0)).prefetch(ps.AUTOTUNE)


def write_records(folder):
    names = [folder / f"{k}.tfrecord" for k in range(3)]
    for k, name in enumerate(names):
        if not name.exists():
            with ps.io.TFRecordWriter(str(name)) as writer:
                for record in RECORDS[k::3]:
                    writer.write(record)
    return [str(name) for name in names]


@pipeline(
    ids=lambda x: [example_ids({n: [v] for n, v in x.items()})[0]], lost=ROWS // 3, ordered=False
)
def interleaved_records(folder):
    names = ps.Dataset.from_tensor_slices(write_records(folder))
    opened = names.interleave(opens(ps.TFRecordDataset), cycle_length=2, num_parallel_calls=2)
    return opened.map(parse)


@pipeline(ids=lambda x: [int(x.split()[0])])
def lines(folder):
    plain, packed = folder / "a.txt", folder / "b.txt.gz"
    text = "".join(f"{i} {'x' * 700}\n" for i in range(ROWS))
    if not packed.exists():
        plain.write_text(text)
        packed.write_bytes(gzip.compress(text.encode()))
    first = ps.TextLineDataset(str(plain)).take(ROWS // 2)
    return first.concatenate(
        ps.TextLineDataset(str(packed), compression_type="GZIP").skip(ROWS // 2)
    )


def ragged_ids(batch):
    ids, rows = batch
    return [check_id(i, np.asarray(r)[: 5 + int(i) % 3]) for i, r in zip(ids, rows, strict=True)]


def numbered_rows():
    return ps.Dataset.range(ROWS).map(lambda i: (i, row(i)))


@pipeline(ids=ragged_ids, lost=4)
def padded(folder):
    return numbered_rows().padded_batch(4)


def unpacked_ids(batch):
    ids, (values, splits) = batch
    return ragged_ids((ids, [values[a:b] for a, b in itertools.pairwise(splits)]))


@pipeline(ids=unpacked_ids, lost=4)
def ragged(folder):
    return numbered_rows().ragged_batch(4)


@pipeline(ids=lambda x: [check_id(*x)])
def cached(folder):
    return numbered_rows().cache().repeat(2)


@pipeline(ids=lambda x: [check_id(*x)], fresh=True)
def cached_file(folder):
    return numbered_rows().cache(str(folder / "kept")).repeat(2)


@pipeline(ids=batch_ids, lost=4, ordered=False)
def grouped(folder):
    return ps.Dataset.range(ROWS).group_by_window(
        lambda i: i % 3, opens(lambda key, window: window.batch(4)), window_size=4
    )


@pipeline(ids=batch_ids, lost=4, ordered=False)
def bucketed(folder):
    return ps.Dataset.range(ROWS).bucket_by_sequence_length(
        ps.native(lambda i: i % 3), [1, 2], [4, 4, 4]
    )


def numbers():
    for i in range(ROWS):
        yield {"i": i, "text": f"{i}", "raw": row(i)}


@pipeline(ids=lambda x: [check_id(x["i"], x["raw"]) if x["text"] == str(x["i"]) else -1], once=True)
def generated(folder):
    return ps.Dataset.from_generator(numbers).map(lambda row: dict(row)).prefetch(2)


@pipeline(ids=lambda x: [int(x[0])])
def joined(folder):
    ds = ps.Dataset.range(ROWS // 2).concatenate(ps.Dataset.range(ROWS // 2, ROWS))
    return ps.Dataset.zip((ds, ps.experimental.from_list(["a", "b"]).repeat()))


@pipeline(ids=lambda x: [check_id(*x)], fresh=True)
def snapshot(folder):
    return numbered_rows().snapshot(str(folder / "kept"))


def save_and_load(folder):
    numbered_rows().save(str(folder / "data"))
    return ps.Dataset.load(str(folder / "data"))


@pipeline(ids=lambda x: [check_id(*x)], lost=ROWS, fresh=True)
def saved(folder):
    return ps.Dataset.range(1).flat_map(lambda _: save_and_load(folder))


@pipeline(ids=lambda x: [int(x[0])])
def scanned(folder):
    ds = ps.Dataset.range(ROWS).scan(0, lambda state, x: (state + 1, (x, state)))
    return ds.filter(ps.native(lambda x, s: x >= 0)).take_while(lambda x, s: x < 100)


@pipeline(ids=batch_ids, lost=4, ordered=False)
def windows(folder):
    return (
        ps.Dataset.range(ROWS)
        .window(4, drop_remainder=True)
        .flat_map(opens(lambda w: w.batch(4)))
        .unbatch()
        .unique()
        .batch(3)
    )


def plain_number(x):
    return x


def plain_yes(x):
    return True


@pipeline(ids=lambda x: [int(x)])
def filtered(folder):
    return ps.Dataset.range(ROWS).filter(plain_yes, num_parallel_calls=2)


@pipeline(skips=True)
def skipping_errors(folder):
    return (
        ps.Dataset.range(ROWS).map(plain_number, num_parallel_calls=2, on_error="skip").prefetch(2)
    )


@pipeline(ids=batch_ids, lost=4)
def indexed(folder):
    ds = ps.Dataset.from_indexable(range(ROWS), num_parallel_calls=2)
    return ds.enumerate().map(lambda i, x: x).take(ROWS).skip(0).batch(4, num_parallel_calls=2)


async def awaited(x):
    return x


@pipeline()
def coroutines(folder):
    return ps.Dataset.range(ROWS).map(awaited, num_parallel_calls=4)


@pipeline(ids=lambda x: [x.number])
def opaque(folder):
    rows = [types.SimpleNamespace(number=i) for i in range(ROWS)]
    return ps.experimental.from_list(rows).map(lambda row: row)


@pipeline(ids=lambda x: batch_ids(next(iter(x.batch(4)))), lost=4)
def window_elements(folder):
    return ps.Dataset.range(ROWS).window(4)


@pipeline(lost=4)
def opened(folder):
    doubled = ps.native(lambda x: x * 1)
    return ps.Dataset.range(ROWS // 4).flat_map(
        opens(lambda i: ps.Dataset.range(4 * i, 4 * i + 4).map(doubled))
    )


@pipeline(ids=lambda x: [int(i) for i in x], lost=4)
def strings(folder):
    texts = ps.Dataset.from_tensor_slices([str(i) for i in range(ROWS)])
    return texts.map(ps.native(lambda s: ps.strings.upper(s))).batch(4)


@pipeline(ids=lambda x: [int(i) for i, real in zip(*x, strict=True) if real], lost=4)
def sharded(folder):
    return ps.Dataset.range(2 * ROWS).shard_evenly(2, 0, "pad").batch(4)


class Shortage:
    """The library that makes allocations fail."""

    def __init__(self, library):
        self.library = library
        for name in ("count", "failed"):
            getattr(self.library, f"memory_{name}").restype = ctypes.c_int64
        assert self.library.memory_watch() == 2

    def fail(self, first, last, tell):
        self.library.memory_fail(ctypes.c_int64(first), ctypes.c_int64(last), ctypes.c_bool(tell))

    def end(self):
        """Return the number of allocations, and how many of them failed."""
        self.library.memory_enough()
        return self.library.memory_count(), self.library.memory_failed()


class Wrong(Exception):
    """A run violated its contract."""


def deliver(pipe, folder, begin=lambda: None, early=False):
    """Return the rows in order, None for a MemoryError; raise any other error."""
    came, failing = [], 0
    if early:
        begin()
    try:
        it = iter(pipe.build(folder))
    except MemoryError:
        return [None]
    try:
        if not early:
            begin()
        for _ in range(MOST_STEPS):
            try:
                element = next(it)
            except StopIteration:
                break
            except MemoryError as error:
                MESSAGES.append(str(error))
                failing += 1
                if failing > IN_A_ROW:
                    break
                came.append(None)
                continue
            failing = 0
            LIBRARY.memory_spare(ctypes.c_bool(True))  # examining it may run a pipeline
            came.append(pipe.ids(element))
            LIBRARY.memory_spare(ctypes.c_bool(False))
            del element
        else:
            raise Wrong("no end")
    finally:
        for _ in range(3):
            try:
                it.close()
                break
            except MemoryError:
                pass
        else:
            raise Wrong("close")
    return came


def check(pipe, came, expected, failed):
    """Raise `Wrong` unless `came` are the expected rows, except for those lost to failures."""
    rows = [i for element in came if element is not None for i in element]
    errors = sum(element is None for element in came)
    wanted = [i for element in expected for i in element]
    if not errors and not pipe.skips:
        same = rows == wanted if pipe.ordered else sorted(rows) == sorted(wanted)
        if not same:
            raise Wrong(f"no error, but {came}")
        return
    if not failed and errors:
        raise Wrong(f"an error although there was memory: {came}")
    left = list(wanted)
    for i in rows:
        if i not in left:
            raise Wrong(f"{i} is not filled, or came twice: {came}")
        left.remove(i)
    place = 0
    for i in rows if pipe.ordered else ():
        while place < len(wanted) and wanted[place] != i:
            place += 1
        if place == len(wanted):
            raise Wrong(f"{i} is out of order: {came}")
        place += 1
    # A pipeline that was not created has no rows; one that cannot be rerun may end.
    ended = came == [None] or (pipe.once and came[-IN_A_ROW:] == [None] * IN_A_ROW)
    if not ended and len(left) > (failed if pipe.skips else errors) * pipe.lost:
        raise Wrong(f"{errors} errors took {left}: {came}")


def run_places(name, pipe, shortage, folder, most, width, only, early):
    home = folder / (f"{name} early" if early else name)
    home.mkdir()
    made = iter(range(10**9))

    def fresh():
        if not pipe.fresh:
            return home
        inner = home / str(next(made))
        inner.mkdir()
        return inner

    expected = deliver(pipe, fresh())
    deliver(pipe, fresh(), lambda: shortage.fail(2**62, 2**62, False), early)
    count, _ = shortage.end()
    places = range(1, count + 1, max(1, count // most))
    wrong = 0
    for place in places:
        if only is not None and place != only:
            continue
        print(home.name, place, end="\r", flush=True)
        MESSAGES.clear()
        faulthandler.dump_traceback_later(HANG, exit=True)
        try:
            came = deliver(
                pipe,
                fresh(),
                functools.partial(shortage.fail, place, place + width - 1, only is not None),
                early,
            )
            _, failed = shortage.end()
            if only is not None:
                print(came)
            check(pipe, came, expected, failed)
        except Exception as error:
            shortage.end()
            wrong += 1
            told = "".join(sorted({f"\n   {message}" for message in MESSAGES}))
            print(
                f"{home.name} {place} of {count}: {type(error).__name__}: {error}{told}", flush=True
            )
        finally:
            shortage.end()
            faulthandler.cancel_dump_traceback_later()
    after = deliver(pipe, fresh())
    if after != expected:
        print(f"{home.name}: afterwards {after}")
        wrong += 1
    print(f"{home.name}: {len(places)} of {count} places", flush=True)
    return wrong


def main(library, folder, most, width, *names):
    shortage = Shortage(LIBRARY)
    wrong = 0
    only = None
    if names and names[-1].isdigit():
        *names, only = names
        only = int(only)
    for name in names or PIPELINES:
        start = time.monotonic()
        for early in (False, True):
            limits = (int(most), int(width), only, early)
            wrong += run_places(name, PIPELINES[name], shortage, Path(folder), *limits)
        print(f"   {time.monotonic() - start:.2f} s")
    return 1 if wrong or not threads_end() else 0


def threads_end():
    """Return whether the threads of all these runs exit within several seconds."""
    for _ in range(100):
        # The thread of the event loop stays.
        if len(list(Path("/proc/self/task").iterdir())) <= THREADS + 1:
            return True
        time.sleep(0.1)
    print("threads are left")
    return False


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
