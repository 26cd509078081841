"""``python -m penstock bench``: compare some pipelines with plain Python loops."""

from __future__ import annotations

import argparse
import json
import statistics
import time
from collections.abc import Callable, Iterator, Sequence
from typing import Any, NamedTuple

import numpy as np

import penstock as ps

_ROUNDS = 3
_STEP = 0.002  # seconds of the training step
_WAIT = 0.001  # seconds to read a file
_ROWS = 200_000
_BATCH = 64


class Case(NamedTuple):
    """Elements that both a loop and a pipeline produce.

    Attributes
    ----------
    name : str
    elements : int
        Number of elements before batching.
    step : float
        Seconds of the training step after each batch.
    loop : callable
        Returns the batches, made with plain Python and NumPy.
    pipeline : callable
        Returns a dataset of the same batches.
    """

    name: str
    elements: int
    step: float
    loop: Callable[[], Iterator[Any]]
    pipeline: Callable[[], ps.Dataset]


def main(argv: Sequence[str] | None = None) -> int:
    """Compare some pipelines with plain loops, in less than half a minute.

    Parameters
    ----------
    argv : sequence of str, optional
        Arguments after ``bench``. ``None`` uses those of the process.

    Returns
    -------
    int
        0.
    """
    parser = argparse.ArgumentParser(
        prog="python -m penstock bench",
        description="Compare some pipelines with plain Python loops that make the same batches, on "
        "this machine. Both take turns; the medians of three rounds count.",
    )
    parser.add_argument("--json", action="store_true", help="print the figures as JSON")
    given = parser.parse_args(argv)
    found = [_measured(case) for case in ps.progress(_cases(), "bench")]
    if given.json:
        print(json.dumps(found))
        return 0
    print(f"{'elements/s':40}{'plain loop':>12}{'penstock':>12}{'':>8}")
    for each in found:
        ratio = f"{each['penstock'] / each['loop']:.1f}x"
        print(f"{each['case']:40}{each['loop']:>12,.0f}{each['penstock']:>12,.0f}{ratio:>8}")
    return 0


def _measured(case: Case) -> dict[str, Any]:
    """Return the elements per second of both, measured alternately."""
    seconds: dict[str, list[float]] = {"loop": [], "penstock": []}
    for _ in range(_ROUNDS):
        seconds["loop"].append(_time(case, case.loop()))
        seconds["penstock"].append(_time(case, iter(case.pipeline())))
    rates = {name: case.elements / statistics.median(each) for name, each in seconds.items()}
    return {"case": case.name, **rates}


def _time(case: Case, batches: Iterator[Any]) -> float:
    start = time.perf_counter()
    for _ in batches:
        if case.step:
            time.sleep(case.step)
    return time.perf_counter() - start


def _batches(elements: Iterator[Any]) -> Iterator[Any]:
    held: list[Any] = []
    for element in elements:
        held.append(element)
        if len(held) == _BATCH:
            yield np.stack(held)
            held = []
    if held:
        yield np.stack(held)


def _wait(x: Any) -> Any:
    time.sleep(_WAIT)
    return x


def _count(x: Any) -> int:
    total = 0
    for i in range(5_000):
        total += i & int(x)
    return total


def _scale(x: Any) -> Any:
    return x * 3 + 1


def _cases() -> list[Case]:
    rows = np.random.default_rng(0).standard_normal((_ROWS, 32), np.float32)
    waits, counts, scales = 1024, 2048, 400_000

    def shuffled() -> Iterator[Any]:
        order = np.random.default_rng(1).permutation(_ROWS)
        for start in range(0, _ROWS, _BATCH):
            yield rows[order[start : start + _BATCH]]

    return [
        Case(
            "a function that waits, a training step",
            waits,
            _STEP,
            lambda: _batches(map(_wait, np.arange(waits))),
            lambda: (
                ps.Dataset.range(waits).map(_wait, num_parallel_calls=8).batch(_BATCH).prefetch(2)
            ),
        ),
        Case(
            "a function of pure Python, threads",
            counts,
            0,
            lambda: _batches(map(_count, np.arange(counts))),
            lambda: ps.Dataset.range(counts).map(_count, num_parallel_calls=2).batch(_BATCH),
        ),
        Case(
            "the same in worker processes",
            counts,
            0,
            lambda: _batches(map(_count, np.arange(counts))),
            lambda: (
                ps.Dataset.range(counts)
                .map(_count, num_parallel_calls=ps.AUTOTUNE, executor="process")
                .batch(_BATCH)
            ),
        ),
        Case(
            "x * 3 + 1, @ps.native",
            scales,
            0,
            lambda: _batches(map(_scale, np.arange(scales))),
            lambda: ps.Dataset.range(scales).map(ps.native(_scale)).batch(_BATCH),
        ),
        Case(
            "shuffled rows of 128 B in memory",
            _ROWS,
            0,
            shuffled,
            lambda: ps.Dataset.from_tensor_slices(rows).shuffle(_ROWS).batch(_BATCH),
        ),
    ]
