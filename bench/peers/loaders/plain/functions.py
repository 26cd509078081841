"""plain Python, Python functions and generators."""

from __future__ import annotations

import multiprocessing
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np

from bench.peers.loaders.plain.queues import batches, in_background
from bench.peers.workload import Epoch, Task
from bench.peers.workloads import elements as many
from bench.peers.workloads import generator as images
from bench.peers.workloads import gil as functions
from bench.peers.workloads import overhead as counting
from bench.peers.workloads import worker_start as starting


def overhead(task: Task) -> Epoch:
    """A plain for; a list per batch or field and np.array."""
    if task.case == "range":
        return lambda: range(task.n)
    if task.case == "map":
        function = lambda x: x + 1  # noqa: E731 - as the loaders get it
        return lambda: map(np.array, batches(map(function, range(task.n)), task.batch))
    return lambda: map(collated, batches(map(counting.record, range(task.n)), task.batch))


def collated(rows: list[dict[str, Any]]) -> dict[str, Any]:
    return {name: np.array([row[name] for row in rows]) for name in rows[0]}


def generator(task: Task) -> Epoch:
    """np.stack in a thread, queue.Queue(2)."""

    def epoch() -> Iterator[Any]:
        stacked = map(np.stack, batches(images.generate(task.n), task.batch))
        return in_background(stacked, 2)

    return epoch


def gil(task: Task) -> Epoch:
    """Holds: multiprocessing.Pool(processors).imap, chunks of 4 (5 us: 256); releases: threads."""
    function = functions.function(task)
    if not functions.holds(task):
        threads = ThreadPoolExecutor(task.workers)
        return lambda: threads.map(function, range(task.n))
    processes = multiprocessing.Pool(task.workers)
    chunk = 256 if task.case == functions.IS_QUICK else 4
    return lambda: processes.imap(function, range(task.n), chunk)


def worker_start(task: Task) -> float:
    """multiprocessing.Pool(processors).imap, forked."""
    return starting.until_first(
        lambda: multiprocessing.Pool(task.workers).imap(starting.small, range(task.n))
    )


def elements(task: Task) -> Epoch:
    """A list per batch, and per leaf a list of strings or np.array of numbers."""
    return lambda: map(many.columns, batches(many.generate(task), task.batch))
