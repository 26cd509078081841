"""penstock's DataLoader with worker processes."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import penstock as ps
from bench.peers.workload import Epoch, Task
from bench.peers.workloads import gil as functions
from bench.peers.workloads import same_class as classes
from bench.peers.workloads import worker_start as starting


class Mapped:
    """A map-style dataset: a function of the items of a sequence."""

    def __init__(self, items: Any, function: Callable[[Any], Any]) -> None:
        self.items = items
        self.function = function

    def __len__(self) -> int:
        return len(self.items)

    def __getitem__(self, place: int) -> Any:
        return self.function(self.items[place])


def gil(task: Task) -> Epoch:
    """worker_method="process", one per processor, persistent; single results."""
    dataset = Mapped(range(task.n), functions.function(task))
    loader = ps.DataLoader(
        dataset,
        batch_size=None,
        num_workers=task.workers,
        persistent_workers=True,
        worker_method="process",
    )
    return lambda: loader


def worker_start(task: Task) -> float:
    """worker_method="process", one per processor; single results."""
    dataset = Mapped(range(task.n), starting.small)
    return starting.until_first(
        lambda: ps.DataLoader(
            dataset, batch_size=None, num_workers=task.workers, worker_method="process"
        )
    )


def same_class(task: Task) -> Epoch:
    """worker_method="process", one per processor, persistent."""
    loader = ps.DataLoader(
        classes.samples(task),
        task.batch,
        num_workers=task.workers,
        persistent_workers=True,
        worker_method="process",
    )
    return lambda: loader
