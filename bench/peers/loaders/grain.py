"""Grain's datasets, as its tutorials advise."""

from __future__ import annotations

import pickle
from collections.abc import Iterator
from itertools import islice
from pathlib import Path
from typing import Any

import grain
import numpy as np
from grain import experimental

from bench.peers.data import write_once
from bench.peers.workload import Epoch, Task
from bench.peers.workloads import cache as caching
from bench.peers.workloads import checkpoint as saving
from bench.peers.workloads import elements as many
from bench.peers.workloads import generator as images
from bench.peers.workloads import gil as functions
from bench.peers.workloads import global_shuffle as whole
from bench.peers.workloads import imports as importing
from bench.peers.workloads import install as installing
from bench.peers.workloads import interleave as readers
from bench.peers.workloads import jpeg as photos
from bench.peers.workloads import jpeg_records as jpegs
from bench.peers.workloads import overhead as counting
from bench.peers.workloads import padded as lengths
from bench.peers.workloads import shuffle as shuffling
from bench.peers.workloads import slices as arrays
from bench.peers.workloads import start as starting
from bench.peers.workloads import stream as streaming
from bench.peers.workloads import tfrecord as records
from bench.peers.workloads import worker_start as first


class Generated(grain.IterDataset):  # type: ignore[misc]
    """The generator's images."""

    def __init__(self, n: int) -> None:
        super().__init__()
        self.n = n

    def __iter__(self) -> Any:
        return GeneratedIterator(self.n)


class GeneratedIterator(grain.DatasetIterator):  # type: ignore[misc]
    """One run of the generator; it cannot be resumed."""

    def __init__(self, n: int) -> None:
        super().__init__()
        self.images: Iterator[Any] = images.generate(n)

    def __next__(self) -> Any:
        return next(self.images)

    def get_state(self) -> Any:
        return {}

    def set_state(self, state: Any) -> None:
        raise NotImplementedError


def reading(task: Task, threads: int | None = None) -> Any:
    """Return options with one read thread per processor; the default of 16 was slower."""
    count = task.workers if threads is None else threads
    return grain.ReadOptions(num_threads=count, prefetch_buffer_size=max(count, 4 * 64))


def jpeg(task: Task) -> Epoch:
    """source.map(simplejpeg + OpenCV).to_iter_dataset(read threads = processors).batch."""
    from bench.peers import photo

    source = grain.MapDataset.source(photos.paths(task)).map(photo.reader(task))
    dataset = source.to_iter_dataset(reading(task)).batch(task.batch)
    return lambda: dataset


def overhead(task: Task) -> Epoch:
    """MapDataset.range, .map, .to_iter_dataset(no read threads), .batch."""
    source = grain.MapDataset.range(task.n)
    if task.case != "range":
        function = counting.record if task.case == "dict" else lambda x: x + 1
        source = source.map(function).batch(task.batch)
    dataset = source.to_iter_dataset(grain.ReadOptions(num_threads=0, prefetch_buffer_size=0))
    return lambda: dataset


def tfrecord(task: Task) -> Epoch:
    """experimental.TFRecordIterDataset[.batch(1024, batch_fn=list)]; checks no CRC."""
    dataset = experimental.TFRecordIterDataset(str(records.path(task)))
    if task.batch:
        dataset = dataset.batch(task.batch, batch_fn=list)
    return lambda: dataset


def shuffle(task: Task) -> Epoch:
    """MapDataset, .to_iter_dataset, experimental.WindowShuffleIterDataset(100000), .batch."""
    source = grain.MapDataset.range(task.n)
    if task.width:
        source = grain.MapDataset.source(shuffling.rows(task))
    plain = source.to_iter_dataset(grain.ReadOptions(num_threads=0, prefetch_buffer_size=0))
    shuffled = experimental.WindowShuffleIterDataset(plain, window_size=task.buffer, seed=1)
    dataset = shuffled.batch(task.batch)
    return lambda: dataset


def global_shuffle(task: Task) -> Epoch:
    """ArrayRecordDataSource (group_size:1), .shuffle(seed), .batch(1024, list), read threads."""
    from array_record.python.array_record_module import ArrayRecordWriter

    def write(file: Path) -> None:
        writer = ArrayRecordWriter(str(file), "group_size:1")
        for row in whole.rows(task):
            writer.write(row.tobytes())
        writer.close()

    file = whole.path(task).with_suffix(".arrayrecord")
    write_once(file, write)
    source = grain.MapDataset.source(grain.sources.ArrayRecordDataSource(str(file)))
    dataset = source.shuffle(seed=1).batch(task.batch, batch_fn=list)
    dataset = dataset.to_iter_dataset(reading(task))
    return lambda: dataset


def generator(task: Task) -> Epoch:
    """IterDataset around it, .batch(64), experimental.ThreadPrefetchIterDataset(2)."""
    batches = Generated(task.n).batch(task.batch)
    dataset = experimental.ThreadPrefetchIterDataset(batches, prefetch_buffer_size=2)
    return lambda: dataset


def gil(task: Task) -> Epoch:
    """Holds: mp_prefetch(processors); releases: read threads = processors."""
    source = grain.MapDataset.range(task.n).map(functions.function(task))
    if not functions.holds(task):
        threads = source.to_iter_dataset(reading(task))
        return lambda: threads
    options = grain.MultiprocessingOptions(num_workers=task.workers, per_worker_buffer_size=16)
    single = grain.ReadOptions(num_threads=1, prefetch_buffer_size=2)
    processes = source.to_iter_dataset(single).mp_prefetch(options)
    return lambda: processes


def worker_start(task: Task) -> float:
    """mp_prefetch(processors): processes that are spawned."""
    options = grain.MultiprocessingOptions(num_workers=task.workers, per_worker_buffer_size=16)
    single = grain.ReadOptions(num_threads=1, prefetch_buffer_size=2)
    source = grain.MapDataset.range(task.n).map(first.small)
    return first.until_first(lambda: source.to_iter_dataset(single).mp_prefetch(options))


def cache(task: Task) -> Epoch:
    """Memory: experimental.CacheIterDataset, .batch(256); no file cache."""
    if task.case == "file":
        raise NotImplementedError("no cache in files")
    source = grain.MapDataset.source(caching.rows(task))
    plain = source.to_iter_dataset(grain.ReadOptions(num_threads=0, prefetch_buffer_size=0))
    dataset = experimental.CacheIterDataset(plain).batch(task.batch, batch_fn=np.stack)
    return lambda: dataset


def jpeg_records(task: Task) -> Epoch:
    """InterleaveIterDataset(TFRecordIterDataset), map(simplejpeg + OpenCV), batch, mp_prefetch."""
    from bench.peers import photo

    files = [experimental.TFRecordIterDataset(name) for name in jpegs.records(task)]
    dataset = experimental.InterleaveIterDataset(files, cycle_length=len(files))
    dataset = dataset.map(photo.decoder(task)).batch(task.batch)
    options = grain.MultiprocessingOptions(num_workers=task.workers, per_worker_buffer_size=2)
    dataset = dataset.mp_prefetch(options)
    return lambda: dataset


def elements(task: Task) -> Epoch:
    """MapDataset.source(list), .to_iter_dataset(no read threads), .batch."""
    source = grain.MapDataset.source(many.listed(task)).batch(task.batch)
    dataset = source.to_iter_dataset(grain.ReadOptions(num_threads=0, prefetch_buffer_size=0))
    return lambda: dataset


def slices(task: Task) -> Epoch:
    """MapDataset.source(rows).shuffle(seed).batch(...), .to_iter_dataset(read threads)."""
    source = grain.MapDataset.source(Rows(arrays.arrays(task))).shuffle(seed=1)
    dataset = source.batch(task.batch).to_iter_dataset(reading(task))
    return lambda: dataset


class Rows:
    """Arrays as a source of rows."""

    def __init__(self, values: tuple[Any, ...]) -> None:
        self.values = values

    def __len__(self) -> int:
        return len(self.values[0])

    def __getitem__(self, place: Any) -> Any:
        return tuple(array[place] for array in self.values)


def stream(task: Task) -> Epoch:
    """TFRecordIterDataset, WindowShuffleIterDataset(100000), batch(256, list); checks no CRC."""
    records = experimental.TFRecordIterDataset(str(streaming.path(task)))
    dataset = experimental.WindowShuffleIterDataset(records, window_size=task.buffer, seed=1)
    dataset = dataset.batch(task.batch, batch_fn=list)
    return lambda: dataset


def padded(task: Task) -> Epoch:
    """MapDataset.source(rows).batch(batch_fn pads), no read threads; no buckets."""
    if task.case == "bucketed":
        raise NotImplementedError("no buckets by length")
    source = grain.MapDataset.source(lengths.rows(task))
    source = source.batch(task.batch, batch_fn=lengths.padded)
    dataset = source.to_iter_dataset(grain.ReadOptions(num_threads=0, prefetch_buffer_size=0))
    return lambda: dataset


class Reader(grain.IterDataset):  # type: ignore[misc]
    """One slow reader."""

    def __init__(self, task: Task, number: int) -> None:
        super().__init__()
        self.task, self.number = task, number

    def __iter__(self) -> Any:
        return ReaderIterator(self.task, self.number)


class ReaderIterator(grain.DatasetIterator):  # type: ignore[misc]
    """One run of a reader; it cannot be resumed."""

    def __init__(self, task: Task, number: int) -> None:
        super().__init__()
        self.items = readers.items(task, number)

    def __next__(self) -> Any:
        return next(self.items)

    def get_state(self) -> Any:
        return {}

    def set_state(self, state: Any) -> None:
        raise NotImplementedError


def interleave(task: Task) -> Epoch:
    """experimental.InterleaveIterDataset(cycle_length=16), 16 threads that make iterators."""
    datasets = [Reader(task, number) for number in range(task.readers)]
    dataset = experimental.InterleaveIterDataset(
        datasets,
        cycle_length=task.cycle,
        num_make_iter_threads=task.cycle,
        make_iter_buffer_size=task.cycle,
        iter_buffer_size=task.items,
    )
    return lambda: dataset


def checkpoint(task: Task) -> float:
    """MapDataset.range.shuffle.map.batch(100).to_iter_dataset; get_state, pickled."""
    source = grain.MapDataset.range(task.n).shuffle(seed=saving.SEED).map(lambda x: x + 1)
    dataset = source.batch(task.batch).to_iter_dataset(reading(task))

    def restored(state: bytes) -> Any:
        iterator = iter(dataset)
        iterator.set_state(pickle.loads(state))
        return iterator

    return saving.measured(
        task, lambda: iter(dataset), lambda iterator: pickle.dumps(iterator.get_state()), restored
    )


def start(task: Task) -> Epoch:
    """MapDataset.source.shuffle(seed).map.batch(64), .to_iter_dataset(read threads)."""
    images = starting.images(task)

    def build() -> Any:
        source = grain.MapDataset.source(images).shuffle(seed=1).map(starting.scaled)
        return source.batch(task.batch).to_iter_dataset(reading(task))

    if task.case == "first batch":
        return lambda: islice(build(), 1)
    dataset = build()
    return lambda: dataset


def imports(task: Task) -> float:
    """import grain."""
    return importing.measured(task, "grain")


def install(task: Task) -> float:
    """grain."""
    return installing.measured("grain")
