"""Two Ray workers compared with two local processes, and the consumer's cost per element.

The work is 5 ms of pure Python per element. Both are timed after their workers have started and are
busy. The consumer's cost is the CPU time of its thread, with leases of 256 numbers and with leases
of one. The model in bench/scaling.md derives the cost of a lease from the latter. Needs Ray.
"""

from __future__ import annotations

import itertools
import time
from collections.abc import Iterator
from typing import Any

import penstock as ps
from bench.pipelines.measure import Figure, Rounds, interleaved, main
from bench.pipelines.processes import turns_in, work

TURNS = turns_in(5e-3)
ELEMENTS = 600
LARGE = 256


def slow(x: Any) -> Any:
    return work(TURNS)


def steady(it: Iterator[Any], warm: int, count: int) -> float:
    """Return the seconds per element, after the elements that were made ahead are consumed."""
    drop(it, warm)
    began = time.perf_counter()
    drop(it, count)
    return (time.perf_counter() - began) / count


def drop(it: Iterator[Any], count: int) -> None:
    for _ in itertools.islice(it, count):
        pass


def of_ray() -> float:
    ds = ps.Dataset.counter().map(slow).distribute(num_workers=2)
    with iter(ds) as it:
        return steady(it, 300, ELEMENTS)


def of_processes() -> float:
    ds = ps.Dataset.counter().map(slow, num_parallel_calls=2, executor="process")
    with iter(ds) as it:
        return steady(it, 300, ELEMENTS)


def of_consumer(split: int) -> float:
    """Return this thread's CPU seconds per element."""
    count = 200 * split
    with iter(ps.Dataset.counter().distribute(num_workers=1, split=split)) as it:
        drop(it, 20 * split)
        began = time.thread_time()
        drop(it, count)
        return (time.thread_time() - began) / count


def run() -> list[Figure]:
    import ray

    ray.init(num_cpus=2, include_dashboard=False, log_to_driver=False)
    speeds = interleaved({"ray": of_ray, "processes": of_processes}, repeats=5)
    costs: Rounds = interleaved(
        {"batched": lambda: of_consumer(LARGE), "alone": lambda: of_consumer(1)}, repeats=5
    )
    ray.shutdown()
    return [
        Figure(
            "5 ms an element: 2 Ray workers against 2 processes of this program",
            speeds.ratio("processes", "ray"),
            "x",
            at_least=0.95,
            note=f"{speeds.seconds('processes').median * 1e3:.3g} ms an element in processes",
        ),
        Figure(
            f"the consumer, an element of a lease of {LARGE}",
            costs.seconds("batched").scaled(1e6),
            "us",
            at_most=20,
        ),
        Figure("the consumer, a lease of one", costs.seconds("alone").scaled(1e6), "us"),
    ]


if __name__ == "__main__":
    main(run, __doc__)
