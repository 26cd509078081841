"""Arrays in memory, fully shuffled and batched: an epoch of a small data set."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache
from typing import Any

import numpy as np

from bench.peers.workload import Task, Undone, Workload, expect


class Slices(Workload):
    title = "Slices of arrays"
    summary = (
        "Arrays in memory, all of their rows shuffled again in each pass, and batched. `images`: "
        "60,000 of 28 x 28 uint8 with a label. `table`: 200,000 rows of 32 float32 with a target. "
        "`embeddings`: 100,000 rows of 256 float32. `scalars`: a million int64."
    )
    unit = "million rows/s"
    limit = "a permutation drawn for each pass, and NumPy's gather by it into buffers used again"
    bound = (
        "Reading rows from random addresses of memory. The limit does the same with NumPy, into "
        "memory that is reused. Drawing the order costs penstock about as much as a permutation "
        "costs NumPy."
    )
    scale = 1e6
    cases = {
        "images": {"n": 60_000, "batch": 128},
        "table": {"n": 200_000, "batch": 256},
        "embeddings": {"n": 100_000, "batch": 256},
        "scalars": {"n": 1_000_000, "batch": 1024},
    }
    tiny = {"n": 4096}
    seconds = 0.5

    def count(self, element: Any, task: Task) -> int:
        return len(parts(element)[-1])

    def check(self, elements: Iterator[Any], task: Task) -> None:
        wanted = arrays(task)
        found = []
        for batch in elements:
            got = tuple(map(np.asarray, parts(batch)))
            order = got[-1] if got[-1].ndim == 1 else got[-1][:, 0]
            order = order.astype(np.int64)
            if not found:
                expect("length of a batch", len(order), task.batch)
                expect("dtypes", [g.dtype for g in got], [w.dtype for w in wanted])
            if not all(np.array_equal(g, w[order]) for g, w in zip(got, wanted, strict=True)):
                raise Undone(f"rows near element {len(found) * task.batch} are not the data's")
            found.append(order)
        places = np.concatenate(found)
        expect("all rows once", np.array_equal(np.sort(places), np.arange(task.n)), True)
        moved = float(np.mean(np.abs(places - np.arange(task.n))))
        if moved < task.n / 6:  # a permutation moves each by n / 3 on average
            raise Undone(f"hardly shuffled: rows moved by {moved:.0f} places on the average")


def arrays(task: Task) -> tuple[Any, ...]:
    """Return the arrays; the first column of the last one contains the row numbers."""
    return _made(task.case, task.n)


@cache  # shared by the check and the loader, so that the peak memory is the loader's
def _made(case: str, n: int) -> tuple[Any, ...]:
    numbers = np.arange(n)
    if case == "images":
        pixels = numbers.astype(np.uint8)[:, None] + np.arange(784).astype(np.uint8)
        return pixels.reshape(n, 28, 28), numbers
    if case == "scalars":
        return (numbers,)
    width = 32 if case == "table" else 256
    rows = np.arange(width, dtype=np.float32) + numbers[:, None].astype(np.float32)
    return (rows, numbers.astype(np.float32)) if case == "table" else (rows,)


def values(task: Task) -> Any:
    """Return the arrays in the form that loaders take: a tuple, or one array."""
    found = arrays(task)
    return found if len(found) > 1 else found[0]


def parts(element: Any) -> Any:
    """Return the arrays of a batch."""
    return element if isinstance(element, tuple | list) else (element,)


WORKLOAD = Slices()
