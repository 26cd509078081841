"""A profile as a self-contained HTML file."""

from __future__ import annotations

import base64
import hashlib
import json
import os
import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from penstock.profiling.page.colours import DARK, LIGHT
from penstock.profiling.page.words import DOINGS, NO_STAGE, is_element, stage_label, threads_of

_MICROSECONDS = 1e6
_INSERT = re.compile(r"@(\w+)@")


def save_report(data: Mapping[str, Any], path: str | os.PathLike[str]) -> None:
    """Write a profile as a page: the verdict, advice, the pipeline, a timeline, and all figures.

    Parameters
    ----------
    data : mapping
        The result of `Profile.to_dict`.
    path : str or os.PathLike
        The file; replaced if it exists.

    Notes
    -----
    The page is a single file that needs no network. Its security policy allows only the script that
    it contains. Names of stages, functions and threads are inserted as text.
    """
    script = _template("page.js")
    inserts = {
        "style": _colours() + _template("page.css"),
        "script": script,
        "hash": base64.b64encode(hashlib.sha256(script.encode()).digest()).decode(),
        "data": _embedded(_content(data)),
    }
    page = _INSERT.sub(lambda found: inserts[found[1]], _template("page.html"))
    Path(path).write_text(page, encoding="utf-8", newline="\n")


def _template(name: str) -> str:
    return Path(__file__).with_name(name).read_text(encoding="utf-8")


def _colours() -> str:
    """Return the colours of the activities as CSS variables."""
    light, dark = (
        "".join(f"--{doing}:{colour};" for doing, colour in colours.items())
        for colours in (LIGHT, DARK)
    )
    return f":root{{{light}}}@media (prefers-color-scheme:dark){{:root{{{dark}}}}}\n"


def _embedded(content: Any) -> str:
    """Return JSON that cannot terminate the HTML element that contains it."""
    text = json.dumps(content, separators=(",", ":"), allow_nan=False)
    return text.replace("<", "\\u003c").replace(">", "\\u003e").replace("&", "\\u0026")


def _content(data: Mapping[str, Any]) -> Any:
    """Return the data of the page: spans in columns, and stages and threads with labels."""
    stages = [{**stage, "label": stage_label(stage)} for stage in data["stages"]]
    numbers = {stage["path"]: number for number, stage in enumerate(stages)}
    threads = [
        {"name": thread.label, **_columns(thread.spans, numbers)} for thread in threads_of(data)
    ]
    words = {"doings": DOINGS, "no_stage": NO_STAGE}
    return {**data, "stages": stages, "threads": threads, **words}


def _columns(spans: Sequence[Sequence[Any]], numbers: Mapping[str, int]) -> dict[str, Any]:
    """Return the spans as columns, with times in microseconds; rows would be three times as long.

    Stages and activities are numbers (see `DOINGS`); -1 means none, also for elements.
    """
    doings = {doing: number for number, doing in enumerate(DOINGS)}
    ordered = sorted(spans, key=lambda span: span[0])
    return {
        "start": [round(span[0] * _MICROSECONDS) for span in ordered],
        "end": [round(span[1] * _MICROSECONDS) for span in ordered],
        "stage": [numbers.get(span[2], -1) for span in ordered],
        "doing": [doings[span[3]] for span in ordered],
        "element": [span[4] if is_element(span[4]) else -1 for span in ordered],
    }
