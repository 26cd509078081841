"""Measurements, saved as JSON with one entry per workload."""

from __future__ import annotations

import dataclasses
import json
from pathlib import Path
from typing import Any

from bench.spread import Spread


@dataclasses.dataclass
class Cell:
    """One case on one peer, over all rounds."""

    seconds: list[float] = dataclasses.field(default_factory=list)  # per unit
    megabytes: list[float] = dataclasses.field(default_factory=list)  # peak memory
    others: list[float] = dataclasses.field(default_factory=list)  # CPUs busy elsewhere
    failures: list[str] = dataclasses.field(default_factory=list)
    missing: str = ""  # why it never ran

    @property
    def failed(self) -> str:
        """Return the reason for a missing result; empty if there is a result."""
        if self.seconds:
            return ""
        return self.missing or f"failed: {self.failures[-1] if self.failures else 'never run'}"

    def add(self, found: dict[str, Any], others: float) -> None:
        """Add the measurements of one process."""
        if reason := found.get("not offered"):
            self.missing = f"not offered: {reason}"
        elif reason := found.get("failed"):
            self.failures.append(reason)
        else:
            self.seconds.append(found["seconds"])
            self.others.append(round(others, 2))
            if "megabytes" in found:
                self.megabytes.append(round(found["megabytes"], 1))

    def spread(self) -> Spread:
        """Return the seconds per unit."""
        return Spread.of(self.seconds)


@dataclasses.dataclass
class Measured:
    """The measurements of a workload on several peers, in one session on one machine."""

    name: str
    date: str
    machine: dict[str, Any]
    versions: dict[str, dict[str, str]]  # distribution versions by peer
    configurations: dict[str, str]  # by peer
    cases: dict[str, dict[str, Cell]]  # by case, then by peer

    def cell(self, case: str, peer: str) -> Cell | None:
        """Return a cell that has a result."""
        cell = self.cases.get(case, {}).get(peer)
        return cell if cell and not cell.failed else None

    def peers(self) -> list[str]:
        """Return the peers in order of their median speed in their first case."""
        names = list(dict.fromkeys(peer for cells in self.cases.values() for peer in cells))

        def slowness(peer: str) -> tuple[int, float]:
            for number, case in enumerate(self.cases):
                if cell := self.cell(case, peer):
                    return number, cell.spread().median
            return len(self.cases), 0.0

        return sorted(names, key=slowness)


def save(file: Path, results: list[Measured]) -> None:
    """Save the results; they replace earlier ones of the same workloads."""
    kept = {measured.name: measured for measured in load(file)} if file.exists() else {}
    kept |= {measured.name: measured for measured in results}
    file.parent.mkdir(parents=True, exist_ok=True)
    partial = file.with_suffix(".part")
    entries = [_plain(measured) for measured in kept.values()]
    partial.write_text(json.dumps(entries, indent=1) + "\n")
    partial.rename(file)


def load(file: Path) -> list[Measured]:
    """Load the results that `save` wrote."""
    results = []
    for entry in json.loads(file.read_text()):
        cases = {
            case: {peer: Cell(**cell) for peer, cell in cells.items()}
            for case, cells in entry.pop("cases").items()
        }
        results.append(Measured(**entry, cases=cases))
    return results


def _plain(measured: Measured) -> dict[str, Any]:
    """Return a result for JSON, with numbers rounded to four digits."""
    entry = dataclasses.asdict(measured)
    for cells in entry["cases"].values():
        for cell in cells.values():
            cell["seconds"] = [float(f"{value:.4g}") for value in cell["seconds"]]
    return entry
