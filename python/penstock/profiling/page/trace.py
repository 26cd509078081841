"""A profile as a trace for Perfetto."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from penstock.profiling.page.words import DOINGS, NO_STAGE, is_element, stage_labels, threads_of

_PROCESS = 1
_NANOSECONDS = 1e9


def save_trace(data: Mapping[str, Any], path: str | os.PathLike[str]) -> None:
    """Write a profile as a trace for https://ui.perfetto.dev.

    Each thread is a track, and each of its activities an event, named after the stage and the kind
    of wait. The arguments of an event are the path of the stage and the index of the element. Rate,
    waiting and buffers are counter tracks.

    Parameters
    ----------
    data : mapping
        The result of `Profile.to_dict`.
    path : str or os.PathLike
        The file; replaced if it exists.

    Notes
    -----
    The format is the JSON of Chrome's "Trace Event Format", with times in microseconds.
    """
    events = [*_names(data), *_spans(data), *_counters(data)]
    trace = {
        "traceEvents": events,
        "displayTimeUnit": "ms",
        "otherData": {"verdict": data["verdict"]},
    }
    Path(path).write_text(json.dumps(trace, separators=(",", ":")), encoding="utf-8")


def _names(data: Mapping[str, Any]) -> Iterator[dict[str, Any]]:
    yield {"ph": "M", "pid": _PROCESS, "name": "process_name", "args": {"name": "penstock"}}
    for number, name in enumerate((thread.label for thread in threads_of(data)), start=1):
        track = {"ph": "M", "pid": _PROCESS, "tid": number}
        yield {**track, "name": "thread_name", "args": {"name": name}}
        yield {**track, "name": "thread_sort_index", "args": {"sort_index": number}}


def _spans(data: Mapping[str, Any]) -> Iterator[dict[str, Any]]:
    labels = stage_labels(data)
    for number, thread in enumerate(threads_of(data), start=1):
        for start, end, stage, doing, element in thread.spans:
            arguments = {
                **({} if stage is None else {"stage": stage}),
                **({"element": element} if is_element(element) else {}),
                "doing": DOINGS[doing],
            }
            began, ended = _nanoseconds(start), _nanoseconds(end)
            yield {
                "ph": "X",
                "pid": _PROCESS,
                "tid": number,
                "name": _name(labels.get(stage), doing),
                "cat": doing,
                "ts": began / 1000,
                "dur": (ended - began) / 1000,
                "args": arguments,
            }


def _nanoseconds(seconds: float) -> int:
    """Return integer nanoseconds, so that adjacent spans do not overlap after rounding."""
    return round(seconds * _NANOSECONDS)


def _name(label: str | None, doing: str) -> str:
    if doing == "step":
        return DOINGS[doing]
    if doing == "run":
        return label or NO_STAGE
    return f"{label or NO_STAGE} {DOINGS[doing]}"


def _counters(data: Mapping[str, Any]) -> Iterator[dict[str, Any]]:
    labels = stage_labels(data)
    history = data["history"]
    tracks = {
        "rate (elements/s)": history["rate"],
        "waiting (share of the time)": history["waiting"],
        **{
            f"buffer of {labels.get(path, path)} ({path})": values
            for path, values in history["buffers"].items()
        },
    }
    for name, values in tracks.items():
        for second, value in zip(history["seconds"], values, strict=True):
            yield {
                "ph": "C",
                "pid": _PROCESS,
                "name": name,
                "ts": _nanoseconds(second) / 1000,
                "args": {"value": value},
            }
