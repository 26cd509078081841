"""Elements with many leaves: the cost of each leaf."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache
from itertools import cycle, islice
from typing import Any

import numpy as np

from bench.peers.workload import Task, Workload, expect

DIFFERENT = 512
FIELDS = tuple(f"field{i}" for i in range(10))
POSITION = 4


class Elements(Workload):
    title = "Elements with many leaves"
    summary = (
        "A Python generator of elements that are in memory already, in batches of 256. `strings`: "
        "dicts of ten strings of some ten characters. `nested`: a dict with a number, a tuple of "
        "two numbers and a dict of a vector of four float32 and a number."
    )
    unit = "ns per element"
    limit = "one list per leaf, by zip, and np.array of those that are numbers"
    bound = (
        "Python objects. The generator makes the dicts; penstock looks at the key and the type of "
        "each of ten values, and counts a reference to each string when the string arrives and "
        "when its batch is dropped."
    )
    rate = False
    scale = 1e9
    cases = {
        "strings": {"n": 4096, "batch": 256},
        "nested": {"n": 4096, "batch": 256},
    }
    tiny = {"n": 512}
    seconds = 0.4
    together = True
    grows = 1 << 20

    def count(self, element: Any, task: Task) -> int:
        return len(element[FIELDS[0]] if task.case == "strings" else element["id"])

    def check(self, elements: Iterator[Any], task: Task) -> None:
        wanted = made(task.case)
        number = 0
        for batch in elements:
            parts = {name: as_list(part) for name, part in leaves(batch).items()}
            expect("length of a batch", {len(part) for part in parts.values()}, {task.batch})
            for i in range(task.batch):
                row = {name: part[i] for name, part in parts.items()}
                expect(f"element {number}", row, leaves_of(wanted[number % DIFFERENT]))
                number += 1
        expect("elements", number, task.n)


@cache
def made(case: str) -> list[Any]:
    """Return the elements that a pass cycles through."""
    if case == "strings":
        return [{name: f"{name} {i}" for name in FIELDS} for i in range(DIFFERENT)]
    place = np.arange(POSITION, dtype=np.float32)
    return [
        {"id": i, "size": (i + 1, i + 2), "part": {"place": place + i, "weight": i / 2}}
        for i in range(DIFFERENT)
    ]


def generate(task: Task) -> Iterator[Any]:
    """Yield the elements of a pass."""
    yield from islice(cycle(made(task.case)), task.n)


def listed(task: Task) -> list[Any]:
    """Return the elements of a pass, for loaders that index them."""
    return list(generate(task))


def columns(rows: list[Any]) -> Any:
    """Return rows as arrays in the structure of a row; strings as a list."""
    first = rows[0]
    if isinstance(first, dict):
        return {name: columns([row[name] for row in rows]) for name in first}
    if isinstance(first, tuple):
        return tuple(columns([row[i] for row in rows]) for i in range(len(first)))
    return rows if isinstance(first, str) else np.array(rows)


def leaves(value: Any, name: str = "") -> dict[str, Any]:
    """Return the arrays of a batch by their paths."""
    if isinstance(value, dict):
        parts = value.items()
    elif isinstance(value, tuple) or (isinstance(value, list) and not isinstance(value[0], str)):
        parts = enumerate(value)
    else:
        return {name: value}
    found: dict[str, Any] = {}
    for key, part in parts:
        found |= leaves(part, f"{name}/{key}")
    return found


def as_list(part: Any) -> list[Any]:
    values = part if isinstance(part, list) else np.asarray(part).tolist()
    return [value.decode() if isinstance(value, bytes) else value for value in values]


def leaves_of(element: Any) -> dict[str, Any]:
    return {
        name: leaf.tolist() if isinstance(leaf, np.ndarray) else leaf
        for name, leaf in leaves(element).items()
    }


WORKLOAD = Elements()
