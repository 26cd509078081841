"""The time until worker processes return their first element."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from bench.peers.workload import Task, Workload


class WorkerStart(Workload):
    title = "Starting worker processes"
    summary = (
        "From making a pipeline with one worker process per processor until its first element, the "
        "loader being imported, and no process started before. The function needs NumPy alone. "
        "Loaders that fork start with all that the program has imported; the others import "
        "what the function needs."
    )
    unit = "ms"
    limit = "starting a Python interpreter per processor, each of which imports NumPy"
    bound = "Starting Python, and importing NumPy and penstock in each process."
    rate = False
    scale = 1e3
    cases = {"first element": {"n": 100}}
    together = True
    weighed = False

    def check(self, elements: Iterator[Any], task: Task) -> None:
        raise AssertionError("measured by the loaders")


def small(x: Any) -> Any:
    """Return a small array."""
    return np.full(4, x)


def until_first(build: Callable[[], Any]) -> float:
    """Return the seconds until the result of a build yields its first element."""
    import time

    start = time.perf_counter()
    elements = iter(build())
    next(elements)
    return time.perf_counter() - start


WORKLOAD = WorkerStart()
