"""Shuffling with a buffer, and batching of the result."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from bench.peers.workload import Task, Undone, Workload, expect


class Shuffle(Workload):
    title = "Shuffle"
    summary = (
        "Elements in memory, shuffled with a buffer of 100,000 (loaders that draw a whole "
        "permutation instead do so), then batched: integers by 1,024, or rows of 1,024 bytes by "
        "256. A pass includes filling the buffer."
    )
    unit = "million elements/s"
    limit = "NumPy's gather by a permutation drawn beforehand"
    bound = (
        "Drawing a number for every element, and reading and writing its slot in a buffer of "
        "100,000, which no cache holds. The limit has its order already, and gathers small "
        "integers from an array that it reads nearly in order."
    )
    scale = 1e6
    cases = {
        "integers": {"n": 250_000, "buffer": 100_000, "batch": 1024, "width": 0},
        "1 KB rows": {"n": 150_000, "buffer": 100_000, "batch": 256, "width": 1024},
    }
    tiny = {"n": 4096, "buffer": 1024}
    seconds = 0.5

    def check(self, elements: Iterator[Any], task: Task) -> None:
        found = []
        for batch in elements:
            if task.width:
                expect("width of a row", batch.shape[1:], (task.width,))
                expect("dtype", batch.dtype, np.dtype(np.uint8))
                batch = np.ascontiguousarray(batch[:, :8]).view(np.int64)[:, 0]
            if not found:
                expect("length of a batch", len(batch), task.batch)
            found.append(np.array(batch))
        order = np.concatenate(found)
        expect("all elements once", np.array_equal(np.sort(order), np.arange(task.n)), True)
        moved = float(np.mean(np.abs(order - np.arange(task.n))))
        if moved < task.buffer / 8:
            raise Undone(f"hardly shuffled: elements moved by {moved:.0f} places on the average")


def rows(task: Task) -> Any:
    """Return the rows, each with its number in its first eight bytes."""
    made = np.empty((task.n, task.width), np.uint8)
    made[:] = np.arange(task.width, dtype=np.uint8)
    made[:, :8] = np.arange(task.n).view(np.uint8).reshape(task.n, 8)
    return made


WORKLOAD = Shuffle()
