"""The machine's limit, Python functions and generators."""

from __future__ import annotations

import multiprocessing
import time
from collections.abc import Iterator
from itertools import islice
from operator import itemgetter
from typing import Any

import numpy as np

from bench.aligned import aligned
from bench.peers.workload import Epoch, Task
from bench.peers.workloads import elements as many
from bench.peers.workloads import generator as images
from bench.peers.workloads import gil as functions
from bench.peers.workloads import imports as importing

CALLS = 600  # of the functions


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


def elements(task: Task) -> Epoch:
    """zip of the parts of a batch's elements, np.array of those that are numbers."""
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
