"""The timeline picture: when each form opened, read, mapped and trained."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from penstock.demo.measure import Run
from penstock.demo.recorder import LANES, Interval
from penstock.profiling.page.colours import LIGHT
from penstock.profiling.page.sheet import rows, sheet

_STEPS_SHOWN = 4  # training steps of the first form
_PIXELS = 1500  # approximately the width of a panel

# The same colours as in profiles.
_COLOURS = {
    "open": "#E69F00",
    "read": LIGHT["blocked"],
    "map": LIGHT["run"],
    "train": LIGHT["step"],
    "wait": LIGHT["input"],
}
_MEANINGS = {
    "open": "open: a pass begins, the storage answers",
    "read": "read: the file",
    "map": "map: decode, crop, resize, flip, scale",
    "train": "train",
    "wait": "the accelerator waits",
}


def draw(runs: Sequence[Run], path: Path, subtitle: str) -> None:
    """Draw one panel per form, all with the same time axis.

    Parameters
    ----------
    runs : sequence of Run
        The measurements; the start of the last pass of each is shown.
    path : Path
        File for the picture; its extension selects the format.
    subtitle : str
        A description of the settings.
    """
    span = _span(runs[0])
    meanings = {_COLOURS[lane]: text for lane, text in _MEANINGS.items()}
    title = "What the input pipeline does, and when"
    figure, panels = sheet([1.45] * len(runs), title, subtitle, meanings)
    for run, panel in zip(runs, panels, strict=True):
        _panel(panel, run, span)
    panels[-1].set_xlabel(f"seconds since pass {len(runs[0].passes)} over the images began")
    figure.savefig(path)


def _span(run: Run) -> float:
    start = run.passes[-1]
    ends = sorted(i.end - start for i in run.intervals if i.lane == "train" and i.start > start)
    return (ends[:_STEPS_SHOWN] or [run.seconds])[-1]


def _panel(panel: Any, run: Run, span: float) -> None:
    start = run.passes[-1]
    shown = [i for i in run.intervals if i.end >= start and i.start <= start + span]
    for row, lane in enumerate(LANES):
        if lane == "train":
            _bars(panel, [i for i in shown if i.lane == "wait"], row, start, span)
        _bars(panel, [i for i in shown if i.lane == lane], row, start, span)
    if not run.notes_map:
        note = "in threads of C++, which note nothing here"
        panel.text(span / 2, LANES.index("map") + 0.5, note, ha="center", va="center", size=10)
    rows(panel, LANES, span)
    panel.set_title(run.name, loc="left", size=11.5, weight="bold", pad=3)
    text = f"{run.rate:,.0f} images/s, accelerator idle {run.idle:.0%}"
    panel.set_title(text, loc="right", size=11, pad=3)


def _bars(panel: Any, intervals: Sequence[Interval], row: int, start: float, span: float) -> None:
    """Draw the intervals of a lane; threads that share it get a strip each."""
    threads: list[int] = []
    for interval in intervals:
        if interval.thread not in threads:
            threads.append(interval.thread)
    for number, thread in enumerate(threads):
        own = [i for i in intervals if i.thread == thread]
        strip = 0.84 / len(threads)
        # Intervals shorter than a pixel are drawn one pixel wide.
        bars = [(i.start - start, max(i.end - i.start, span / _PIXELS)) for i in own]
        colour = _COLOURS[own[0].lane]
        panel.broken_barh(bars, (row + 0.08 + number * strip, strip), color=colour, linewidth=0)
