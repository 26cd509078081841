"""The machine's limit, pipelines that sleep."""

from __future__ import annotations

import time

from bench.peers.workload import Task
from bench.peers.workloads import interleave as readers


def latency(task: Task) -> float:
    """time.sleep for each step of the critical path, one after the other, on one thread."""
    start = time.perf_counter()
    for times, seconds in task.path:
        for _ in range(times):
            time.sleep(seconds)
    return time.perf_counter() - start


def interleave(task: Task) -> float:
    """The sleeps of one reader, in the time of all readers over 16, or of the slowest."""
    start = time.perf_counter()
    list(readers.items(task, 1))
    slept = (time.perf_counter() - start) / readers.seconds(task, 1)
    spans = [readers.seconds(task, reader) for reader in range(task.readers)]
    return slept * max(max(spans), sum(spans) / task.cycle)
