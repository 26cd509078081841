"""plain Python, what is read from files."""

from __future__ import annotations

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from csv import reader
from itertools import chain
from pathlib import Path
from typing import Any

import numpy as np

from bench.peers.loaders.plain.memory import drawn
from bench.peers.loaders.plain.queues import ahead, batches
from bench.peers.workload import Epoch, Task
from bench.peers.workloads import csv as tables
from bench.peers.workloads import jpeg as photos
from bench.peers.workloads import jpeg_records as jpegs
from bench.peers.workloads import stream as streaming
from bench.peers.workloads import text as lines
from bench.peers.workloads import tfrecord as records


def jpeg(task: Task) -> Epoch:
    """ThreadPoolExecutor(processors), simplejpeg + OpenCV, np.stack, two batches ahead."""
    from bench.peers import photo

    load, pool = photo.reader(task), ThreadPoolExecutor(task.workers)

    def epoch() -> Iterator[Any]:
        loaded = ahead(pool, load, photos.paths(task), 2 * task.batch)
        return map(np.stack, batches(loaded, task.batch))

    return epoch


def tfrecord(task: Task) -> Epoch:
    """File.read of length, record and CRC in turn; google_crc32c checks each record."""

    def epoch() -> Iterator[Any]:
        found = read_records(records.path(task))
        return batches(found, task.batch) if task.batch else found

    return epoch


def read_records(path: str | Path) -> Iterator[bytes]:
    import google_crc32c

    value, number = google_crc32c.value, int.from_bytes
    with Path(path).open("rb", buffering=1 << 20) as file:
        while head := file.read(12):
            contents = file.read(number(head[:8], "little"))
            crc = value(contents)
            masked = (((crc >> 15) | (crc << 17)) + 0xA282EAD8) & 0xFFFFFFFF
            if masked != number(file.read(4), "little"):
                raise ValueError("corrupt record")
            yield contents


def jpeg_records(task: Task) -> Epoch:
    """File.read and google_crc32c per record; the rest as from files."""
    from bench.peers import photo

    load, pool = photo.decoder(task), ThreadPoolExecutor(task.workers)

    def epoch() -> Iterator[Any]:
        found = chain.from_iterable(map(read_records, jpegs.records(task)))
        return map(np.stack, batches(ahead(pool, load, found, 2 * task.batch), task.batch))

    return epoch


def stream(task: Task) -> Epoch:
    """File.read and google_crc32c per record; a list of 100,000, one drawn for each that comes."""
    return lambda: batches(drawn(read_records(streaming.path(task)), task.buffer), task.batch)


def text(task: Task) -> Epoch:
    """Lines of a file, str.split, a dict's tokens, rows copied into np.zeros."""
    table = lines.table()

    def tokens(line: str) -> list[int]:
        return [table[word] for word in line.split()]

    def epoch() -> Iterator[Any]:
        with lines.path(task).open() as file:
            yield from map(lines.padded, batches(map(tokens, file), task.batch))

    return epoch


def csv(task: Task) -> Epoch:
    """csv.reader, zip of the rows of a batch, np.array of each column."""
    kinds = (np.int64, np.float32, np.float32, np.float32, None)

    def columns(rows: list[list[str]]) -> dict[str, Any]:
        found = zip(tables.NAMES, kinds, zip(*rows, strict=True), strict=True)
        return {
            name: np.array(column, kind) if kind else list(column) for name, kind, column in found
        }

    def epoch() -> Iterator[Any]:
        with tables.path(task).open(newline="") as file:
            rows = reader(file)
            next(rows)
            yield from map(columns, batches(rows, task.batch))

    return epoch
