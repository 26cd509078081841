"""The scaling of a parallel map, and its bottlenecks with more CPUs than this machine has.

The first part measures the speed with 1, 2, 4 ... calls, up to the number of CPUs, relative to one
call. The second part measures each serial resource alone: the input, which the calls read
alternately; the consumer, which takes ready batches; the GIL, for Python functions; fresh memory,
which the kernel allocates under one lock; and the memory bandwidth. A part that takes 1/n of an
element's parallel work cannot feed more than n CPUs. Parts too small to measure in a whole pipeline
are measured with elements without work.

``bench/scaling.md`` uses these numbers to model 64 CPUs.
"""

from __future__ import annotations

import resource
from collections.abc import Callable
from typing import Any

import numpy as np

import penstock as ps
from bench import machine
from bench.aligned import aligned
from bench.pipelines.jpeg import BATCH, PHOTOS, SIDE, native, native_bytes
from bench.pipelines.measure import Case, Figure, Spread, drain, interleaved, main, timed
from penstock.demo import photos

ROWS = 200_000  # without work
FAR = 64  # CPUs in the model
BATCHES = 2000  # ready batches
COPIED = 64 << 20  # bytes, larger than any cache


def calls() -> list[int]:
    """Return the numbers of parallel calls: powers of two up to the number of CPUs."""
    return [n for n in (1, 2, 4, 8, 16, 32, 64) if n <= machine.processors()]


def names() -> ps.Dataset:
    return ps.Dataset.list_files(photos.made(PHOTOS).patterns())


def sort(row: Any) -> Any:
    return np.sort(row)


def sorting(n: int) -> ps.Dataset:
    """Return a map with a function that releases the GIL for almost all of its time."""
    rows = np.random.default_rng(1).random((24, 150_000))
    slices = ps.Dataset.from_tensor_slices(rows).repeat(8)
    return slices.map(sort, num_parallel_calls=n)


PIPELINES: dict[str, tuple[Callable[[int], ps.Dataset], int]] = {
    "photos, uint8": (
        lambda n: names().map(native_bytes, num_parallel_calls=n).batch(BATCH).prefetch(2),
        PHOTOS,
    ),
    "photos, float32": (
        lambda n: names().map(native, num_parallel_calls=n).batch(BATCH).prefetch(2),
        PHOTOS,
    ),
    "np.sort of 150,000 numbers": (sorting, 24 * 8),
}


def scales() -> tuple[list[Figure], dict[str, float]]:
    """Measure the speed by number of calls; also return each pipeline's CPU seconds per element."""
    figures, work = [], {}
    for name, (build, units) in PIPELINES.items():
        cases: dict[str, Case] = {}
        for n in calls():
            dataset = build(n)
            cases[str(n)] = timed(lambda dataset=dataset: drain(dataset), units)
        rounds = interleaved(cases, repeats=5)
        work[name] = rounds.seconds("1").median
        for n in calls()[1:]:
            figures.append(
                Figure(
                    f"{name}: {n} calls, speed / {n} times that of one",
                    rounds.ratio("1", str(n)).scaled(100 / n),
                    "%",
                    note=f"{rounds.seconds(str(n)).median * 1e6:.0f} against "
                    f"{work[name] * 1e6:.0f} us per element",
                )
            )
    return figures, work


def copying() -> Case:
    """Return a case of copying between arrays larger than any cache, in seconds per byte."""
    one, other = aligned(COPIED), aligned(COPIED)
    return timed(lambda: np.copyto(one, other), COPIED)


def parts() -> dict[str, Spread]:
    """Return the seconds per element, or batch, of the serial parts."""
    plus = ps.native(lambda x: x + 1)
    numbers = ps.Dataset.range(ROWS)
    ready = ps.Dataset.from_tensors(np.zeros((BATCH, 4), np.float32)).repeat(BATCHES)
    passes: dict[str, tuple[ps.Dataset, int]] = {
        "names": (names().batch(BATCH), PHOTOS),
        "rows": (numbers.batch(BATCH), ROWS),
        "call": (numbers.map(plus, num_parallel_calls=1).batch(BATCH), ROWS),
        "python": (numbers.map(lambda x: x, num_parallel_calls=1).batch(BATCH), ROWS),
        "ready": (ready.prefetch(2), BATCHES),
    }
    cases = {case: timed(lambda it=it: drain(it), units) for case, (it, units) in passes.items()}
    cases["copy"] = copying()
    rounds = interleaved(cases, repeats=5)
    return {case: rounds.seconds(case) for case in cases}


def faults(build: Callable[[int], ps.Dataset], units: int) -> float:
    """Return the page faults per element of a pass after the first one."""
    dataset = build(calls()[-1])
    drain(dataset)
    before = resource.getrusage(resource.RUSAGE_SELF).ru_minflt
    drain(dataset)
    return (resource.getrusage(resource.RUSAGE_SELF).ru_minflt - before) / units


def feeds(name: str, work: float, part: Spread, per: float, what: str) -> Figure:
    """Return how many CPUs a part could keep busy that takes `part` for every `per` elements."""
    return Figure(
        f"{name}: processors that {what} could keep busy",
        Spread.of(work * per / seconds for seconds in (part.low, part.median, part.high)),
        "processors",
        at_least=FAR,
        note=f"{part.median * 1e6:.2f} us for every {work * per * 1e6:.0f} us of work",
    )


def run() -> list[Figure]:
    figures, work = scales()
    part = parts()
    for name, (build, units) in PIPELINES.items():
        if name.startswith("photos"):
            figures.append(feeds(name, work[name], part["names"], 1, "the input"))
            figures.append(feeds(name, work[name], part["ready"], BATCH, "the consumer"))
            item = 4 if "float32" in name else 1
            moved = 2 * SIDE * SIDE * 3 * item  # written by the call, read by the consumer
            copied = part["copy"].scaled(moved / 2)  # a copy reads and writes each byte
            figures.append(feeds(name, work[name], copied, 1, "memory, with one core's copying,"))
        else:
            figures.append(feeds(name, work[name], part["rows"], 1, "the input"))
            figures.append(feeds(name, work[name], part["python"], 1, "the GIL"))
        figures.append(
            Figure(
                f"{name}: page faults per element",
                Spread.of([faults(build, units)]),
                "faults",
            )
        )
    figures.append(
        Figure(
            "an element of no work through a parallel map",
            Spread.of(
                [1e9 * (part["call"].median - part["rows"].median)],
            ),
            "ns",
            note="taking it in turn, its number, its place in order; by blocks",
        )
    )
    return figures


if __name__ == "__main__":
    main(run, __doc__)
