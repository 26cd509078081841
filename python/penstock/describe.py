"""Text descriptions of datasets: stages, and why the length is unknown."""

from __future__ import annotations

import sys
from typing import Any

from penstock.labels import function_name
from penstock.printable import shown
from penstock.stage import Stage
from penstock.structure import TensorSpec
from penstock.traits import main_form

_UNKNOWN = -2
_MOST_STAGES = 20
_AROUND = len("<Dataset >")


def chain(dataset: Stage) -> str:
    """Return the stages from the source on, as Python calls.

    In a terminal, a chain longer than one line has one line for each stage.
    """
    calls = [f"{kind}({', '.join(args)})" for kind, args in _stages(dataset)]
    text = ".".join(calls)
    if sys.stdout is None or not sys.stdout.isatty():
        return text
    import shutil  # slow to import

    room = shutil.get_terminal_size().columns - _AROUND
    return text if len(text) <= room else "\n    .".join(calls)


def page(dataset: Stage) -> str:
    """Return a dataset as HTML for notebooks: its stages, element spec and cardinality."""
    import html  # slow to import: a tenth of the time of the package

    rows = "".join(
        f"<tr><td style='text-align:left'><b>{html.escape(kind)}</b></td>"
        f"<td style='text-align:left'>{html.escape(', '.join(args))}</td></tr>"
        for kind, args in _stages(dataset)
    )
    known = dataset._node.first_unknown() is None
    spec = dataset._node.spec(TensorSpec) if known else "known once the first one is computed"
    size = dataset._node.cardinality
    count = {_UNKNOWN: "unknown", -1: "infinite"}.get(size, f"{size:,}")
    return (
        f"<div><b>Dataset</b><table>{rows}</table>"
        f"<div>elements: <code>{html.escape(str(spec))}</code></div>"
        f"<div>cardinality: {count}</div></div>"
    )


def _stages(dataset: Stage) -> list[tuple[str, list[str]]]:
    """Return the stages from the source on, and their arguments; a long chain is shortened.

    Stages have the names of methods. Arguments that are None are omitted.
    """
    # Without recursion, because chains are long.
    parts: list[tuple[str, list[str]]] = []
    node: Stage | None = dataset
    while node is not None:
        kind, given = node._written or (main_form(node._kind), node._args)
        args = [f"<{main_form(other._kind)}>" for other in node._inputs[1:]]
        args += [f"{name}={_short(value)}" for name, value in given.items() if value is not None]
        if node._name is not None:
            args.append(f"name={node._name!r}")
        parts.append((kind, args))
        node = node._inputs[0] if node._inputs and node._written is None else None
    if len(parts) > _MOST_STAGES:
        parts = [*parts[:5], ("...", [f"{len(parts) - 10} more"]), *parts[-5:]]
    return parts[::-1]


def unknown_length(dataset: Stage) -> str:
    """Explain why the length of a dataset is unknown, and what to do."""
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
    text = shown(repr(value))
    return text if len(text) <= 40 and "\n" not in text else f"<{type(value).__name__}>"
