"""How a parallel map scales, and what would bound it on more processors than are here.

First the speed with 1, 2, 4 ... calls, up to the processors of this machine, against one call. Then
the parts that one thread at a time does, each measured alone: the input, which the calls take in
turns; the consumer, which takes batches that are ready; the GIL, where the function is Python's;
fresh memory, for which the kernel has one lock; and memory itself, which has a limit of its own.
A part that takes 1/n of an element's work in parallel cannot feed more than n processors. Where the
parts are too small to be measured in a whole pipeline they are measured with elements of no work.

``bench/scaling.md`` makes a model of 64 processors of these numbers.
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

ROWS = 200_000  # of no work
FAR = 64  # processors of which the model speaks
BATCHES = 2000  # that are ready
COPIED = 64 << 20  # bytes, beyond any cache


def calls() -> list[int]:
    """Return the numbers of parallel calls: powers of two up to the processors."""
    return [n for n in (1, 2, 4, 8, 16, 32, 64) if n <= machine.processors()]


def names() -> ps.Dataset:
    return ps.Dataset.list_files(photos.made(PHOTOS).patterns())


def sort(row: Any) -> Any:
    return np.sort(row)


def sorting(n: int) -> ps.Dataset:
    """Return a map with a function that is without the GIL for nearly all of its time."""
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
    """Speed by the number of calls; and seconds of one processor per element of each pipeline."""
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
    """Seconds per byte of a copy between arrays that no cache holds."""
    one, other = aligned(COPIED), aligned(COPIED)
    return timed(lambda: np.copyto(one, other), COPIED)


def parts() -> dict[str, Spread]:
    """Seconds per element, or batch, of what one thread at a time does."""
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
    """Return the page faults per element of a pass behind the first one."""
    dataset = build(calls()[-1])
    drain(dataset)
    before = resource.getrusage(resource.RUSAGE_SELF).ru_minflt
    drain(dataset)
    return (resource.getrusage(resource.RUSAGE_SELF).ru_minflt - before) / units


def feeds(name: str, work: float, part: Spread, per: float, what: str) -> Figure:
    """Say how many processors a part could keep busy that takes `part` for each `per` elements."""
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
