"""penstock, what it costs besides its work."""

from __future__ import annotations

from typing import Any

import penstock as ps
from bench.peers.workload import Task
from bench.peers.workloads import checkpoint as saving
from bench.peers.workloads import imports as importing
from bench.peers.workloads import install as installing


def checkpoint(task: Task) -> float:
    """range.shuffle(10000, seed).map(native, AUTOTUNE).batch(100).prefetch(2); get_state, bytes."""
    dataset = ps.Dataset.range(task.n).shuffle(task.buffer, seed=saving.SEED)
    dataset = dataset.map(ps.native(lambda x: x + 1), num_parallel_calls=ps.AUTOTUNE)
    dataset = dataset.batch(task.batch).prefetch(2)

    def restored(state: bytes) -> Any:
        iterator = iter(dataset)
        iterator.set_state(state)
        return iterator

    return saving.measured(
        task, lambda: iter(dataset), lambda iterator: iterator.get_state(), restored
    )


def imports(task: Task) -> float:
    """import penstock."""
    return importing.measured(task, "penstock")


def install(task: Task) -> float:
    """penstock, its compiled codecs included."""
    return installing.measured("penstock")
