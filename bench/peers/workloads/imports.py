"""The import time of a loader, in fresh processes."""

from __future__ import annotations

import subprocess
import sys
from collections.abc import Iterator
from typing import Any

from bench.peers.workload import Task, Workload

CODE = "import time; t = time.perf_counter(); import {}; print(time.perf_counter() - t)"


class Imports(Workload):
    title = "Import"
    summary = (
        "The first import of what a program needs of the loader in a fresh process, its files in "
        "the page cache and compiled; NumPy is in all of them."
    )
    unit = "ms"
    limit = "importing NumPy alone"
    bound = "Importing NumPy. penstock adds its own modules and the loading of one extension."
    rate = False
    weighed = False
    scale = 1e3
    cases = {"import": {"n": 1, "times": 3}}
    tiny = {"times": 1}

    def check(self, elements: Iterator[Any], task: Task) -> None:
        """Do nothing: a process whose import fails raises."""


def measured(task: Task, modules: str) -> float:
    """Return the minimum seconds of `import modules` in several processes, after an untimed one."""
    command = [sys.executable, "-c", CODE.format(modules)]
    found = []
    for _ in range(1 + task.times):
        run = subprocess.run(command, check=True, capture_output=True, text=True)
        found.append(float(run.stdout.split()[-1]))
    return min(found[1:])


WORKLOAD = Imports()
