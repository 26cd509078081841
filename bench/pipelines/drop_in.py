"""``ps.prefetch`` around a generator, and a generator split into indices and a parallel map.

A loop with 1 to 8 ms of loading and of step per item. Each of them holds the GIL (pure Python),
computes without it (SHA-256) or waits (sleep):

- the overhead of ``ps.prefetch``: the time of the loop with it, compared with the loop without,
  where nothing can be hidden because there is no step, or because loading and step both hold the
  GIL. Each item wakes one thread, or two if the GIL is held. The bound is 5 % or, if higher, the
  overhead of a handwritten thread and ``queue.Queue``;
- the hidden share of the smaller of loading and step, which are also measured alone in the same
  round: everything except the first item's can be hidden. Where the GIL is held the limit is lower,
  and zero if both hold it; the share that the handwritten thread hides is shown for comparison;
- ``from_generator(indices).map(load, num_parallel_calls=n)``, compared with the plain loop over the
  loading generator, and with ``ThreadPoolExecutor(n).map``, which is its limit.
"""

from __future__ import annotations

import hashlib
import queue
import threading
import time
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import NamedTuple

import numpy as np

import penstock as ps
from bench.pipelines.measure import Case, Figure, Rounds, Spread, drain, interleaved, main, timed
from bench.pipelines.parallel_map import counting

PASS = 0.3  # seconds of the slower part per pass of a loop
ITEM = np.zeros((32, 8))

Work = Callable[[], object]


def holding(ms: float) -> Work:
    """Return work in pure Python, which holds the GIL."""
    count = counting(1e3 * ms)
    return lambda: count(1)


def computing(ms: float) -> Work:
    """Return work in a single call that releases the GIL."""
    block = bytes(1 << 20)
    whole = min(timed(lambda: hashlib.sha256(block), at_least=0.02)() for _ in range(10))
    block = block * (1 + int(1e-3 * ms / whole))
    part = memoryview(block)[: int((1 << 20) * 1e-3 * ms / whole)]
    return lambda: hashlib.sha256(part)


def waiting(ms: float) -> Work:
    """Return work that uses no CPU."""
    return lambda: time.sleep(1e-3 * ms)


def in_a_thread(source: Iterable[object]) -> Iterator[object]:
    """Produce items in a thread, the usual code without a library."""
    items: queue.Queue[object] = queue.Queue(2)

    def produce() -> None:
        for item in source:
            items.put(item)
        items.put(None)

    threading.Thread(target=produce).start()
    while (item := items.get()) is not None:
        yield item


class Loop(NamedTuple):
    """A training loop: its names in the table, the loading of an item, and the step."""

    name: str
    load: Work
    step: Work
    items: int

    def batches(self) -> Iterator[dict[str, np.ndarray]]:
        for _ in range(self.items):
            self.load()
            yield {"x": ITEM}

    def run(self, loader: Iterable[object]) -> None:
        for _ in loader:
            self.step()

    def cases(self) -> dict[str, Case]:
        prefetched = ps.prefetch(self.batches)
        parts = {
            "load": lambda: drain(self.batches()),
            "step": lambda: [self.step() for _ in range(self.items)],
            "plain": lambda: self.run(self.batches()),
            "by hand": lambda: self.run(in_a_thread(self.batches())),
            "prefetch": lambda: self.run(prefetched),
        }
        return {name: timed(part, self.items) for name, part in parts.items()}


def loop(
    load: Callable[[float], Work], ms: float, step: Callable[[float], Work], long: float
) -> Loop:
    """Return a loop with these milliseconds of loading and step per item; 0 omits the part."""
    parts = [f"{ms:g} ms {load.__name__}"]
    parts.append(f"{long:g} ms {step.__name__}" if long else "no step")
    work = step(long) if long else lambda: None
    return Loop(", ".join(parts), load(ms), work, round(PASS * 1e3 / max(ms, long)))


def adds() -> list[Figure]:
    """Measure loops in which nothing can be hidden."""
    figures = []
    for each in (
        loop(waiting, 1, holding, 0),
        loop(computing, 1, holding, 0),
        loop(computing, 10, holding, 0),
        loop(holding, 1, holding, 0),
        loop(holding, 10, holding, 0),
        loop(holding, 1, holding, 1),
        loop(holding, 5, holding, 5),
    ):
        wanted = ("plain", "by hand", "prefetch")
        rounds = interleaved({k: v for k, v in each.cases().items() if k in wanted})
        ms = {case: rounds.seconds(case).median * 1e3 for case in rounds.rounds[0]}
        by_hand = rounds.ratio("by hand", "plain").median
        figures.append(
            Figure(
                f"ps.prefetch, {each.name}: time / plain loop",
                rounds.ratio("prefetch", "plain"),
                "x",
                at_most=max(1.05, by_hand),
                note=f"{ms['prefetch']:.3f} against {ms['plain']:.3f} ms per item; by hand "
                f"{by_hand:.2f} x",
            )
        )
    return figures


def hides() -> list[Figure]:
    """Measure loops in which the whole smaller part can be hidden, except the first item's."""
    figures = []
    for each, bound in (
        (loop(waiting, 2, waiting, 2), 95),
        (loop(waiting, 2, waiting, 8), 95),
        (loop(waiting, 8, waiting, 2), 95),
        (loop(computing, 2, waiting, 4), 95),
        (loop(waiting, 4, computing, 2), 95),
        (loop(computing, 3, computing, 3), 95),
        (loop(holding, 2, computing, 4), None),
        (loop(holding, 4, computing, 2), None),
        (loop(holding, 2, waiting, 4), None),
        (loop(computing, 2, holding, 4), None),
        (loop(holding, 3, holding, 3), None),
    ):
        rounds = interleaved(each.cases())
        ms = {case: rounds.seconds(case).median * 1e3 for case in rounds.rounds[0]}
        share, by_hand = (hidden(rounds, case, each.items) for case in ("prefetch", "by hand"))
        figures.append(
            Figure(
                f"ps.prefetch, {each.name}: hidden of the smaller",
                share,
                "%",
                at_least=bound,
                note=f"{ms['load']:.2f} and {ms['step']:.2f} alone; {ms['prefetch']:.2f} ms per "
                f"item, plain loop {ms['plain']:.2f}; by hand {by_hand.median:.0f} %",
            )
        )
    return figures


def hidden(rounds: Rounds, case: str, items: int) -> Spread:
    """Return the hidden part of the smaller of loading and step, in percent of the maximum."""
    can_be = (items - 1) / items
    return Spread.of(
        100 * (r["load"] + r["step"] - r[case]) / (can_be * min(r["load"], r["step"]))
        for r in rounds.rounds
    )


def taken_apart(load: Work, name: str, calls: int, at_least: float | None) -> Figure:
    """Compare a loading generator with a generator of indices followed by a parallel map."""

    def generator(items: int) -> Iterator[np.ndarray]:
        for _ in range(items):
            load()
            yield ITEM

    def load_item(index: int) -> np.ndarray:
        load()
        return ITEM

    items = 16 * calls
    indices = ps.Dataset.from_generator(lambda: range(items))
    mapped = indices.map(load_item, num_parallel_calls=calls).prefetch(2)
    with ThreadPoolExecutor(calls) as pool:
        rounds = interleaved(
            {
                "plain": timed(lambda: drain(generator(items)), items),
                "pool": timed(lambda: drain(pool.map(load_item, range(items))), items),
                "map": timed(lambda: drain(mapped), items),
            }
        )
    limit = rounds.ratio("plain", "pool").median
    ms = {case: rounds.seconds(case).median * 1e3 for case in rounds.rounds[0]}
    return Figure(
        f"indices -> map({name}, {calls}): speed / generator that loads",
        rounds.ratio("plain", "map"),
        "x",
        at_least=at_least,
        note=f"{ms['map']:.2f} against {ms['plain']:.2f} ms per item; a pool of {calls} threads: "
        f"{limit:.2f} x",
    )


def run() -> list[Figure]:
    return [
        *adds(),
        *hides(),
        taken_apart(waiting(5), "waits 5 ms", 8, 7.2),
        taken_apart(computing(4), "computes 4 ms", 2, 1.8),
        taken_apart(holding(4), "holds the GIL for 4 ms", 2, 0.95),
    ]


if __name__ == "__main__":
    main(run, __doc__)
