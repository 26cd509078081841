"""One process of a measurement: runs in a loader's environment, and writes its results as JSON.

    python -m bench.peers.child RESULT MODULE WORKLOAD CASE...

MODULE is below `bench.peers.loaders`, or "prepare". Imports only NumPy and that loader. The first
pass is checked and not timed. Later passes over the same pipeline are timed.
"""

from __future__ import annotations

import contextlib
import importlib
import json
import os
import sys
import time
from collections.abc import Callable, Iterable, Iterator
from itertools import islice
from pathlib import Path
from typing import Any

from bench.native.build import built
from bench.peers import workloads
from bench.peers.workload import Epoch, Task, Undone, Workload

PREPARE = "prepare"  # instead of a module: write the data
SAMPLE = 0.3  # seconds between samples of the memory of worker processes
GROWTH = 64  # maximum growth of a pass per step

Build = Callable[[Task], "Epoch | float"]


def main() -> None:
    result, module, name, *cases = sys.argv[1:]
    file = Path(result)
    data = Path(os.environ["PENSTOCK_PEERS_DATA"])
    tiny = bool(os.environ.get("PENSTOCK_PEERS_TINY"))
    measured = {}
    if module == PREPARE:
        prepare(name, cases, data, file.parent, tiny)
    else:
        loader = importlib.import_module(f"bench.peers.loaders.{module}")
        measured = measure(loader, name, cases, data, file.parent, tiny)
    partial = file.with_suffix(".part")
    partial.write_text(json.dumps(measured))
    partial.rename(file)
    sys.stdout.flush()
    os._exit(0)  # threads and workers of some loaders would keep the process alive


def prepare(name: str, cases: Iterable[str], data: Path, scratch: Path, tiny: bool) -> None:
    """Write the data of a workload."""
    workload = workloads.load(name)
    for case in cases:
        task = workload.task(case, data / name, scratch, tiny)
        task.folder.mkdir(parents=True, exist_ok=True)
        workload.prepare(task)
    if workload.native and not tiny:
        with contextlib.suppress(OSError, RuntimeError):
            built(workload.native)  # without a compiler, only the limit is missing


def measure(
    loader: Any, name: str, cases: list[str], data: Path, scratch: Path, tiny: bool
) -> dict[str, dict[str, float | str]]:
    """Return the seconds per unit and the peak memory in MB of each case, or its failure."""
    workload = workloads.load(name)
    found: dict[str, dict[str, float | str]] = {}
    build: Build = getattr(loader, name)
    for number, case in enumerate(cases):
        task = workload.task(case, data / name, scratch, tiny)
        task.folder.mkdir(parents=True, exist_ok=True)
        try:
            if workload.fresh and number == 0 and not tiny:
                one_pass(workload, build, task)  # one-time setup
            found[case] = one_case(workload, build, task, getattr(loader, "as_numpy", as_numpy))
        except NotImplementedError as missing:
            found[case] = {"not offered": str(missing)}
        except Exception as error:
            found[case] = {"failed": f"{type(error).__name__}: {error}".splitlines()[0][:200]}
    return found


def one_case(
    workload: Workload, build: Build, task: Task, convert: Callable[[Any], Any]
) -> dict[str, float | str]:
    """Check one pass, then time passes for the minimum duration."""
    if workload.fresh:
        seconds = passes(workload, lambda: one_pass(workload, build, task))
        return {"seconds": seconds / task.weight, "megabytes": peak()}
    epoch = build(task)
    if isinstance(epoch, float):
        return {"seconds": epoch} | ({"megabytes": peak()} if workload.weighed else {})
    workers = Workers()
    workload.check((convert(element) for element in workers.watched(epoch())), task)
    if workload.grows:
        seconds = grown(workload, build, task, epoch)
    else:
        seconds = passes(workload, lambda: timed(workload, epoch, task))
    return {"seconds": seconds / task.weight, "megabytes": peak() + workers.megabytes}


def one_pass(workload: Workload, build: Build, task: Task) -> float:
    epoch = build(task)
    if isinstance(epoch, float):  # seconds per unit, measured by the loader itself
        return epoch * task.weight
    return timed(workload, epoch, task)


def passes(workload: Workload, one: Callable[[], float]) -> float:
    """Repeat passes for the minimum duration; return the mean seconds per element."""
    taken: list[float] = []
    start = time.perf_counter()
    while not taken or time.perf_counter() - start < workload.seconds:
        taken.append(one())
    return sum(taken) / len(taken)


def timed(workload: Workload, epoch: Epoch, task: Task) -> float:
    """Return the seconds per element of one pass."""
    skipped = 0
    start = time.perf_counter()
    elements = epoch()
    if workload.skip:
        elements = iter(elements)
        skipped = workload.take(islice(elements, workload.skip), task)
        start = time.perf_counter()
    taken = workload.take(elements, task)
    seconds = time.perf_counter() - start
    if skipped + taken != task.n:
        raise Undone(f"a pass of {task.n} elements gave {skipped + taken}")
    return seconds / taken


def grown(workload: Workload, build: Build, task: Task, epoch: Epoch) -> float:
    """Increase the length of a pass until it takes long enough; return its seconds per element."""
    while True:
        seconds = timed(workload, epoch, task) * task.n
        if seconds >= workload.seconds or task.n >= workload.grows:
            return seconds / task.n
        times = min(GROWTH, max(2, int(1.3 * workload.seconds / seconds) + 1))
        task.n = min(task.n * times, workload.grows)
        made = build(task)
        assert not isinstance(made, float)
        epoch = made


def as_numpy(element: Any) -> Any:
    """Return an element with its leaves converted to NumPy arrays."""
    import numpy as np

    if isinstance(element, dict):
        return {key: as_numpy(value) for key, value in element.items()}
    if isinstance(element, tuple):
        return tuple(map(as_numpy, element))
    if isinstance(element, bytes | list):  # records: NumPy strings would lose trailing zeros
        return element
    return np.asarray(element)


class Workers:
    """The memory of processes that a loader started."""

    def __init__(self) -> None:
        self.megabytes = 0.0  # peak over time; shared pages count proportionally

    def watched(self, elements: Iterable[Any]) -> Iterator[Any]:
        """Sample the memory regularly while elements pass."""
        last = time.perf_counter()
        for element in elements:
            yield element
            if time.perf_counter() - last > SAMPLE:
                self.look()
                last = time.perf_counter()
        self.look()

    def look(self) -> None:
        sizes = (field(f"/proc/{pid}/smaps_rollup", "Pss:") for pid in descendants(os.getpid()))
        self.megabytes = max(self.megabytes, sum(sizes))


def descendants(pid: int) -> Iterator[int]:
    """Yield all descendants of a process."""
    for file in Path(f"/proc/{pid}/task").glob("*/children"):
        try:
            found = [int(child) for child in file.read_text().split()]
        except OSError:  # the thread has just ended
            continue
        for child in found:
            yield child
            yield from descendants(child)


def peak() -> float:
    """Return the peak resident memory of this process in MB."""
    return field("/proc/self/status", "VmHWM:")


def field(file: str, name: str) -> float:
    """Return a field of a /proc file in MB; 0 if it does not exist."""
    try:
        lines = Path(file).read_text().splitlines()
    except OSError:
        return 0.0
    return next((int(line.split()[1]) for line in lines if line.startswith(name)), 0) * 1024e-6


if __name__ == "__main__":
    main()
