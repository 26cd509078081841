"""A Python function that holds or releases the GIL, on all CPUs."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache
from typing import Any

import numpy as np

from bench.peers.workload import Task, Workload, expect

TURNS = 40_000  # about 2 ms
FEW_TURNS = 100  # about 5 us
NUMBERS = 300_000
LARGE = 75_000  # of float64: 600 kB

RELEASES = "releases the GIL"
RETURNS_MUCH = "holds the GIL, returns 600 kB"
IS_QUICK = "holds the GIL, 5 us"


class Gil(Workload):
    title = "Python functions"
    summary = (
        "map with a function of some 2 ms on as many threads or processes as there are processors "
        "(a loader that has both runs with what suits the function): a loop of pure Python, "
        "which holds the GIL all the time, and np.sort, which releases it. The loop returns a "
        "number, or an array of 600 kB; a short one takes 5 microseconds. Results are taken one "
        "by one and timed from the second on, so that starting processes does not count. penstock "
        "has a row for each of its forms: map in threads, map in processes, and its DataLoader in "
        "processes."
    )
    unit = "calls/s"
    limit = "the same calls by one process per processor, forked, with no results sent back"
    bound = (
        "In `holds the GIL`, the GIL. Threads cannot run such a function twice at a time; loaders "
        "with processes can, and pay for sending what it returns. In `releases the GIL`, the two "
        "processors and their shared memory, on which both sort."
    )
    cases = {
        "holds the GIL": {"n": 100},
        RETURNS_MUCH: {"n": 100},
        IS_QUICK: {"n": 1000},
        RELEASES: {"n": 100},
    }
    tiny = {"n": 6}
    seconds = 1.0
    skip = 1
    together = True
    grows = 400_000

    def count(self, element: Any, task: Task) -> int:
        return 1

    def check(self, elements: Iterator[Any], task: Task) -> None:
        found = [float(np.ravel(element)[0]) for element in elements]
        expect("results", len(found), task.n)
        wanted = {float(np.ravel(function(task)(x))[0]) for x in range(task.n)}
        expect("values", set(found), wanted)


def holds(task: Task) -> bool:
    """Return whether the function of a case holds the GIL."""
    return bool(task.case != RELEASES)


def function(task: Task) -> Any:
    """Return the function of a case; it takes an integer."""
    return {RELEASES: release, RETURNS_MUCH: hold_and_fill, IS_QUICK: hold_shortly}.get(
        task.case, hold
    )


def hold(x: Any) -> int:
    """Count in pure Python."""
    return _counted(int(x), TURNS)


def hold_shortly(x: Any) -> int:
    """Count in pure Python for a few microseconds."""
    return _counted(int(x), FEW_TURNS)


def hold_and_fill(x: Any) -> Any:
    """Count in pure Python; returns an array."""
    return np.full(LARGE, _counted(int(x), TURNS), np.float64)


def release(x: Any) -> float:
    """Sort numbers; return the median."""
    return float(np.sort(_numbers(int(x) % 4))[NUMBERS // 2])


def _counted(x: int, turns: int) -> int:
    total = x % 4
    for i in range(turns):
        total += i & 3
    return total


@cache
def _numbers(seed: int) -> Any:
    return np.random.default_rng(seed).random(NUMBERS)


WORKLOAD = Gil()
