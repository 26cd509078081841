"""Lines of text, split into words that are mapped to numbers, in padded batches."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np

from bench.peers.data import write_once
from bench.peers.workload import Task, Workload, expect
from bench.peers.workloads.padded import padded

__all__ = ["WORKLOAD", "padded"]

WORDS = 5000
LONGEST = 24
BUCKETS = 1 << 40


class Text(Workload):
    title = "Text lines and tokens"
    summary = (
        "A file of 50,000 lines of 4 to 24 words in the page cache; each line is cut at spaces, "
        "and its words become numbers, by a table of the 5,000 words or by a hash that "
        "distinguishes them; batches of 256, padded with zeros to the longest line."
    )
    unit = "thousand lines/s"
    limit = "read(2) of the file in blocks of 1 MB, counting its spaces with NumPy"
    bound = (
        "Splitting a line, hashing each of its 14 words and padding take some 2,500 instructions "
        "per line, for many lines at a time, on all processors. The limit counts spaces."
    )
    scale = 1e3
    cases = {"words": {"n": 50_000, "batch": 256}}
    tiny = {"n": 1024}
    seconds = 0.6

    def prepare(self, task: Task) -> None:
        def write(file: Path) -> None:
            file.write_text("".join(f"{' '.join(line)}\n" for line in lines(task.n)))

        write_once(path(task), write)

    def check(self, elements: Iterator[Any], task: Task) -> None:
        wanted = lines(task.n)
        known: dict[str, int] = {}
        number = 0
        for batch in elements:
            part = wanted[number : number + len(batch)]
            expect("width of a batch", batch.shape[1], max(map(len, part)))
            for line, row in zip(part, batch.tolist(), strict=True):
                expect(f"padding of line {number}", any(row[len(line) :]), False)
                for word, token in zip(line, row, strict=False):
                    expect(f"token of {word}", token, known.setdefault(word, token))
                number += 1
        expect("lines", number, task.n)
        expect("different tokens", len(set(known.values()) - {0}), len(known))


def lines(count: int) -> list[list[str]]:
    """Return the words of each line."""
    random = np.random.default_rng(1)
    lengths = random.integers(4, LONGEST + 1, count)
    # Word frequencies are skewed, as in natural language.
    drawn = (WORDS ** random.random(int(lengths.sum()))).astype(int).tolist()
    words = vocabulary()
    ends = np.cumsum(lengths).tolist()
    starts = [0, *ends[:-1]]
    return [[words[i] for i in drawn[a:b]] for a, b in zip(starts, ends, strict=True)]


def vocabulary() -> list[str]:
    """Return all words; the token of a word is its one-based position."""
    return [f"w{i * 7919:o}" for i in range(WORDS)]


def table() -> dict[str, int]:
    """Return the token of each word."""
    return {word: i for i, word in enumerate(vocabulary(), 1)}


def path(task: Task) -> Path:
    """Return the path of the file."""
    return Path(task.folder) / f"{task.n}.txt"


WORKLOAD = Text()
