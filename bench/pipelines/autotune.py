"""AUTOTUNE, compared with the best fixed numbers of calls found by a sweep.

Each pipeline runs with AUTOTUNE for several seconds, until it has settled; later changes are
counted. The sweep over fixed calls follows. Finally AUTOTUNE alternates with the best of them.
"""

from __future__ import annotations

import hashlib
import itertools
import time
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np

import penstock as ps
from bench.pipelines.measure import Figure, main
from bench.spread import Spread

SETTLING = 10.0  # seconds for AUTOTUNE to settle, enough to judge its first trials
WINDOW = 0.8  # seconds per measurement
STEADY = 30.0  # seconds after that, in which changes are counted
ROUNDS = 5  # of alternating AUTOTUNE and the best fixed calls
ONE = (1, 2, 4, 8, 16, 32, 64)
TWO = (1, 4, 16, 64)  # for each of two maps
_ENDLESS = 10**9
_DATA = bytes(1 << 20)

Build = Callable[..., ps.Dataset]


def waits(milliseconds: float) -> Callable[[Any], Any]:
    def work(x: Any) -> Any:
        time.sleep(milliseconds / 1e3)
        return x

    return work


def hashes(kilobytes: int) -> Callable[[Any], Any]:
    part = _DATA[: kilobytes << 10]

    def work(x: Any) -> Any:
        hashlib.sha256(part).digest()
        return x

    return work


def counts(rounds: int) -> Callable[[Any], Any]:
    def work(x: Any) -> Any:
        total = 0
        for i in range(rounds):
            total += i
        return x

    return work


def both(*functions: Callable[[Any], Any]) -> Callable[[Any], Any]:
    def work(x: Any) -> Any:
        for function in functions:
            x = function(x)
        return x

    return work


def uneven(x: Any) -> Any:
    time.sleep(0.02 if int(x) % 16 == 0 else 0.001)
    return x


def one(function: Callable[[Any], Any]) -> Build:
    def build(calls: int) -> ps.Dataset:
        return ps.Dataset.range(_ENDLESS).map(function, num_parallel_calls=calls).prefetch(8)

    return build


def two(first: Callable[[Any], Any], second: Callable[[Any], Any]) -> Build:
    def build(calls: int, more: int) -> ps.Dataset:
        ds = ps.Dataset.range(_ENDLESS).map(first, num_parallel_calls=calls)
        return ds.map(second, num_parallel_calls=more).prefetch(8)

    return build


def native(calls: int) -> ps.Dataset:
    @ps.native
    def work(x: Any) -> Any:
        return ps.image.resize(x, (96, 96))

    image = np.zeros((256, 256, 3), np.uint8)
    ds = ps.Dataset.from_tensors(image).repeat()
    return ds.map(work, num_parallel_calls=calls).batch(8).prefetch(4)


PIPELINES: dict[str, tuple[Build, int, float]] = {  # tuned maps, seconds of the step
    "waits 1 ms": (one(waits(1)), 1, 0),
    "waits 20 ms": (one(waits(20)), 1, 0),
    "waits 5 ms, step of 1 ms": (one(waits(5)), 1, 0.001),
    "waits unevenly": (one(uneven), 1, 0),
    "hashes 1 MB": (one(hashes(1024)), 1, 0),
    "hashes 64 KB": (one(hashes(64)), 1, 0),
    "holds the GIL": (one(counts(20_000)), 1, 0),
    "waits 4 ms and hashes": (one(both(waits(4), hashes(512))), 1, 0),
    "waits 4 ms and holds the GIL": (one(both(waits(4), counts(5_000))), 1, 0),
    "waits 10 ms, then hashes": (two(waits(10), hashes(512)), 2, 0),
    "hashes, then waits 5 ms, step of 2 ms": (two(hashes(256), waits(5)), 2, 0.002),
    "a native resize": (native, 1, 0),
}


def run(only: Sequence[str] = tuple(PIPELINES)) -> list[Figure]:
    return [figure for name in only for figure in _compared(name, *PIPELINES[name])]


def _compared(name: str, build: Build, maps: int, step: float) -> list[Figure]:
    with iter(build(*[ps.AUTOTUNE] * maps)) as tuned:
        rate_of(tuned, step, SETTLING)
        settled = _moves(tuned)
        rate_of(tuned, step, STEADY)
        later = _moves(tuned)
        calls = [stage["parallelism"] for stage in tuned.stats() if stage["kind"] == "parallel_map"]
        best, rate = _best(build, maps, step)
        # Measure the best of the sweep again, alternating with AUTOTUNE: it was also the luckiest
        # of the sweep, and the speed of a machine drifts.
        shares = []
        for _ in range(ROUNDS):
            reached = rate_of(tuned, step, WINDOW, WINDOW / 2)
            with iter(build(*best)) as running:
                shares.append(reached / rate_of(running, step, WINDOW, WINDOW / 2))
    note = f"AUTOTUNE {calls}, {settled} moves; best {list(best)}, {rate:,.5g} elements/s"
    return [
        Figure(name, Spread.of(shares), "x", at_least=0.95, note=note),
        Figure(f"{name}, steady", Spread.of([later - settled]), "moves", at_most=1),
    ]


def _best(build: Build, maps: int, step: float) -> tuple[tuple[int, ...], float]:
    """Return the fastest numbers of calls, and their rate."""
    rates = {}
    for each in itertools.product(ONE if maps == 1 else TWO, repeat=maps):
        with iter(build(*each)) as running:
            rates[each] = rate_of(running, step, WINDOW, WINDOW / 2)
    best = max(rates, key=lambda each: rates[each])
    return best, rates[best]


def _moves(iterator: ps.Iterator) -> int:
    """Return the number of changes; simultaneous ones count once."""
    moves = iterator.tuning_moves()
    return len(
        {round(move["seconds"], 1) for move in moves if move["knob"] == "num_parallel_calls"}
    )


def rate_of(iterator: Iterator[Any], step: float, seconds: float, before: float = 0.0) -> float:
    """Return elements per second, measured after `before` seconds."""
    start = time.perf_counter()
    began, taken = start, 0
    while (now := time.perf_counter()) < start + before + seconds:
        next(iterator)
        if step:
            time.sleep(step)
        if now < start + before:
            began = time.perf_counter()
        else:
            taken += 1
    return taken / (time.perf_counter() - began)


if __name__ == "__main__":
    main(run, __doc__, list(PIPELINES))
