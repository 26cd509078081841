"""Rows of different lengths, batched with padding: in order, or sorted into buckets."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from functools import cache
from typing import Any

import numpy as np

from bench.peers.workload import Task, Undone, Workload, expect

LEAST, LONGEST = 4, 128
BOUNDARIES = (32, 64, 96)


class Padded(Workload):
    title = "Padded batches"
    summary = (
        "40,000 rows of 4 to 128 int64 in memory, in batches of 256 padded with zeros to the "
        "longest row: `padded` as they come, `bucketed` with rows of up to 31, 63, 95 and 128 "
        "numbers in batches of their own."
    )
    unit = "million rows/s"
    limit = (
        "a loop in Python with one copy of each row into a batch of zeros, in sorted order in the "
        "case `bucketed`: what NumPy allows, not what the memory does"
    )
    bound = (
        "In `padded`, one copy and fresh memory for batches. In `bucketed`, each row becomes an "
        "element of its own, which is made, measured and kept until its bucket is full. penstock "
        "loops over the rows natively, so it can be faster than the limit."
    )
    scale = 1e6
    cases = {
        "padded": {"n": 40_000, "batch": 256},
        "bucketed": {"n": 40_000, "batch": 256},
    }
    tiny = {"n": 2048, "batch": 32}
    seconds = 0.5

    def check(self, elements: Iterator[Any], task: Task) -> None:
        wanted = rows(task)
        seen: list[int] = []
        for batch in elements:
            numbers = (batch[:, 0] - 1).tolist()
            lengths = [len(wanted[i]) for i in numbers]
            expect("width of a batch", batch.shape[1], max(lengths))
            expect("at most a batch", len(batch) <= task.batch, True)
            if task.case == "padded":
                expect("rows in order", numbers, list(range(len(seen), len(seen) + len(batch))))
            elif len({bucket(length) for length in lengths}) > 1:
                raise Undone(f"a batch of several buckets: lengths {sorted(set(lengths))}")
            same = np.array_equal(batch, padded([wanted[i] for i in numbers]))
            expect("rows and padding as they should be", same, True)
            seen += numbers
        expect("all rows once", sorted(seen) == list(range(task.n)), True)


def rows(task: Task) -> list[Any]:
    """Return the rows: each its number, from 1 on, then more numbers, none of them 0."""
    flat, lengths = joined(task)
    return np.split(flat, np.cumsum(lengths)[:-1])


def joined(task: Task) -> tuple[Any, Any]:
    """Return all rows concatenated, and their lengths."""
    return _made(task.n)


@cache  # shared by the check and the loader, so that the peak memory is the loader's
def _made(n: int) -> tuple[Any, Any]:
    random = np.random.default_rng(1)
    lengths = random.integers(LEAST, LONGEST + 1, n)
    flat = random.integers(1, 30_000, int(lengths.sum()))
    flat[np.cumsum(lengths) - lengths] = np.arange(1, n + 1)
    return flat, lengths


def bucket(length: int) -> int:
    """Return the bucket of a length."""
    return sum(length >= boundary for boundary in BOUNDARIES)


def padded(some: list[Any]) -> Any:
    """Return rows as one array, padded with trailing zeros."""
    batch = np.zeros((len(some), max(map(len, some))), np.int64)
    for to, row in zip(batch, some, strict=True):
        to[: len(row)] = row
    return batch


def bucketed(
    some: Iterable[Any], size: int, length: Callable[[Any], int] = len
) -> Iterator[list[Any]]:
    """Yield lists of rows of one bucket each: full ones as they fill, then the remainders."""
    waiting: list[list[Any]] = [[] for _ in range(len(BOUNDARIES) + 1)]
    for row in some:
        full = waiting[place := bucket(length(row))]
        full.append(row)
        if len(full) == size:
            yield full
            waiting[place] = []
    yield from filter(None, waiting)


WORKLOAD = Padded()
