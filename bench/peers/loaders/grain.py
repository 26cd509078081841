"""Grain's datasets, as its tutorials advise."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import grain
import numpy as np
from grain import experimental

from bench.peers.workload import Epoch, Task
from bench.peers.workloads import cache as caching
from bench.peers.workloads import generator as images
from bench.peers.workloads import gil as functions
from bench.peers.workloads import jpeg as photos
from bench.peers.workloads import overhead as counting
from bench.peers.workloads import shuffle as shuffling
from bench.peers.workloads import tfrecord as records


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


def generator(task: Task) -> Epoch:
    """IterDataset around it, .batch(64), experimental.ThreadPrefetchIterDataset(2)."""
    batches = Generated(task.n).batch(task.batch)
    dataset = experimental.ThreadPrefetchIterDataset(batches, prefetch_buffer_size=2)
    return lambda: dataset


def gil(task: Task) -> Epoch:
    """Holds: mp_prefetch(processors); releases: read threads = processors."""
    source = grain.MapDataset.range(task.n).map(functions.function(task))
    if task.case == "releases the GIL":
        threads = source.to_iter_dataset(reading(task))
        return lambda: threads
    options = grain.MultiprocessingOptions(num_workers=task.workers, per_worker_buffer_size=16)
    single = grain.ReadOptions(num_threads=1, prefetch_buffer_size=2)
    processes = source.to_iter_dataset(single).mp_prefetch(options)
    return lambda: processes


def cache(task: Task) -> Epoch:
    """Memory: experimental.CacheIterDataset, .batch(256); no file cache."""
    if task.case == "file":
        raise NotImplementedError("no cache in files")
    source = grain.MapDataset.source(caching.rows(task))
    plain = source.to_iter_dataset(grain.ReadOptions(num_threads=0, prefetch_buffer_size=0))
    dataset = experimental.CacheIterDataset(plain).batch(task.batch, batch_fn=np.stack)
    return lambda: dataset
