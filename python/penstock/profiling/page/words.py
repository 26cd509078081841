"""Names of stages, threads and activities, the same in all forms of a profile."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from penstock.profiling.demand import StageProfile

# Activities of a thread, in legend order.
DOINGS = {
    "run": "runs",
    "blocked": "blocked: a file, a lock, a sleep",
    "gil": "waits for the GIL",
    "input": "waits for input",
    "room": "waits for room",
    "step": "training step",
}
NO_STAGE = "outside of the pipeline"
_WORKS = ("run", "blocked", "gil")  # work for the stage; other activities are waits


def stage_label(stage: Mapping[str, Any]) -> str:
    """Return the label of a stage, as in the verdict."""
    return str(StageProfile(stage["path"], stage["kind"], stage["name"], stage["function"]))


def stage_labels(data: Mapping[str, Any]) -> dict[str, str]:
    """Return the label of each stage, by path."""
    return {stage["path"]: stage_label(stage) for stage in data["stages"]}


class Thread(NamedTuple):
    """Label and activities of a thread."""

    label: str
    spans: Sequence[Sequence[Any]]


def threads_of(data: Mapping[str, Any]) -> list[Thread]:
    """Return the threads: the consumer's first, then from the last stage to the sources.

    Threads with the same name are numbered.
    """
    labels = stage_labels(data)
    threads = sorted(data["threads"], key=_order)
    names = [_name(thread, labels) for thread in threads]
    shared, seen = Counter(names), Counter[str]()
    found = []
    for name, thread in zip(names, threads, strict=True):
        seen[name] += 1
        label = f"{name} {seen[name]}" if shared[name] > 1 else name
        found.append(Thread(label, thread["spans"]))
    return found


def _name(thread: Mapping[str, Any], labels: Mapping[str, str]) -> str:
    """Return the name of a thread, with the function that it mainly calls: ``"map(load)"``."""
    name: str = thread["name"]
    works: Counter[str] = Counter()
    for start, end, path, doing, _ in thread["spans"]:
        if path is not None and doing in _WORKS:
            works[path] += end - start
    label = labels.get(max(works, key=works.__getitem__), "") if works else ""
    return label if label.startswith(f"{name}(") else name


def _order(thread: Mapping[str, Any]) -> tuple[bool, int, str]:
    spans = thread["spans"]
    depths = (path.count(".") for _, _, path, _, _ in spans if path is not None)
    return all(span[3] != "step" for span in spans), min(depths, default=0), thread["name"]


def is_element(number: int | None) -> bool:
    """Return whether a span is about an element rather than only a stage."""
    return number is not None and number >= 0
