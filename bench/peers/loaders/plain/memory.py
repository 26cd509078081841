"""plain Python, data in memory: shuffled, cached, batched."""

from __future__ import annotations

import random
from collections.abc import Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from itertools import islice
from typing import Any

import numpy as np

from bench.peers.loaders.plain.queues import ahead, batches
from bench.peers.workload import Epoch, Task
from bench.peers.workloads import cache as caching
from bench.peers.workloads import padded as lengths
from bench.peers.workloads import shuffle as shuffling
from bench.peers.workloads import slices as arrays
from bench.peers.workloads import start as starting


def shuffle(task: Task) -> Epoch:
    """A list of 100,000 elements, one of which is drawn and replaced for each that comes."""
    values: Any = shuffling.rows(task) if task.width else range(task.n)
    return lambda: map(np.array, batches(drawn(values, task.buffer), task.batch))


def drawn(values: Iterable[Any], size: int) -> Iterator[Any]:
    source = iter(values)
    buffer = list(islice(source, size))
    draw = random.random
    for value in source:
        place = int(draw() * size)
        yield buffer[place]
        buffer[place] = value
    random.shuffle(buffer)
    yield from buffer


def cache(task: Task) -> Epoch:
    """Memory: a list of rows, np.stack; file: np.save, np.load(mmap_mode="r"), copied slices."""
    rows = caching.rows(task)
    if task.case == "memory":
        kept = list(rows)
        return lambda: map(np.stack, batches(kept, task.batch))
    file = task.scratch / "rows.npy"
    np.save(file, rows)

    def epoch() -> Iterator[Any]:
        mapped = np.load(file, mmap_mode="r")
        return (np.array(mapped[i : i + task.batch]) for i in range(0, task.n, task.batch))

    return epoch


def slices(task: Task) -> Epoch:
    """np.random permutation, NumPy's gather of each batch."""
    values, draw = arrays.arrays(task), np.random.default_rng()

    def epoch() -> Iterator[Any]:
        order = draw.permutation(task.n)
        for begin in range(0, task.n, task.batch):
            places = order[begin : begin + task.batch]
            yield tuple(array[places] for array in values)

    return epoch


def padded(task: Task) -> Epoch:
    """A list of rows, or one per bucket, copied into np.zeros."""
    rows = lengths.rows(task)
    if task.case == "padded":
        return lambda: map(lengths.padded, batches(rows, task.batch))
    return lambda: map(lengths.padded, lengths.bucketed(rows, task.batch))


def start(task: Task) -> Epoch:
    """random.shuffle, ThreadPoolExecutor(processors) per image, np.stack."""
    images, pool = list(starting.images(task)), ThreadPoolExecutor(task.workers)

    def epoch() -> Iterator[Any]:
        mixed = random.sample(images, len(images))
        scaled = ahead(pool, starting.scaled, mixed, 2 * task.batch)
        return islice(map(np.stack, batches(scaled, task.batch)), task.n // task.batch)

    return epoch
