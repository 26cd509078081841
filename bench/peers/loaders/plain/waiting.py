"""plain Python, pipelines that sleep."""

from __future__ import annotations

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from queue import SimpleQueue
from typing import Any

from bench.peers.workload import Epoch, Task
from bench.peers.workloads import interleave as readers


def interleave(task: Task) -> Epoch:
    """ThreadPoolExecutor(16), a call per reader, SimpleQueue; any order."""
    pool = ThreadPoolExecutor(task.cycle)

    def epoch() -> Iterator[Any]:
        ready: SimpleQueue[Any] = SimpleQueue()

        def read(number: int) -> None:
            for item in readers.items(task, number):
                ready.put(item)

        for number in range(task.readers):
            pool.submit(read, number)
        for _ in range(task.n):
            yield ready.get()

    return epoch
