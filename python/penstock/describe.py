"""Datasets in words: their stages, and why their length is unknown."""

from __future__ import annotations

from typing import Any

from penstock.labels import function_name
from penstock.stage import Stage

_UNKNOWN = -2
_MOST_STAGES = 20


def chain(dataset: Stage) -> str:
    """Return the stages from the source on, as they would be written."""
    # Without recursion: chains are long.
    parts: list[str] = []
    node: Stage | None = dataset
    while node is not None:
        others = [f"<{other._kind}>" for other in node._inputs[1:]]
        args = [f"{name}={_short(value)}" for name, value in node._args.items()]
        if node._name is not None:
            args.append(f"name={node._name!r}")
        parts.append(f"{node._kind}({', '.join(others + args)})")
        node = node._inputs[0] if node._inputs else None
    if len(parts) > _MOST_STAGES:
        parts = [*parts[:5], f"... {len(parts) - 10} more ...", *parts[-5:]]
    return ".".join(reversed(parts))


def unknown_length(dataset: Stage) -> str:
    """Return why the length of a dataset is unknown, and what to do."""
    node = dataset
    while unknown := [d for d in node._inputs if d._node.cardinality == _UNKNOWN]:
        node = unknown[0]
    why = "on_error leaves out" if node._kind == "ignore_errors" else f"{node._node.label} gives"
    return (
        f"the length is unknown, because how many elements {why} is seen only when they are read; "
        "if you know how many there are, say so with "
        ".apply(ps.experimental.assert_cardinality(n))"
    )


def _short(value: Any) -> str:
    if callable(value):
        return function_name(value)
    text = repr(value)
    return text if len(text) <= 40 and "\n" not in text else f"<{type(value).__name__}>"
