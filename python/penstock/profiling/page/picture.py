"""A profile as a picture: the activities of each thread, with rate and waiting above."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from penstock.libraries import library
from penstock.profiling.page.colours import LIGHT
from penstock.profiling.page.sheet import rows, sheet
from penstock.profiling.page.words import DOINGS, stage_label, threads_of

_COLUMNS = 1500  # approximately the width of a panel in pixels
_ROW = 0.34  # inches
_MOST_INCHES = 24.0
_CHART = "#3D4F66"


def save_picture(data: Mapping[str, Any], path: str | os.PathLike[str]) -> None:
    """Write a profile as a PNG.

    Each thread has a row of 1500 columns, and each column shows the shares of the thread's
    activities, however many spans there are. Requires Matplotlib (``pip install penstock[viz]``).

    Parameters
    ----------
    data : mapping
        The result of `Profile.to_dict`.
    path : str or os.PathLike
        The file; replaced if it exists.

    Raises
    ------
    ModuleNotFoundError
        If Matplotlib is not installed.
    """
    library("Profile.save", "matplotlib", "viz")
    threads = threads_of(data)
    height = min(_ROW * max(len(threads), 1), _MOST_INCHES)
    meanings = {LIGHT[doing]: text for doing, text in DOINGS.items()}
    title = "What the input pipeline does, and when"
    figure, panels = sheet([0.7, 0.7, height], title, _subtitle(data), meanings)
    history, span = data["history"], max(data["seconds"], 1e-9)
    _chart(panels[0], history["seconds"], history["rate"], "elements/s", span)
    _chart(panels[1], history["seconds"], history["waiting"], "the loop waits", span)
    panels[1].set_ylim(0, 1)
    panels[1].set_yticks([0, 1], ["0 %", "100 %"])
    rows(panels[2], [thread.label for thread in threads], span)
    if height == _MOST_INCHES:
        panels[2].tick_params(axis="y", labelsize=max(72 * height / len(threads) - 2, 1))
    for row, thread in enumerate(threads):
        _thread(panels[2], thread.spans, row, span)
    panels[2].set_xlabel("seconds")
    figure.savefig(path, format="png")


def _subtitle(data: Mapping[str, Any]) -> str:
    text = f"{data['rate']:,.4g} elements/s"
    if data["input_bound"] is not None:
        text += f", the loop waits for data {data['input_bound']:.0%} of the time"
    slow = data["bottleneck"]
    for stage in data["stages"]:
        if slow is not None and stage["path"] == slow["stage"]:
            text += f"; the bottleneck is {stage_label(stage)} ({slow['kind']})"
    return text


def _chart(
    panel: Any, moments: Sequence[float], values: Sequence[float], title: str, span: float
) -> None:
    panel.fill_between(moments, values, color=_CHART, alpha=0.25, linewidth=0)
    panel.plot(moments, values, color=_CHART, linewidth=1.2)
    panel.set_xlim(0, span)
    panel.set_ylim(bottom=0)
    panel.set_title(title, loc="left", size=10, pad=3)
    panel.tick_params(axis="x", length=0)
    for side in ("top", "right", "left"):
        panel.spines[side].set_visible(False)


def _thread(panel: Any, spans: Sequence[Sequence[Any]], row: int, span: float) -> None:
    edges = np.linspace(0, span, _COLUMNS + 1)
    low = np.full(_COLUMNS, row + 0.92)
    for doing in DOINGS:
        times = np.array([one[:2] for one in spans if one[3] == doing], np.float64)
        if len(times):
            top = low - 0.84 * _shares(times, edges)
            panel.stairs(top, edges, baseline=low, fill=True, color=LIGHT[doing], linewidth=0)
            low = top


def _shares(
    times: npt.NDArray[np.float64], edges: npt.NDArray[np.float64]
) -> npt.NDArray[np.float64]:
    """Return the share of each column that non-overlapping intervals cover."""
    times = times[np.argsort(times[:, 0], kind="stable")]
    lengths = times[:, 1] - times[:, 0]
    sums = np.cumsum(lengths)
    # Seconds covered until each start and each end. In between, they grow linearly or stay
    # constant.
    until = np.stack([sums - lengths, sums], axis=1)
    covered = np.interp(edges, times.ravel(), until.ravel())
    shares: npt.NDArray[np.float64] = np.diff(covered) / np.diff(edges)
    return shares
