"""What the machine can do: loops without any pipeline."""

from __future__ import annotations

import json
import multiprocessing
import subprocess
import time
from collections.abc import Iterator
from itertools import islice
from pathlib import Path
from typing import Any

import google_crc32c
import numpy as np

from bench.aligned import aligned
from bench.native.build import built
from bench.peers.workload import Epoch, Task
from bench.peers.workloads import cache as caching
from bench.peers.workloads import generator as images
from bench.peers.workloads import gil as functions
from bench.peers.workloads import jpeg as photos
from bench.peers.workloads import parse as examples
from bench.peers.workloads import shuffle as shuffling
from bench.peers.workloads import tfrecord as records

BLOCK = 1 << 20
SECONDS = 0.6  # of the loop over records
CALLS = 600  # of the functions


def jpeg(task: Task) -> float:
    """bench/native's jpeg_loop: its reading and decoding passes on all processors."""
    folder = Path(photos.paths(task)[0]).parent
    command = [built("jpeg_loop"), folder, "--threads", str(task.workers), "--seconds", "1.5"]
    run = subprocess.run(command, check=True, capture_output=True, text=True)
    found = json.loads(run.stdout)
    rates, passes = found["images_per_second"], found["microseconds_per_image"]
    together = rates[str(task.workers)] / rates["1"]
    return 1e-6 * (passes["read"] + passes["decode"]) / together


def overhead(task: Task) -> Epoch:
    """range: a plain for; map: np.fromiter over map; dict: a list of tuples, np.array of each."""
    if task.case == "range":
        return lambda: range(task.n)
    return (lambda: mapped(task)) if task.case == "map" else (lambda: recorded(task))


def mapped(task: Task) -> Iterator[Any]:
    results = map(lambda x: x + 1, range(task.n))  # noqa: C417 - a function that is called
    while len(batch := np.fromiter(islice(results, task.batch), np.int64)):
        yield batch


def recorded(task: Task) -> Iterator[Any]:
    kinds = {"id": np.int64, "half": np.float64, "square": np.int64}
    for start in range(0, task.n, task.batch):
        made = [(x, x / 2, x * x) for x in range(start, min(start + task.batch, task.n))]
        columns = zip(*made, strict=True)
        yield {
            name: np.array(column, kinds[name]) for name, column in zip(kinds, columns, strict=True)
        }


def tfrecord(task: Task) -> float:
    """read(2) of 1 MB blocks into one buffer, google_crc32c.value of each."""
    return read(records.path(task)) / (task.n * task.weight)


def parse(task: Task) -> float:
    """read(2) of 1 MB blocks into one buffer, google_crc32c.value of each."""
    return read(examples.path(task)) / task.n


def read(path: Path) -> float:
    buffer = aligned(BLOCK)
    passes = 0
    start = time.perf_counter()
    while (passed := time.perf_counter() - start) < SECONDS or not passes:
        with path.open("rb", buffering=0) as file:
            while got := file.readinto(buffer.data):
                google_crc32c.value(buffer[:got])
        passes += 1
    return passed / passes


def shuffle(task: Task) -> Epoch:
    """values[order[i : i + batch]], with the permutation drawn before."""
    values = shuffling.rows(task) if task.width else np.arange(task.n)
    order = np.random.default_rng(1).permutation(task.n)

    def epoch() -> Iterator[Any]:
        for start in range(0, task.n, task.batch):
            yield values[order[start : start + task.batch]]

    return epoch


def generator(task: Task) -> Epoch:
    """np.copyto of each image into a row of one of three batch buffers."""
    buffers = aligned(3, task.batch, *images.IMAGE)

    def epoch() -> Iterator[Any]:
        source = images.generate(task.n)
        for number in range(task.n // task.batch):
            batch = buffers[number % 3]
            for row in batch:
                np.copyto(row, next(source))
            yield batch

    return epoch


def gil(task: Task) -> float:
    """One forked process per processor, each with its share of the calls."""
    function = functions.function(task)
    for x in range(4):
        function(x)  # inputs that the processes share
    fork = multiprocessing.get_context("fork")
    begin = fork.Barrier(task.workers + 1)

    def share(number: int) -> None:
        begin.wait()
        for x in range(number, CALLS, task.workers):
            function(x)

    started = [fork.Process(target=share, args=(number,)) for number in range(task.workers)]
    for process in started:
        process.start()
    begin.wait()
    start = time.perf_counter()
    for process in started:
        process.join()
    return (time.perf_counter() - start) / CALLS


def cache(task: Task) -> Epoch:
    """Copies of 256 rows into one buffer; or read(2) into it."""
    values = caching.rows(task)
    buffer = aligned(task.batch, task.width)

    def copied() -> Iterator[Any]:
        for start in range(0, task.n, task.batch):
            rows = values[start : start + task.batch]
            np.copyto(buffer[: len(rows)], rows)
            yield buffer[: len(rows)]

    def read() -> Iterator[Any]:
        with file.open("rb", buffering=0) as source:
            while got := source.readinto(buffer.data):
                yield buffer[: got // task.width]

    if task.case == "memory":
        return copied
    file = task.scratch / "rows"
    values.tofile(file)
    return read
