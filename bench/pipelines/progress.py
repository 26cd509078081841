"""The overhead of ps.progress in a loop, compared with the same loop without it.

Three inputs: single numbers, the fastest possible elements; batches of images; and batches of a
loader that is not a dataset. The progress line is drawn to a stream that claims to be a terminal.
"""

from __future__ import annotations

import contextlib
import io
from collections.abc import Iterable, Iterator
from typing import Any

import numpy as np

import penstock as ps
from bench.pipelines.measure import Figure, interleaved, main, timed

NUMBERS = ps.Dataset.range(100_000_000)
IMAGES = ps.Dataset.from_tensor_slices(np.zeros((4096, 32, 32, 3), np.uint8)).repeat(1600).batch(64)


class _Terminal(io.StringIO):
    def isatty(self) -> bool:
        return True


class _Loader:
    """A loader that takes 20 us per batch."""

    def __iter__(self) -> Iterator[Any]:
        batch = np.zeros((64, 1024), np.uint8)
        for _ in range(150_000):
            yield batch.astype(np.float32)


def _loop(iterable: Iterable[Any]) -> None:
    for _ in iterable:
        pass


def _shown(iterable: Iterable[Any]) -> None:
    with contextlib.redirect_stderr(_Terminal()):
        _loop(ps.progress(iterable))


def run() -> list[Figure]:
    figures = []
    cases: dict[str, tuple[Iterable[Any], int]] = {
        "numbers": (NUMBERS, 100_000_000),
        "batches of images": (IMAGES, 102_400),
        "another loader": (_Loader(), 150_000),
    }
    for name, (iterable, count) in cases.items():
        rounds = interleaved(
            {
                "shown": timed(lambda iterable=iterable: _shown(iterable), count),
                "plain": timed(lambda iterable=iterable: _loop(iterable), count),
            }
        )
        figures.append(
            Figure(
                f"{name}: with ps.progress / without",
                rounds.ratio("shown", "plain"),
                "x",
                note=f"{rounds.seconds('plain').median * 1e6:.3g} us an element",
            )
        )
    return figures


if __name__ == "__main__":
    main(run, __doc__)
