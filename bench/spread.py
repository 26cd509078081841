"""Medians with their spread, and formatting of numbers and tables."""

from __future__ import annotations

import dataclasses
import statistics
from collections.abc import Iterable, Sequence


@dataclasses.dataclass(frozen=True)
class Spread:
    """The median, minimum and maximum of some values."""

    median: float
    low: float
    high: float

    @staticmethod
    def of(values: Iterable[float]) -> Spread:
        """Summarise `values`, which must not be empty."""
        some = sorted(values)
        return Spread(statistics.median(some), some[0], some[-1])

    def scaled(self, factor: float) -> Spread:
        """Return the same spread in another unit."""
        return Spread(self.median * factor, self.low * factor, self.high * factor)


def number(value: float) -> str:
    """Format a number with three significant digits, or with all integer digits."""
    if value and abs(value) < 10:
        return f"{value:.3g}"
    return f"{value:,.0f}" if abs(value) >= 100 else f"{value:.1f}"


def lay_out(rows: Sequence[Sequence[str]], markdown: bool = False) -> str:
    """Format a table for a terminal or as Markdown; the first row is the header."""
    widths = [max(len(row[i]) for row in rows) for i in range(len(rows[0]))]
    lines = []
    for row in rows:
        cells = [cell.ljust(width) for cell, width in zip(row, widths, strict=True)]
        lines.append(f"| {' | '.join(cells)} |" if markdown else "  ".join(cells).rstrip())
    rule = "|".join("-" * (width + 2) for width in widths)
    lines.insert(1, f"|{rule}|" if markdown else "-" * max(map(len, lines)))
    return "\n".join(lines)
