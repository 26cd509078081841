"""A figure with panels over a common time axis, a heading and a legend."""

from collections.abc import Mapping, Sequence
from typing import Any

_HEAD = 0.95  # inches
_FOOT = 0.55


def sheet(
    heights: Sequence[float], title: str, subtitle: str, meanings: Mapping[str, str]
) -> tuple[Any, list[Any]]:
    """Return a Matplotlib figure and its panels, from top to bottom.

    Parameters
    ----------
    heights : sequence of float
        Height of each panel in inches.
    title, subtitle : str
        The heading.
    meanings : mapping
        Labels of the colours, for the legend.
    """
    import matplotlib

    matplotlib.use("Agg", force=False)
    from matplotlib.figure import Figure
    from matplotlib.patches import Patch

    height = sum(heights) + _HEAD + _FOOT
    figure = Figure(figsize=(15, height), dpi=120, layout="constrained")
    layout: Any = figure.get_layout_engine()
    layout.set(rect=(0, 0, 1, 1 - _HEAD / height), hspace=0.03)
    panels = figure.subplots(len(heights), 1, sharex=True, squeeze=False, height_ratios=heights)
    above: dict[str, Any] = {"va": "top", "parse_math": False}
    figure.text(0.012, 1 - 0.2 / height, title, size=16, weight="bold", **above)
    figure.text(0.012, 1 - 0.55 / height, subtitle, size=10.5, color="#444444", **above)
    patches = [Patch(color=colour, label=text) for colour, text in meanings.items()]
    columns = (len(patches) + 2) // 3
    figure.legend(handles=patches, loc="upper right", ncols=columns, frameon=False, fontsize=10)
    return figure, list(panels[:, 0])


def rows(panel: Any, names: Sequence[str], span: float) -> None:
    """Format a panel as rows with these names, the first at the top, over `span` seconds."""
    panel.set_xlim(0, span)
    panel.set_ylim(max(len(names), 1), 0)
    panel.set_yticks([row + 0.5 for row in range(len(names))], names)
    for label in panel.get_yticklabels():
        label.set_parse_math(False)
    panel.tick_params(axis="y", length=0)
    panel.grid(axis="x", color="#dddddd", linewidth=0.6)
    panel.set_axisbelow(True)
    for row in range(1, len(names)):
        panel.axhline(row, color="#eeeeee", linewidth=0.8, zorder=0)
    for side in ("top", "right", "left"):
        panel.spines[side].set_visible(False)
