"""The time until the first batch, and the fixed cost of each epoch."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from bench.peers.workload import Task, Workload, expect

SIDE = 28


class Start(Workload):
    title = "Starting"
    summary = (
        "Images of 28 x 28 in memory, shuffled, scaled to float32 by a function on all processors, "
        "in batches of 64, two of them ahead. `first batch`: making the pipeline over 1,024 images "
        "and taking its first batch, the loader being imported and warm. `next epoch`: a whole "
        "pass of 256 images over a pipeline that has been passed over before."
    )
    unit = "ms"
    limit = "the same batches by NumPy: a permutation, a gather and a division"
    bound = "Starting threads and filling the first batch, before anything can overlap."
    rate = False
    scale = 1e3
    cases = {
        "first batch": {"rows": 1024, "n": 64, "weight": 1 / 64, "batch": 64},
        "next epoch": {"rows": 256, "n": 256, "weight": 1 / 256, "batch": 64},
    }
    seconds = 0.5
    together = True

    def check(self, elements: Iterator[Any], task: Task) -> None:
        seen: set[int] = set()
        for batch in elements:
            expect("shape and dtype", (batch.shape, batch.dtype), (SHAPE, np.dtype(np.float32)))
            numbers = (batch[:, 0, 0] * 255).round() * 256 + (batch[:, 0, 1] * 255).round()
            seen.update(numbers.astype(int).tolist())
        expect("different images", len(seen), task.n)
        expect("known images", seen <= set(range(task.rows)), True)


SHAPE = (64, SIDE, SIDE)


def images(task: Task) -> Any:
    """Return the images; the first two pixels of each encode its number."""
    found = np.zeros((task.rows, SIDE, SIDE), np.uint8)
    found[:, 0, 0], found[:, 0, 1] = np.divmod(np.arange(task.rows), 256)
    return found


def scaled(image: Any) -> Any:
    """Return the pixels scaled to 0..1."""
    return image.astype(np.float32) / np.float32(255)


WORKLOAD = Start()
