"""The pipelines of the tf.data performance guide, each compared with its critical path.

The workload `latency` of bench/peers computes nothing. The critical path is a series of sleeps,
measured in the same rounds. All time beyond it is spent in the engine: starting and waking threads,
hand-offs, opening and closing an iterator.

A target is met within 3 % + 3 ms of the critical path.
"""

from __future__ import annotations

import time
from pathlib import Path

from bench.peers.loaders.limit import waiting as limit
from bench.peers.loaders.penstock import waiting as pipelines
from bench.peers.workload import Task
from bench.peers.workloads.latency import WORKLOAD
from bench.pipelines.measure import Case, Figure, Spread, interleaved, main

SHARE, MORE = 1.03, 0.003  # factor on the critical path; seconds


def training(task: Task) -> Case:
    """Return a case that builds the dataset and trains; it measures the seconds of all epochs."""

    def case() -> float:
        start = time.perf_counter()
        WORKLOAD.take(pipelines.latency(task)(), task)
        return time.perf_counter() - start

    return case


def beside(task: Task, name: str) -> Figure:
    """Measure one pipeline, alternating with its critical path."""
    rounds = interleaved({"path": lambda: limit.latency(task), "ours": training(task)}, repeats=5)
    ours, path = rounds.seconds("ours").median, rounds.seconds("path").median
    asleep = sum(times * seconds for times, seconds in task.path)
    return Figure(
        f"latency, {name}: time / its critical path + {MORE * 1e3:.0f} ms",
        Spread.of(r["ours"] / (r["path"] + MORE) for r in rounds.rounds),
        "x",
        at_most=SHARE,
        note=f"{ours * 1e3:.1f} against {path * 1e3:.1f} ms, of which {asleep * 1e3:.0f} were "
        "asked for",
    )


def run() -> list[Figure]:
    nowhere = Path()
    return [beside(WORKLOAD.task(name, nowhere, nowhere), name) for name in WORKLOAD.cases]


if __name__ == "__main__":
    main(run, __doc__)
