"""The cost per element of a function that runs without Python."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from bench.peers.workload import Task, Workload, expect


class Compiled(Workload):
    title = "Compiled functions"
    summary = (
        "x + 1 on each integer of a range, in the loader's own language of functions that run "
        "without Python, then batches of 256."
    )
    unit = "ns per element"
    limit = "NumPy on whole batches: np.arange(start, start + 256) + 1"
    bound = (
        "The cost of a batch, not of an element: its memory, and the Python object that is handed "
        "out. The sum itself runs over thousands of integers at a time."
    )
    rate = False
    scale = 1e9
    cases = {"x + 1": {"n": 4096, "batch": 256}}
    tiny = {"n": 512}
    seconds = 0.5
    grows = 1 << 24

    def check(self, elements: Iterator[Any], task: Task) -> None:
        found = list(elements)
        expect("length of a batch", len(found[0]), task.batch)
        expect("values", np.array_equal(np.concatenate(found), np.arange(1, task.n + 1)), True)


WORKLOAD = Compiled()
