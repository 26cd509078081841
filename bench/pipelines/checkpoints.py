"""The cost of saving an iterator's state: the time of `next` with and without, bytes, seconds.

In each run, randomly chosen steps directly follow a ``get_state()``, so that other programs and
periodic work of the pipeline affect both kinds equally. Saving stops nothing: the 50th and 99th
percentile of the time of `next` itself must stay within 10 % (the 99th plus 20 us, the resolution
of thread timing on an ordinary kernel). The table also shows the time of a `get_state`, the maximum
size of a state, and the time to the first element after a restore and in a fresh iterator.
"""

from __future__ import annotations

import functools
import time
from collections.abc import Callable
from typing import NamedTuple

import numpy as np

import penstock as ps
from bench.pipelines.measure import Figure, Spread, main

ROUNDS = 5
LEAST = 20e-6  # seconds that cannot be resolved


class Pipeline(NamedTuple):
    """A pipeline, and its number of timed steps with and without saving per round."""

    make: Callable[[], ps.Dataset]
    steps: int


@functools.cache
def jpeg() -> bytes:
    y, x = np.mgrid[:300, :400]
    image = np.stack([y % 256, x % 256, (x * y) // 97 % 256], -1).astype(np.uint8)
    return ps.image.encode_jpeg(image)


@ps.native
def decoded(contents: object) -> object:
    image = ps.image.resize(ps.image.decode_jpeg(contents, channels=3), (224, 224))
    return ps.image.random_flip_left_right(image) / 255


@ps.native
def odd(x: object) -> object:
    return x % 2 == 1  # type: ignore[operator]


def jpegs() -> ps.Dataset:
    ds = ps.Dataset.from_tensors(jpeg()).repeat()
    return ds.map(decoded, num_parallel_calls=2).batch(8).prefetch(2)


def shuffled() -> ps.Dataset:
    return ps.Dataset.range(10_000_000).shuffle(100_000, seed=1).batch(100).prefetch(2)


def shuffled_unindexed() -> ps.Dataset:
    # After a filter, elements are not addressable by index: the buffer holds elements instead.
    numbers = ps.Dataset.range(10_000_000).filter(odd)
    return numbers.shuffle(100_000, seed=1).batch(100).prefetch(2)


def opened(x: int) -> ps.Dataset:
    return ps.Dataset.range(1000 * x, 1000 * x + 1000)


def interleaved() -> ps.Dataset:
    many = ps.Dataset.range(1_000_000)
    return many.interleave(opened, 16, 4, num_parallel_calls=2).batch(100).prefetch(2)


PIPELINES = {
    "decoding and resizing": Pipeline(jpegs, 60),
    "shuffle of 10^5": Pipeline(shuffled, 2000),
    "shuffle of 10^5 behind a filter": Pipeline(shuffled_unindexed, 2000),
    "interleave of 16": Pipeline(interleaved, 3000),
}


class Taken(NamedTuple):
    """The measurements of one run."""

    plain: tuple[float, float]  # seconds of a next: 50th and 99th percentile
    saved: tuple[float, float]  # directly after a get_state
    save: float  # the median get_state, seconds
    size: int  # of the largest state
    state: bytes  # the last one


def taken(pipeline: Pipeline) -> Taken:
    """Time each step of a run after the first one, which fills buffers."""
    clock = time.perf_counter
    nexts: tuple[list[float], list[float]] = ([], [])
    saves, state, size = [], b"", 0
    with iter(pipeline.make()) as it:
        next(it)
        for saving in np.random.default_rng(1).permutation([0, 1] * pipeline.steps):
            if saving:
                start = clock()
                state = it.get_state()
                saves.append(clock() - start)
                size = max(size, len(state))
            start = clock()
            next(it)
            nexts[saving].append(clock() - start)
    plain, saved = (tuple(np.percentile(each, [50, 99]).tolist()) for each in nexts)
    return Taken(plain, saved, float(np.median(saves)), size, state)


def to_first(pipeline: Pipeline, state: bytes | None) -> float:
    """Return the seconds until a new, optionally restored, iterator yields its first element."""
    ds = pipeline.make()
    start = time.perf_counter()
    with iter(ds) as it:
        if state is not None:
            it.set_state(state)
        next(it)
        return time.perf_counter() - start


def figures(name: str, pipeline: Pipeline) -> list[Figure]:
    taken(pipeline)
    rounds = [taken(pipeline) for _ in range(ROUNDS)]
    fresh = Spread.of(to_first(pipeline, None) for _ in range(3))
    restored = Spread.of(to_first(pipeline, each.state) for each in rounds[:3])
    made = []
    for i, percentile in enumerate(("p50", "p99")):
        slack = LEAST if percentile == "p99" else 0.0
        ratio = Spread.of(each.saved[i] / (each.plain[i] + slack) for each in rounds)
        plain, saved = (
            1e6 * Spread.of(values).median
            for values in ([e.plain[i] for e in rounds], [e.saved[i] for e in rounds])
        )
        note = f"{plain:.1f} us, {saved:.1f} us with saving"
        title = f"next while saving, {name}, {percentile}"
        made.append(Figure(title, ratio, "x", at_most=1.1, note=note))
    return [
        *made,
        Figure(
            f"get_state, {name}",
            Spread.of(each.save for each in rounds).scaled(1e6),
            "us",
            note=f"at most {max(each.size for each in rounds)} bytes",
        ),
        Figure(
            f"first element after set_state, {name}",
            restored.scaled(1e3),
            "ms",
            note=f"{2 * pipeline.steps} steps in; of a fresh iterator {1e3 * fresh.median:.2f}",
        ),
    ]


def run() -> list[Figure]:
    return [figure for name, each in PIPELINES.items() for figure in figures(name, each)]


if __name__ == "__main__":
    main(run, __doc__)
