"""A Python function of some 2 ms, which holds the GIL or releases it, on all processors."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache
from typing import Any

import numpy as np

from bench.peers.workload import Task, Workload, expect

TURNS = 40_000
NUMBERS = 300_000


class Gil(Workload):
    title = "Python functions"
    summary = (
        "map with a function of some 2 ms on as many threads or processes as there are processors "
        "(a loader that has both runs with what suits the function): a loop of pure Python, "
        "which holds the GIL all the time, and np.sort, which releases it. Results are taken one "
        "by one and timed from the second on, so that starting processes does not count."
    )
    unit = "calls/s"
    limit = "the same calls by one process per processor, forked, with no results sent back"
    bound = (
        "In `holds the GIL`, the GIL. Threads cannot run such a function twice at a time; loaders "
        "with processes can, and pay for sending what it returns. In `releases the GIL`, the two "
        "processors and their shared memory, on which both sort."
    )
    cases = {"holds the GIL": {"n": 100}, "releases the GIL": {"n": 100}}
    tiny = {"n": 6}
    seconds = 1.0
    skip = 1
    together = True
    grows = 4000

    def count(self, element: Any, task: Task) -> int:
        return int(np.size(element))

    def check(self, elements: Iterator[Any], task: Task) -> None:
        found = np.concatenate([np.ravel(element) for element in elements])
        expect("results", len(found), task.n)
        wanted = {float(function(task)(x)) for x in range(task.n)}
        expect("values", set(map(float, found)), wanted)


def function(task: Task) -> Any:
    """Return the function of a case; it takes an integer."""
    return hold if task.case == "holds the GIL" else release


def hold(x: Any) -> int:
    """Count in pure Python."""
    total = int(x) % 4
    for i in range(TURNS):
        total += i & 3
    return total


def release(x: Any) -> float:
    """Sort numbers; returns the middle one."""
    return float(np.sort(_numbers(int(x) % 4))[NUMBERS // 2])


@cache
def _numbers(seed: int) -> Any:
    return np.random.default_rng(seed).random(NUMBERS)


WORKLOAD = Gil()
