"""The overhead of a loader per element when there is almost no work."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

import numpy as np

from bench.peers.workload import Task, Workload, expect

START = 4096


class Overhead(Workload):
    title = "Overhead per element"
    summary = (
        "`range`: integers, taken one by one by a Python loop. `map`: a function x + 1 on each "
        "integer, then batches of 256. `dict`: a function that makes three small values of each "
        "integer, then batches of 256. Functions are in the loader's own language (tf.data's are "
        "graphs), Python's where it has none."
    )
    unit = "ns per element"
    limit = (
        "range: a plain Python loop; else calls of the function on an existing NumPy scalar, and "
        "nothing else: no values are made of the integers, and none are collected"
    )
    bound = (
        "In `range`, the program's own loop, which makes and drops an integer for each element. "
        "In `map` and `dict`, the calls of the Python function. As in tf.data it receives scalars "
        "with a dtype, and Python calculates more slowly with those than with the integers that "
        "plain Python passes. So the limit, which only calls, takes at least as long as plain "
        "Python's whole loop. penstock makes each scalar in the memory of the previous one, and "
        "writes each returned value into a column."
    )
    rate = False
    scale = 1e9
    cases = {
        "range": {"n": START, "batch": 0},
        "map": {"n": START, "batch": 256},
        "dict": {"n": START, "batch": 256},
    }
    tiny = {"n": 512}
    seconds = 0.5
    together = True
    grows = 1 << 24

    def count(self, element: Any, task: Task) -> int:
        if isinstance(element, dict):
            return len(element["id"])
        return len(element)

    def take(self, elements: Iterable[Any], task: Task) -> int:
        if task.case != "range":
            return super().take(elements, task)
        last = -1
        for last in elements:  # noqa: B007 - the loop body must be empty
            pass
        return int(last) + 1

    def check(self, elements: Iterator[Any], task: Task) -> None:
        wanted = np.arange(task.n)
        if task.case == "range":
            expect("elements", [int(x) for x in elements], wanted.tolist())
        elif task.case == "map":
            found = list(elements)
            expect("length of a batch", len(found[0]), task.batch)
            expect("values", np.concatenate(found).tolist(), (wanted + 1).tolist())
        else:
            found = list(elements)
            expect("length of a batch", len(found[0]["id"]), task.batch)
            for name, values in record(wanted).items():
                expect(name, np.concatenate([b[name] for b in found]).tolist(), values.tolist())


def record(x: Any) -> dict[str, Any]:
    """Return the three values of the case `dict`."""
    return {"id": x, "half": x / 2, "square": x * x}


WORKLOAD = Overhead()
