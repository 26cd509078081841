"""The targets of penstock: its speed against a limit or a peer of the same run, and its memory."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable, Iterator, Sequence

from bench.peers import workloads
from bench.peers.environments import PEERS
from bench.peers.results import Cell, Measured
from bench.spread import Spread, lay_out, number

ALONE = ("penstock", "processes", "loader", "limit")  # not counted as other loaders
BEST = "best"  # the fastest other loader
MEMORY = 1.1  # penstock's peak divided by the minimum of the others


@dataclasses.dataclass(frozen=True)
class Target:
    """A bound on penstock's speed in some cases of a workload.

    Attributes
    ----------
    workload : str
        Its name.
    cases : tuple of str
        The cases that it applies to; empty for all.
    against : str
        "limit", a peer, or "best": the fastest other loader.
    speed : float
        The minimum speed of penstock, as a fraction of the reference's speed.
    slack : float
        Additional seconds per unit that penstock may take.
    """

    workload: str
    cases: tuple[str, ...]
    against: str
    speed: float
    slack: float = 0.0


TARGETS = (
    Target("jpeg", ("float32",), BEST, 1.9),
    Target("jpeg", ("uint8",), BEST, 1.25),
    Target("jpeg_records", ("float32",), BEST, 1.9),
    Target("jpeg_records", ("uint8",), BEST, 1.25),
    Target("overhead", ("map",), "limit", 0.9),
    Target("overhead", ("map",), "torch", 3.0),
    Target("compiled", (), "limit", 1.0),
    Target("slices", ("scalars",), "limit", 0.8),
    Target("slices", ("scalars",), "torch", 4.0),
    Target("slices", ("scalars",), "tfdata", 14.0),
    Target("slices", ("embeddings",), "limit", 0.9),
    Target("slices", ("embeddings",), BEST, 1.2),
    Target("elements", ("strings",), "plain", 1.0),
    Target("parse", ("batched",), "tfdata", 5.0),
    Target("tfrecord", ("100 KB",), "limit", 0.9),
    Target("tfrecord", ("100 KB",), "tfdata", 2.0),
    Target("shuffle", ("integers",), "tfdata", 5.0),
    Target("stream", (), "tfdata", 1.5),
    Target("stream", (), BEST, 1.2),
    Target("global_shuffle", (), "grain", 3.0),
    Target("generator", (), "limit", 0.9),
    Target("generator", (), BEST, 1.0),
    Target("cache", ("memory",), "limit", 0.8),
    Target("cache", ("memory",), "tfdata", 5.0),
    Target("cache", ("file",), "limit", 0.85),
    Target("gil", ("releases the GIL",), "plain", 0.98),
    Target("latency", (), "limit", 1 / 1.03, 0.003),
)


def table(results: Sequence[Measured]) -> str:
    """Return a row per target: reference, bound, measured value, whether it is met."""
    rows = [["workload", "against", "at least", "measured", "met"]]
    for found in results:
        for target in TARGETS:
            if target.workload == found.name:
                rows.extend(_lines(target, found))
    return lay_out(rows, markdown=True)


def memory(results: Sequence[Measured]) -> str:
    """Return a row per case whose peak memory exceeds the minimum of the other loaders."""
    rows = [["workload", "penstock, MB", "least of the others, MB", "ratio"]]
    for found in results:
        for case in found.cases:
            least = least_memory(found, case)
            ours = found.cell(case, "penstock")
            if least is None or not ours or not ours.megabytes:
                continue
            other, peak = least
            own = Spread.of(ours.megabytes).median
            if own > MEMORY * peak:
                title = f"{workloads.load(found.name).title}: {case}"
                said = f"{peak:.0f} ({PEERS[other].title})"
                rows.append([title, f"{own:.0f}", said, f"{own / peak:.2f}"])
    return lay_out(rows, markdown=True) if len(rows) > 1 else ""


def others(found: Measured, case: str) -> dict[str, Cell]:
    """Return the other loaders' times in a case."""
    return {
        peer: cell
        for peer in found.cases[case]
        if peer not in ALONE and (cell := found.cell(case, peer))
    }


def best(cells: dict[str, Cell]) -> str | None:
    """Return the fastest of some loaders."""
    return min(cells, key=lambda peer: cells[peer].spread().median, default=None)


def least_memory(found: Measured, case: str) -> tuple[str, float] | None:
    """Return the loader with the lowest peak in MB, except plain Python, and that peak."""
    peaks = {
        peer: Spread.of(cell.megabytes).median
        for peer, cell in others(found, case).items()
        if cell.megabytes and peer != "plain"
    }
    return min(peaks.items(), key=lambda pair: pair[1], default=None)


def _lines(target: Target, found: Measured) -> Iterator[list[str]]:
    title = workloads.load(found.name).title
    for case in _cases(target, found.cases):
        name = target.against
        against = best(others(found, case)) if name == BEST else name
        ours = found.cell(case, "penstock")
        cell = found.cell(case, against) if against else None
        if not ours or not cell or not against:
            yield [f"{title}: {case}", against or name, _at_least(target), "-", "not measured"]
            continue
        own, theirs = ours.spread().median, cell.spread().median
        met = own <= theirs / target.speed + target.slack
        said = "the limit" if against == "limit" else PEERS[against].title
        if name == BEST:
            said = f"the best ({said})"
        ratio = _ratio(theirs / own, target.against)
        yield [f"{title}: {case}", said, _at_least(target), ratio, "yes" if met else "**no**"]


def _cases(target: Target, cases: Iterable[str]) -> list[str]:
    return [case for case in cases if not target.cases or case in target.cases]


def _at_least(target: Target) -> str:
    ratio = _ratio(target.speed, target.against)
    return f"{ratio} less {target.slack * 1e3:.0f} ms" if target.slack else ratio


def _ratio(speed: float, against: str) -> str:
    return f"{100 * speed:.0f} %" if against == "limit" else f"{number(speed)} x"
