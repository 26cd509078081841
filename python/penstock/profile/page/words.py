"""What stages, threads and their doings are called in all forms of a profile."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any

# What a thread does, in the order of the legends.
DOINGS = {
    "run": "runs",
    "blocked": "blocked: a file, a lock, a sleep",
    "gil": "waits for the GIL",
    "input": "waits for input",
    "room": "waits for room",
    "step": "training step",
}
NO_STAGE = "outside of the pipeline"


def stage_label(stage: Mapping[str, Any]) -> str:
    """Return the name of a stage, with its function: ``"parallel_map(load)"``."""
    call = stage["kind"] if stage["function"] is None else f"{stage['kind']}({stage['function']})"
    return call if stage["name"] is None else f"{stage['name']}: {call}"


def stage_labels(data: Mapping[str, Any]) -> dict[str, str]:
    """Return the label of each stage by its path."""
    return {stage["path"]: stage_label(stage) for stage in data["stages"]}


def thread_labels(threads: Sequence[Mapping[str, Any]]) -> list[str]:
    """Return the names of threads; those that share one are numbered."""
    shared = Counter(thread["name"] for thread in threads)
    seen: Counter[str] = Counter()
    labels = []
    for thread in threads:
        name = thread["name"]
        seen[name] += 1
        labels.append(f"{name} {seen[name]}" if shared[name] > 1 else name)
    return labels
