"""One plot per workload: a bar per loader, penstock's in colour, and a line for the limit."""

from __future__ import annotations

from itertools import cycle
from pathlib import Path
from typing import Any

from bench.peers import workloads
from bench.peers.environments import PEERS
from bench.peers.results import Measured
from bench.peers.workload import Workload
from bench.spread import number

OURS, OTHERS, LINE = "#d9542b", "#8a9ba8", "#222222"
WIDE = 30  # ratio of maximum to minimum above which the axis is logarithmic
ACROSS = 3  # cases per row


def draw(found: Measured, folder: Path) -> Path:
    """Draw the plot of a workload, and return its file."""
    import matplotlib

    matplotlib.use("Agg")
    from matplotlib import pyplot

    workload = workloads.load(found.name)
    cases = list(found.cases)
    if len(cases) > len(found.peers()):
        figure = _grouped(pyplot, found, workload)
    else:
        figure = _grid(pyplot, found, workload)
        figure.suptitle(f"{workload.title}, {workload.unit}{_better(workload)}", fontsize=11)
    figure.tight_layout()
    file = folder / f"{found.name}.png"
    figure.savefig(file, dpi=110, metadata={"Software": None})
    pyplot.close(figure)
    return file


def _grid(pyplot: Any, found: Measured, workload: Workload) -> Any:
    """Draw each case separately, in rows of similar length."""
    cases = list(found.cases)
    down = -(-len(cases) // ACROSS)
    across = -(-len(cases) // down)
    height = 0.9 + 0.32 * max(len(_peers(found, case)) for case in cases)
    size = (4.6 * max(across, 1.4), height * down + 0.4)
    figure, axes = pyplot.subplots(down, across, figsize=size, squeeze=False)
    for axis in axes.flat[len(cases) :]:
        axis.set_axis_off()
    for case, axis in zip(cases, axes.flat, strict=False):
        _bars(axis, found, workload, case)
    return figure


def _bars(axis: Any, found: Measured, workload: Workload, case: str) -> None:
    """Draw one case: a bar per loader, the fastest on top."""
    peers = _peers(found, case)
    values, errors = _values(found, workload, case, peers)
    colours = [OURS if peer == "penstock" else OTHERS for peer in peers]
    axis.barh(range(len(peers)), values, xerr=errors, color=colours, error_kw={"linewidth": 0.8})
    titles = [PEERS[peer].title for peer in peers]
    axis.set_yticks(range(len(peers)), titles, fontsize=9)
    axis.invert_yaxis()
    limit = found.cell(case, "limit")
    line = workload.shown(limit.spread().median) if limit else None
    shown = [*values, line] if line else values
    ends = [value + more for value, more in zip(values, errors[1], strict=True)]
    most = max([*shown, *ends], default=1.0)
    if shown and max(shown) > WIDE * min(shown):
        axis.set_xscale("log")
        axis.set_xlim(min(shown) / 3, most * 8)
    elif shown:
        axis.set_xlim(0, most * 1.22)
    for place, (value, end) in enumerate(zip(values, ends, strict=True)):
        axis.annotate(f" {number(value)}", (end, place), va="center", fontsize=8)
    if line:
        axis.axvline(line, color=LINE, linestyle="--", linewidth=1)
        axis.set_xlabel(f"-- limit {number(line)}", fontsize=8)
    axis.set_title(case, fontsize=10)
    axis.tick_params(axis="x", labelsize=8)
    axis.spines[["top", "right"]].set_visible(False)


def _grouped(pyplot: Any, found: Measured, workload: Workload) -> Any:
    """Draw many cases with few loaders: groups of bars, as multiples of the limit's time."""
    cases = [case for case in found.cases if found.cell(case, "limit")]
    peers = [peer for peer in found.peers() if peer != "limit"]
    figure, axis = pyplot.subplots(figsize=(9, 1.0 + 0.42 * len(cases)))
    height = 0.8 / len(peers)
    greys = cycle(("#8a9ba8", "#b8c4cc", "#5f707c", "#d5dde2"))
    for place, peer in enumerate(peers):
        ratios = {row: _times(found, case, peer) for row, case in enumerate(cases)}
        drawn = {row: ratio for row, ratio in ratios.items() if ratio}
        where = [row + (place - (len(peers) - 1) / 2) * height for row in drawn]
        colour = OURS if peer == "penstock" else next(greys)
        title = PEERS[peer].title
        bars = axis.barh(where, list(drawn.values()), height * 0.92, color=colour, label=title)
        axis.bar_label(bars, fmt=" %.2f", fontsize=7)
    axis.axvline(1, color=LINE, linestyle="--", linewidth=1, label="limit")
    axis.set_yticks(range(len(cases)), cases, fontsize=9)
    axis.invert_yaxis()
    axis.set_title(f"{workload.title}: time over that of the limit (less is better)", fontsize=11)
    axis.legend(fontsize=8, frameon=False, loc="upper left", bbox_to_anchor=(1, 1))
    axis.spines[["top", "right"]].set_visible(False)
    return figure


def _times(found: Measured, case: str, peer: str) -> float:
    """Return a loader's time as a multiple of the limit's; 0 without a result."""
    cell, limit = found.cell(case, peer), found.cell(case, "limit")
    return cell.spread().median / limit.spread().median if cell and limit else 0.0


def _peers(found: Measured, case: str) -> list[str]:
    """Return the loaders with a result, fastest first."""
    cells = {peer: cell for peer in found.cases[case] if (cell := found.cell(case, peer))}
    cells.pop("limit", None)
    return sorted(cells, key=lambda peer: cells[peer].spread().median)


def _values(
    found: Measured, workload: Workload, case: str, peers: list[str]
) -> tuple[list[float], tuple[list[float], list[float]]]:
    """Return the medians, and their distances from the minimum and maximum."""
    values: list[float] = []
    errors: tuple[list[float], list[float]] = ([], [])
    for peer in peers:
        spread = found.cases[case][peer].spread()
        low, middle, high = sorted(map(workload.shown, (spread.low, spread.median, spread.high)))
        values.append(middle)
        errors[0].append(middle - low)
        errors[1].append(high - middle)
    return values, errors


def _better(workload: Workload) -> str:
    return "" if workload.rate else " (less is better)"
