"""The overhead of the engine per element and per batch when there is almost no work.

- iterating ``range(n)``, compared with a plain ``for`` over a list of the same length;
- ``range(n).map(lambda x: x + 1).batch(256)``, compared with the equivalent plain loop with Python
  ints, a list and ``np.array`` (and with its tightest form, ``np.fromiter``);
- the same as a native function, compared with NumPy additions to whole batches of ``np.arange``;
- a native function of a thousand additions: row by row, in a plain loop and in a parallel map,
  compared with a map before ``batch(256)``, which asks for 256 rows per call;
- ``range(n).map(f).batch(256)`` where the plain function ``f`` also takes the keyword ``rng``,
  minus the same without it: with ``rng`` unused, and with one number drawn; the latter is compared
  with drawing from one shared generator;
- ``range(n).batch(256)``, compared with making the same batches with ``np.arange``;
- one ``next`` that returns a ready batch of two fields: from the buffer of ``prefetch``, and from a
  cache. For the former, a buffer is filled with all batches, untimed, and only emptying it is
  timed; many such rounds make up one repeat.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from itertools import islice
from typing import Any

import numpy as np

import penstock as ps
from bench.pipelines.measure import (
    AT_LEAST,
    Case,
    Figure,
    drain,
    interleaved,
    main,
    timed,
)

ELEMENTS = 500_000
BATCH = 256
LONG = 20_000  # elements of the pipelines with a long native function
DRAWING = 100_000  # elements of the pipelines with `rng`
READY = 2048  # batches ready in one buffer


def plain_map(count: int) -> Iterator[np.ndarray]:
    function = lambda x: x + 1  # noqa: E731 - the same object that the pipeline gets
    rows = []
    for x in range(count):
        rows.append(function(x))
        if len(rows) == BATCH:
            yield np.array(rows)
            rows = []
    if rows:
        yield np.array(rows)


def tight_map(count: int) -> Iterator[np.ndarray]:
    results = map(lambda x: x + 1, range(count))  # noqa: C417 - the same function, called
    while len(batch := np.fromiter(islice(results, BATCH), np.int64)):
        yield batch


def arange_batches(count: int) -> Iterator[np.ndarray]:
    for start in range(0, count, BATCH):
        yield np.arange(start, min(start + BATCH, count))


@ps.native
def thousand(x: Any) -> Any:
    for _ in range(1000):
        x = x + 1
    return x


def with_rng(x: int, *, rng: np.random.Generator) -> int:
    return x + 1


def drawn(x: int, *, rng: np.random.Generator) -> float:
    return x + rng.random()


def drawn_from(rng: np.random.Generator) -> Callable[[int], float]:
    return lambda x: x + rng.random()


def fields(kind: type) -> Any:
    """Return arrays whose rows, batched by 8, are the ready batches of two fields."""
    a = np.zeros((READY * 8, 4), np.float32)
    b = np.zeros(READY * 8, np.int64)
    return (a, b) if kind is tuple else {"image": a, "label": b}


def waiting(kind: type) -> Case:
    """Return a case of one `next` from a full prefetch buffer."""
    batches = ps.Dataset.from_tensor_slices(fields(kind)).batch(8)
    dataset = batches.take(READY).prefetch(READY)

    def case() -> float:
        spent = taken = 0
        while spent < AT_LEAST:
            with iter(dataset) as it:
                next(it)
                while it.stats()[0]["buffer_size"] < READY - 1:
                    time.sleep(0.0005)
                start = time.perf_counter()
                drain(it)
                spent += time.perf_counter() - start
                taken += READY - 1
        return spent / taken

    return case


def cached(kind: type) -> Case:
    """Return a case of one `next` from a cache in memory."""
    dataset = ps.Dataset.from_tensor_slices(fields(kind)).batch(8).cache()
    drain(dataset)
    return timed(lambda: drain(dataset), READY)


def run() -> list[Figure]:
    numbers = list(range(ELEMENTS))
    counting = ps.Dataset.range(ELEMENTS)
    mapped = counting.map(lambda x: x + 1).batch(BATCH)
    native = counting.map(ps.native(lambda x: x + 1)).batch(BATCH)
    drawing = ps.Dataset.range(DRAWING)
    no_rng = drawing.map(lambda x: x + 1).batch(BATCH)
    given_rng = drawing.map(with_rng).batch(BATCH)
    own_rng = drawing.map(drawn_from(np.random.default_rng(0))).batch(BATCH)
    used_rng = drawing.map(drawn).batch(BATCH)
    batched = counting.batch(BATCH)
    long = ps.Dataset.range(LONG)
    in_batches = long.map(thousand).batch(BATCH)
    in_a_loop = long.map(thousand)
    in_parallel = long.map(thousand, num_parallel_calls=2).batch(BATCH)
    rounds = interleaved(
        {
            "list": timed(lambda: drain(numbers), ELEMENTS),
            "range": timed(lambda: drain(counting), ELEMENTS),
            "plain map": timed(lambda: drain(plain_map(ELEMENTS)), ELEMENTS),
            "map": timed(lambda: drain(mapped), ELEMENTS),
            "tight map": timed(lambda: drain(tight_map(ELEMENTS)), ELEMENTS),
            "native": timed(lambda: drain(native), ELEMENTS),
            "added": timed(lambda: drain(b + 1 for b in arange_batches(ELEMENTS)), ELEMENTS),
            "no rng": timed(lambda: drain(no_rng), DRAWING),
            "given rng": timed(lambda: drain(given_rng), DRAWING),
            "own rng": timed(lambda: drain(own_rng), DRAWING),
            "used rng": timed(lambda: drain(used_rng), DRAWING),
            "long": timed(lambda: drain(in_batches), LONG),
            "long loop": timed(lambda: drain(in_a_loop), LONG),
            "long parallel": timed(lambda: drain(in_parallel), LONG),
            "batch": timed(lambda: drain(batched), ELEMENTS),
            "arange": timed(lambda: drain(arange_batches(ELEMENTS)), ELEMENTS),
            "waiting tuple": waiting(tuple),
            "waiting dict": waiting(dict),
            "cached tuple": cached(tuple),
            "cached dict": cached(dict),
        }
    )
    ns = {case: rounds.seconds(case).scaled(1e9) for case in rounds.rounds[0]}

    def beside(case: str, limit: str) -> str:
        return f"{ns[case].median:.1f} against {ns[limit].median:.1f} ns per element"

    figures = [
        Figure(
            "iterate range(n) / a for over a list",
            rounds.ratio("range", "list"),
            "x",
            at_most=3,
            note=beside("range", "list"),
        ),
        Figure(
            "range.map(x + 1).batch(256) / plain loop",
            rounds.ratio("map", "plain map"),
            "x",
            at_most=1,
            note=beside("map", "plain map"),
        ),
        Figure(
            "the same / np.fromiter(islice(map()))",
            rounds.ratio("map", "tight map"),
            "x",
            note=beside("map", "tight map"),
        ),
        Figure(
            "range.map(native x + 1).batch(256) / NumPy on whole batches",
            rounds.ratio("native", "added"),
            "x",
            at_most=0.86,  # 5 ns where NumPy takes 5.8
            note=beside("native", "added"),
        ),
        *(
            Figure(
                f"a native function of 1,000 additions, {how} / before batch(256)",
                rounds.ratio(case, "long"),
                "x",
                at_most=1.5,
                note=beside(case, "long"),
            )
            for case, how in (("long loop", "in a loop"), ("long parallel", "in two threads"))
        ),
        *(
            Figure(
                f"range.map(f).batch(256) where f is given rng{what}",
                rounds.difference(case, less).scaled(1e9),
                "ns",
                at_most=1000,
                note=beside(case, less),
            )
            for case, less, what in (
                ("given rng", "no rng", ", less f without"),
                ("used rng", "own rng", " and draws, less f with its own"),
            )
        ),
        Figure(
            "range.batch(256), per element",
            ns["batch"],
            "ns",
            at_most=5,
            note=beside("batch", "arange"),
        ),
    ]
    for case in ("waiting tuple", "waiting dict", "cached tuple", "cached dict"):
        where, kind = case.split()
        figures.append(
            Figure(
                f"next of a ready batch of two fields: {kind}, {where}",
                rounds.seconds(case).scaled(1e6),
                "us",
                at_most=0.3,
            )
        )
    return figures


if __name__ == "__main__":
    main(run, __doc__)
