"""The cost of running ahead where it cannot help, and its gain where it can.

The same pipeline with ``prefetch`` or parallel calls, and without. Functions take from 5
nanoseconds to 10 milliseconds. Consumers take batches without delay, or compute for 100
microseconds or 10 milliseconds between them. A ratio above 1 is a loss. ``--plot FILE`` draws the
ratios (needs matplotlib).
"""

from __future__ import annotations

import math
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np

import penstock as ps
from bench.pipelines.measure import Case, Figure, interleaved, main

REPEATS = 5
SECONDS = 0.25  # approximate duration of a timing
# Lengths of the array that the function sums. 0 and 1 select the functions in `QUICK`, which
# compute with the element number instead.
ITEMS = (0, 1, 400, 4_000, 40_000, 400_000, 4_000_000)
QUICK: dict[int, Callable[[Any], Any]] = {0: lambda x: x + 1, 1: lambda x: (x * x + 1) % 7}
USES = {"at once": 0.0, "100 us": 1e-4, "10 ms": 1e-2}
WAYS: dict[str, tuple[int | None, int | None]] = {  # parallel calls, elements ahead
    "prefetch(1)": (None, 1),
    "prefetch(2)": (None, 2),
    "prefetch(8)": (None, 8),
    "prefetch(AUTOTUNE)": (None, ps.AUTOTUNE),
    "num_parallel_calls=2": (2, None),
    "num_parallel_calls=AUTOTUNE": (ps.AUTOTUNE, None),
}
AT_MOST = 1.05

Build = Callable[[int | None, int | None], ps.Dataset]


def pipeline(items: int, batch: int) -> Build:
    row = np.ones(items, np.float32)

    quick = QUICK.get(items)
    work = ps.native(quick or (lambda x: x.sum()))

    def build(calls: int | None, ahead: int | None) -> ps.Dataset:
        source = ps.Dataset.range(10**12) if quick else ps.Dataset.from_tensors(row).repeat()
        ds = source.map(work, num_parallel_calls=calls).batch(batch)
        return ds if ahead is None else ds.prefetch(ahead)

    return build


def take(it: Iterator[Any], batches: int, use: float) -> float:
    """Return the seconds for this many batches, with the consumer computing between them."""
    start = time.perf_counter()
    for _ in range(batches):
        next(it)
        if use:
            end = time.perf_counter() + use
            while time.perf_counter() < end:
                pass
    return time.perf_counter() - start


def figures(items: int, use_name: str) -> Iterator[Figure]:
    use = USES[use_name]
    with iter(pipeline(items, 1)(None, None)) as it:
        take(it, 20, 0)
        each = take(it, 20, 0) / 20  # seconds per unbatched element
    batch = min(256, max(1, round(1e-3 / each)))
    build = pipeline(items, batch)
    with iter(build(None, None)) as it:
        take(it, 20, 0)
        both = take(it, 20, 0) / 20 + use
    batches = max(3, math.ceil(SECONDS / both))

    def case(calls: int | None, ahead: int | None) -> Case:
        def timed() -> float:
            with iter(build(calls, ahead)) as it:
                return take(it, batches, use) / batches

        return timed

    cases = {"without": case(None, None)}
    cases |= {name: case(calls, ahead) for name, (calls, ahead) in WAYS.items()}
    rounds = interleaved(cases, REPEATS)
    alone = rounds.seconds("without").median
    cost = f"{(alone - use) / batch * 1e9:,.0f} ns an element, used {use_name}"
    for name in WAYS:
        took = rounds.seconds(name).median
        note = f"batches of {batch}: {took * 1e6:,.0f} us, without {alone * 1e6:,.0f} us"
        ratio = rounds.ratio(name, "without")
        yield Figure(f"{cost}: {name}", ratio, "x", at_most=AT_MOST, note=note)


def run() -> list[Figure]:
    return [figure for items in ITEMS for use in USES for figure in figures(items, use)]


def plot(found: list[Figure], file: Path) -> None:
    """Draw a panel for each consumer: the time of each variant by the cost of an element."""
    import matplotlib.pyplot as plt

    fig, axes = plt.subplots(1, len(USES), figsize=(13, 4), sharey=True)
    for ax, use in zip(axes, USES, strict=True):
        for way in WAYS:
            points = []
            for figure in found:
                cost, used = figure.name.removesuffix(f": {way}").split(" ns an element, used ")
                if used == use:
                    points.append((float(cost.replace(",", "")), figure.value.median))
            ax.plot(*zip(*sorted(points), strict=True), marker="o", label=way)
        ax.axhline(1, color="gray", linewidth=0.8)
        ax.set(xscale="log", title=f"batches used {use}", xlabel="ns an element, without")
    axes[0].set_ylabel("time, relative to without")
    axes[-1].legend(fontsize="small")
    fig.tight_layout()
    fig.savefig(file)


def _run_and_plot(file: Path) -> list[Figure]:
    found = run()
    plot(found, file)
    return found


if __name__ == "__main__":
    drawn = None
    if "--plot" in sys.argv:
        at = sys.argv.index("--plot")
        drawn = Path(sys.argv[at + 1])
        del sys.argv[at : at + 2]
    main(lambda: run() if drawn is None else _run_and_plot(drawn), __doc__)
