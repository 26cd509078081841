"""Pickling of datasets: the stages of a plan with their arguments, in a flat list."""

from __future__ import annotations

from typing import Any

from penstock.dataset import Dataset
from penstock.options import Options
from penstock.stage import ELEMENTS, Stage

Flat = list[tuple[str, list[int], dict[str, Any], str | None]]


def reduced(dataset: Stage) -> tuple[Any, ...]:
    """Return the result of ``__reduce__``: flat, so that long chains do not overflow the stack."""
    return _rebuild, flat(dataset)


def flat(dataset: Stage) -> tuple[Flat, Options]:
    """Return kind, inputs, arguments and name of each stage, inputs first; and the options."""
    order, numbers = ordered(dataset)
    nodes = [(d._kind, [numbers[id(i)] for i in d._inputs], d._args, d._name) for d in order]
    return nodes, dataset._options


def ordered(dataset: Stage) -> tuple[list[Stage], dict[int, int]]:
    """Return the stages of a dataset, inputs first, and their indices in this list by id."""
    order: list[Stage] = []
    numbers: dict[int, int] = {}
    stack: list[Stage] = [dataset]
    while stack:
        node = stack[-1]
        waiting = [d for d in node._inputs if id(d) not in numbers]
        if waiting:
            stack.extend(waiting)
            continue
        stack.pop()
        if id(node) not in numbers:
            numbers[id(node)] = len(order)
            order.append(node)
    if any(d._kind == ELEMENTS for d in order):
        raise TypeError(
            "pickle: a dataset that is an element of another one (a window, say) holds its "
            "elements in memory and cannot be pickled; take them out with batch first"
        )
    return order, numbers


def _rebuild(nodes: Flat, options: Options) -> Dataset:
    made: list[Dataset] = []
    for kind, inputs, args, name in nodes:
        made.append(Dataset._make(kind, tuple(made[i] for i in inputs), args, name))
    return made[-1].with_options(options)
