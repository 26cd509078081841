"""Many slow readers, several of which are read concurrently."""

from __future__ import annotations

import time
from collections.abc import Iterator
from typing import Any

import numpy as np

from bench.peers.workload import Task, Workload, expect

OPEN, READ = 0.020, 0.004  # seconds


class Interleave(Workload):
    title = "Many slow readers"
    summary = (
        "48 readers of 10 items, each of which sleeps 20 ms when it is opened and 4 ms per item, "
        "16 of them at a time; single items. `even`: in a repeatable order where a loader has "
        "one. `uneven`: every fourth sleeps 4 times as long, in any order."
    )
    unit = "ms"
    limit = (
        "the critical path: the sleeps of a reader, as slept, follow each other, and 16 readers "
        "run side by side"
    )
    bound = (
        "Starting 16 readers, and waking their threads after each of their sleeps. The readers "
        "are Python generators, which share the GIL. Grain opens the next 16 readers while it "
        "reads 16, so it can take less time than the limit, which reads 16 at a time."
    )
    rate = False
    scale = 1e3
    cases = {
        case: {"readers": 48, "items": 10, "cycle": 16, "n": 480, "weight": 1 / 480}
        for case in ("even", "uneven")
    }
    tiny = {"readers": 8, "items": 2, "cycle": 4, "n": 16, "weight": 1 / 16}
    seconds = 0.6
    together = True

    def count(self, element: Any, task: Task) -> int:
        return int(np.size(element))

    def check(self, elements: Iterator[Any], task: Task) -> None:
        found = sorted(int(x) for element in elements for x in np.ravel(element))
        expect("items", found, list(range(task.n)))


def slowness(task: Task, reader: int) -> int:
    """Return how many times longer than others a reader sleeps."""
    return 4 if task.case == "uneven" and reader % 4 == 0 else 1


def seconds(task: Task, reader: int) -> float:
    """Return the total sleep of a reader."""
    return slowness(task, reader) * (OPEN + task.items * READ)


def items(task: Task, reader: int) -> Iterator[int]:
    """Yield the items of one reader."""
    reader = int(reader)
    slow = slowness(task, reader)
    time.sleep(slow * OPEN)
    for item in range(task.items):
        time.sleep(slow * READ)
        yield reader * task.items + item


WORKLOAD = Interleave()
