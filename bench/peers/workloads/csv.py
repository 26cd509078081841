"""Comma-separated values, as batches of named columns."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np

from bench.peers.data import write_once
from bench.peers.workload import Task, Workload, expect

NAMES = ("number", "a", "b", "c", "kind")
KINDS = ("red", "green", "blue", "a longer one")


class Csv(Workload):
    title = "CSV"
    summary = (
        "A file of 50,000 rows of an integer, three decimal fractions and a word, with a header, "
        "in the page cache, to batches of 256 of typed columns (int64, float32, strings)."
    )
    unit = "thousand rows/s"
    limit = "read(2) of the file in blocks of 1 MB, counting its commas with NumPy"
    bound = (
        "One thread, which inspects each field byte by byte for quotes and delimiters and "
        "converts it to a number; words become Python objects. The limit counts commas."
    )
    scale = 1e3
    cases = {"columns": {"n": 50_000, "batch": 256}}
    tiny = {"n": 1024}
    seconds = 0.6

    def prepare(self, task: Task) -> None:
        write_once(path(task), lambda file: write(file, task.n))

    def count(self, element: Any, task: Task) -> int:
        return len(element["number"])

    def check(self, elements: Iterator[Any], task: Task) -> None:
        number = 0
        for batch in elements:
            found = {name: np.asarray(batch[name]) for name in NAMES}
            count = len(found["number"])
            rows = range(number, number + count)
            expect("numbers", found["number"].tolist(), list(rows))
            for place, name in enumerate("abc"):
                wanted = np.array([fractions(i)[place] for i in rows], np.float32)
                expect(f"dtype of {name}", found[name].dtype, wanted.dtype)
                expect(f"column {name}", found[name].tolist(), wanted.tolist())
            kinds = [k.decode() if isinstance(k, bytes) else k for k in found["kind"].tolist()]
            expect("kinds", kinds, [KINDS[i % len(KINDS)] for i in rows])
            number += count
        expect("rows", number, task.n)


def write(file: Path, count: int) -> None:
    """Write a header and this number of rows."""
    with file.open("w") as out:
        out.write(",".join(NAMES) + "\n")
        for i in range(count):
            a, b, c = fractions(i)
            out.write(f"{i},{a},{b},{c},{KINDS[i % len(KINDS)]}\n")


def fractions(number: int) -> tuple[float, float, float]:
    """Return the three fractions of a row."""
    return number / 8, number * 0.37, -number / 1000


def path(task: Task) -> Path:
    """Return the path of the file."""
    return Path(task.folder) / f"{task.n}.csv"


WORKLOAD = Csv()
