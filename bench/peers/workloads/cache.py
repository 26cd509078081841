"""The second epoch of a cache, in memory and in a file."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from bench.peers.workload import Task, Workload, expect
from bench.peers.workloads.shuffle import rows

__all__ = ["WORKLOAD", "rows"]


class Cache(Workload):
    title = "Cache, second epoch"
    summary = (
        "100,000 rows of 1,024 bytes, cached in memory or in a file (in the page cache), then "
        "batched by 256; the epochs after the first are timed."
    )
    unit = "GB/s"
    limit = (
        "memory: copying the rows into one batch buffer; file: read(2) into the same buffer, and "
        "one CRC-32C over each batch"
    )
    bound = (
        "In `memory`, the copy of the rows into a batch. In `file`, the kernel's copy out of its "
        "page cache, and a checksum over every block, which takes more than half as long with the "
        "processor's own instruction; plain Python reads without one."
    )
    scale = 1e9
    cases = {
        "memory": {"n": 100_000, "width": 1024, "weight": 1024, "batch": 256},
        "file": {"n": 100_000, "width": 1024, "weight": 1024, "batch": 256},
    }
    tiny = {"n": 1024}
    seconds = 0.5

    def check(self, elements: Iterator[Any], task: Task) -> None:
        number = 0
        for batch in elements:
            expect("width of a row", batch.shape[1:], (task.width,))
            expect("dtype", batch.dtype, np.dtype(np.uint8))
            found = np.ascontiguousarray(batch[:, :8]).view(np.int64)[:, 0]
            expect("rows in order", found.tolist(), list(range(number, number + len(batch))))
            number += len(batch)
        expect("rows", number, task.n)


WORKLOAD = Cache()
