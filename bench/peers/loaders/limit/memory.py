"""The machine's limit, data in memory: shuffled, cached, batched."""

from __future__ import annotations

import pickle
import time
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from bench.aligned import aligned
from bench.peers.workload import Epoch, Task
from bench.peers.workloads import cache as caching
from bench.peers.workloads import padded as lengths
from bench.peers.workloads import shuffle as shuffling
from bench.peers.workloads import slices as arrays
from bench.peers.workloads import start as starting
from bench.peers.workloads.checkpoint import SEED


def shuffle(task: Task) -> Epoch:
    """values[order[i : i + batch]], with the permutation drawn before."""
    values = shuffling.rows(task) if task.width else np.arange(task.n)
    order = np.random.default_rng(1).permutation(task.n)

    def epoch() -> Iterator[Any]:
        for start in range(0, task.n, task.batch):
            yield values[order[start : start + task.batch]]

    return epoch


def cache(task: Task) -> Epoch:
    """Copies of 256 rows into one buffer; or read(2) into it and google_crc32c.value of it."""
    values = caching.rows(task)
    buffer = aligned(task.batch, task.width)

    def copied() -> Iterator[Any]:
        for start in range(0, task.n, task.batch):
            rows = values[start : start + task.batch]
            np.copyto(buffer[: len(rows)], rows)
            yield buffer[: len(rows)]

    def read() -> Iterator[Any]:
        import google_crc32c

        with file.open("rb", buffering=0) as source:
            while got := source.readinto(buffer.data):
                google_crc32c.value(buffer[: got // task.width])
                yield buffer[: got // task.width]

    if task.case == "memory":
        return copied
    file = task.scratch / "rows"
    values.tofile(file)
    return read


def slices(task: Task) -> Epoch:
    """A permutation for each pass, np.take of each batch into one of two buffers per array."""
    values, draw = arrays.arrays(task), np.random.default_rng(1)
    buffers = [
        tuple(np.empty((task.batch, *array.shape[1:]), array.dtype) for array in values)
        for _ in range(2)
    ]

    def epoch() -> Iterator[Any]:
        order = draw.permutation(task.n)
        for number, start in enumerate(range(0, task.n, task.batch)):
            places = order[start : start + task.batch]
            parts = zip(values, buffers[number % 2], strict=True)
            # Places are in range; "clip" spares np.take a copy of its own.
            yield tuple(
                np.take(array, places, 0, out=buffer[: len(places)], mode="clip")
                for array, buffer in parts
            )

    return epoch


def padded(task: Task) -> Epoch:
    """np.zeros per batch, each row copied into it; `bucketed`: batches known beforehand."""
    rows = lengths.rows(task)
    parts = [rows[i : i + task.batch] for i in range(0, task.n, task.batch)]
    if task.case == "bucketed":
        parts = list(lengths.bucketed(rows, task.batch))
    return lambda: map(lengths.padded, parts)


def start(task: Task) -> Epoch:
    """Permutation, images[order[i : i + 64]] / 255 as float32."""
    images, draw = starting.images(task), np.random.default_rng(1)

    def epoch() -> Iterator[Any]:
        order = draw.permutation(task.rows)
        for begin in range(0, task.n, task.batch):
            yield starting.scaled(images[order[begin : begin + task.batch]])

    return epoch


def checkpoint(task: Task) -> float:
    """pickle of (position, seed), many times; to restore, a permutation of 10,000 numbers, too."""
    position = (task.steps * task.batch, SEED)
    state = pickle.dumps(position)

    def restored() -> Any:
        _, seed = pickle.loads(state)
        return np.random.default_rng(seed).permutation(task.buffer)[: task.batch] + 1

    times = 20 * task.times
    step: Callable[[], Any] = restored if task.case == "restore" else lambda: pickle.dumps(position)
    begin = time.perf_counter()
    for _ in range(times):
        step()
    return (time.perf_counter() - begin) / times
