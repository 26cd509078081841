"""The machine's limit, Python functions and generators."""

from __future__ import annotations

import multiprocessing
import subprocess
import sys
import time
from collections import deque
from collections.abc import Callable, Iterator
from itertools import islice, repeat
from operator import itemgetter
from typing import Any

import numpy as np

from bench.aligned import aligned
from bench.peers.workload import Epoch, Task
from bench.peers.workloads import elements as many
from bench.peers.workloads import generator as images
from bench.peers.workloads import gil as functions
from bench.peers.workloads import imports as importing
from bench.peers.workloads import overhead as counting

CALLS = 600  # of the functions


def overhead(task: Task) -> Epoch:
    """range: a plain for; else the function, called on one NumPy scalar, its results dropped."""
    if task.case == "range":
        return lambda: range(task.n)
    function = counting.record if task.case == "dict" else lambda x: x + 1
    return lambda: called(function, task)


def called(function: Callable[[Any], Any], task: Task) -> Iterator[Any]:
    scalar = np.int64(1)
    for start in range(0, task.n, task.batch):
        rows = np.arange(start, min(start + task.batch, task.n))
        deque(map(function, repeat(scalar, len(rows))), maxlen=0)
        yield function(rows)


def compiled(task: Task) -> Epoch:
    """np.arange(start, start + 256) + 1 for each batch."""
    return lambda: (
        np.arange(start, min(start + task.batch, task.n)) + 1
        for start in range(0, task.n, task.batch)
    )


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
    calls = CALLS * 100 if task.case == functions.IS_QUICK else CALLS
    for x in range(4):
        function(x)  # inputs that the processes share
    fork = multiprocessing.get_context("fork")
    begin = fork.Barrier(task.workers + 1)

    def share(number: int) -> None:
        begin.wait()
        for x in range(number, calls, task.workers):
            function(x)

    started = [fork.Process(target=share, args=(number,)) for number in range(task.workers)]
    for process in started:
        process.start()
    begin.wait()
    start = time.perf_counter()
    for process in started:
        process.join()
    return (time.perf_counter() - start) / calls


def worker_start(task: Task) -> float:
    """sys.executable -c "import numpy", one per processor."""
    start = time.perf_counter()
    command = [sys.executable, "-c", "import numpy"]
    for process in [subprocess.Popen(command) for _ in range(task.workers)]:
        process.wait()
    return time.perf_counter() - start


def elements(task: Task) -> Epoch:
    """zip of the leaves of a batch's elements, np.array of those that are numbers."""
    parts = stringed if task.case == "strings" else nested

    def epoch() -> Iterator[Any]:
        source = many.generate(task)
        while rows := list(islice(source, task.batch)):
            yield parts(rows)

    return epoch


def stringed(rows: list[Any]) -> dict[str, list[str]]:
    columns = zip(*map(itemgetter(*many.FIELDS), rows), strict=True)
    return dict(zip(many.FIELDS, map(list, columns), strict=True))


def nested(rows: list[Any]) -> dict[str, Any]:
    flat = ((r["id"], *r["size"], r["part"]["place"], r["part"]["weight"]) for r in rows)
    number, height, width, place, weight = map(np.array, zip(*flat, strict=True))
    return {"id": number, "size": (height, width), "part": {"place": place, "weight": weight}}


def imports(task: Task) -> float:
    """import numpy."""
    return importing.measured(task, "numpy")
