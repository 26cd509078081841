"""Interleaved timing, medians of ratios with their spread, and the table of results.

Every benchmark consists of several cases that are timed alternately, A B A B, so that changes of
the machine's speed affect all of them. A ratio is taken within one round, and the result is the
median over the rounds. A round in which other programs kept more than a quarter of a CPU busy is
repeated, up to a limit (`PATIENCE`); the quietest rounds are kept.
"""

from __future__ import annotations

import argparse
import dataclasses
import json
import statistics
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from pathlib import Path

from bench import machine
from bench.machine import Noise
from bench.spread import Spread, lay_out, number

AT_LEAST = 0.2  # seconds: the minimum duration of a timing
REPEATS = 7
QUIET = 0.25  # CPUs kept busy by other programs
PATIENCE = 3  # maximum rounds under load, as a multiple of the requested ones

Case = Callable[[], float]  # times its own work; returns seconds per unit


@dataclasses.dataclass(frozen=True)
class Figure:
    """A row of the table: a measured number, and its bound, if any."""

    name: str
    value: Spread
    unit: str  # "x" for a ratio, "%" for a share, otherwise a unit
    at_most: float | None = None
    at_least: float | None = None
    note: str = ""  # the absolute figures behind a ratio

    @property
    def met(self) -> bool | None:
        """Return whether the median meets the bound; None without a bound."""
        if self.at_most is not None:
            return self.value.median <= self.at_most
        if self.at_least is not None:
            return self.value.median >= self.at_least
        return None

    def cells(self) -> list[str]:
        """Return the row as text: name, value, spread, target, met, note."""
        target = "-"
        if self.at_most is not None:
            target = f"<= {number(self.at_most)} {self.unit}"
        if self.at_least is not None:
            target = f">= {number(self.at_least)} {self.unit}"
        met = {True: "met", False: "NOT met", None: "-"}[self.met]
        value = self.value
        spread = f"{number(value.low)} to {number(value.high)}"
        return [self.name, f"{number(value.median)} {self.unit}", spread, target, met, self.note]


class Rounds:
    """The timings of a benchmark's cases, by round."""

    def __init__(self, rounds: list[dict[str, float]], others: float) -> None:
        self.rounds = rounds
        self.others = others  # CPUs kept busy by other programs, median

    def seconds(self, case: str) -> Spread:
        """Return the seconds per unit of a case."""
        return Spread.of(r[case] for r in self.rounds)

    def ratio(self, case: str, to: str) -> Spread:
        """Return the ratio of two cases, taken within each round."""
        return Spread.of(r[case] / r[to] for r in self.rounds)

    def difference(self, case: str, less: str) -> Spread:
        """Return the seconds of a case minus those of another, within each round."""
        return Spread.of(r[case] - r[less] for r in self.rounds)


def interleaved(cases: Mapping[str, Case], repeats: int = REPEATS) -> Rounds:
    """Run all cases once to warm up, then alternate them `repeats` times."""
    for case in cases.values():
        case()
    taken: list[tuple[float, dict[str, float]]] = []
    quiet = 0
    while quiet < repeats and len(taken) < repeats * PATIENCE:
        values, noise = {}, 0.0
        for name, case in cases.items():
            others = Noise()
            values[name] = case()
            noise = max(noise, others.cpus())
        taken.append((noise, values))
        quiet += noise <= QUIET
    taken.sort(key=lambda pair: pair[0])
    kept = taken[:repeats]
    others = statistics.median(noise for noise, _ in kept)
    return Rounds([values for _, values in kept], others)


def timed(
    work: Callable[[], object],
    units: float = 1,
    at_least: float = AT_LEAST,
    clock: Callable[[], float] = time.perf_counter,
) -> Case:
    """Return a case that calls a function, which does `units` of work, until the time is up."""

    def case() -> float:
        calls = 0
        start = clock()
        elapsed = 0.0
        while elapsed < at_least:
            work()
            calls += 1
            elapsed = clock() - start
        return elapsed / (calls * units)

    return case


def drain(iterable: Iterable[object]) -> None:
    """Consume all elements in a plain loop."""
    for _ in iterable:
        pass


def table(figures: Iterable[Figure], markdown: bool = False) -> str:
    """Return the figures as a table, for a terminal or as Markdown."""
    head = ["figure", "measured", "spread", "target", "met", "behind it"]
    return lay_out([head, *(figure.cells() for figure in figures)], markdown)


def save(file: Path, figures: Iterable[Figure]) -> None:
    """Write the figures as JSON, with a description of the machine."""
    import numpy as np

    import penstock as ps

    record = {
        "machine": machine.describe() | {"numpy": np.__version__, "penstock": ps.__version__},
        "figures": [dataclasses.asdict(f) | {"met": f.met} for f in figures],
    }
    file.write_text(json.dumps(record, indent=1) + "\n")


def load(file: Path) -> list[Figure]:
    """Read figures that `save` wrote."""
    figures = []
    for entry in json.loads(file.read_text())["figures"]:
        entry.pop("met")
        figures.append(Figure(**entry | {"value": Spread(**entry["value"])}))
    return figures


def main(
    run: Callable[..., list[Figure]], description: str | None, rows: Sequence[str] = ()
) -> None:
    """Run one benchmark from the command line: print its table, and write JSON on request.

    `rows` lists the names from which `--only` selects; `run` then takes the selection as its
    argument.
    """
    parser = argparse.ArgumentParser(
        description=description, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--json", type=Path, metavar="FILE", help="write the figures there, too")
    if rows:
        parser.add_argument(
            "--only", nargs="+", choices=rows, metavar="ROW", help="of these: " + "; ".join(rows)
        )
    arguments = parser.parse_args()
    figures = run(arguments.only) if rows and arguments.only else run()
    print(table(figures))
    if arguments.json:
        save(arguments.json, figures)
