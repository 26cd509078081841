"""penstock with worker processes."""

from __future__ import annotations

import penstock as ps
from bench.peers.workload import Epoch, Task
from bench.peers.workloads import gil as functions
from bench.peers.workloads import worker_start as starting


def gil(task: Task) -> Epoch:
    """range.map(function, num_parallel_calls=processors, executor="process")."""
    dataset = ps.Dataset.range(task.n).map(
        functions.function(task), num_parallel_calls=task.workers, executor="process"
    )
    return lambda: dataset


def worker_start(task: Task) -> float:
    """range.map(function, num_parallel_calls=processors, executor="process")."""
    numbers = ps.Dataset.range(task.n)
    return starting.until_first(
        lambda: numbers.map(starting.small, num_parallel_calls=task.workers, executor="process")
    )
