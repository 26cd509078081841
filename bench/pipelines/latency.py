"""The pipelines of tf.data's performance guide, each against its critical path.

The workload `latency` of bench/peers, without the two final pipelines, which take seconds: nothing
computes, so whatever is measured beyond the critical path, a sum of sleeps, is the engine: threads
that start and wake, hand-offs, what opening and closing an iterator costs. A sleep itself ends a
little late, which is measured beside it and not subtracted.

A target is met within 5 % + 5 ms of the critical path.
"""

from __future__ import annotations

import time
from pathlib import Path

from bench.peers.loaders import penstock as pipelines
from bench.peers.workload import Task
from bench.peers.workloads.latency import STEP, WORKLOAD
from bench.pipelines.measure import Case, Figure, Spread, interleaved, main


def training(task: Task) -> Case:
    """Make the case: build the dataset and train; seconds of all epochs."""

    def case() -> float:
        start = time.perf_counter()
        WORKLOAD.take(pipelines.latency(task)(), task)
        return time.perf_counter() - start

    return case


def late() -> float:
    """Seconds by which a sleep of STEP ends late, on the average of ten."""
    start = time.perf_counter()
    for _ in range(10):
        time.sleep(STEP)
    return (time.perf_counter() - start) / 10 - STEP


def run() -> list[Figure]:
    nowhere = Path()
    names = [name for name in WORKLOAD.cases if not name.startswith("final")]
    tasks = {name: WORKLOAD.task(name, nowhere, nowhere) for name in names}
    rounds = interleaved({name: training(task) for name, task in tasks.items()}, repeats=5)
    lateness = Spread.of(late() for _ in range(5)).median
    return [
        Figure(
            f"latency, {name}",
            rounds.seconds(name).scaled(1e3),
            "ms",
            at_most=1e3 * task.critical * 1.05 + 5,
            note=f"critical path {1e3 * task.critical:.0f} = {task.why}; "
            f"beyond it {1e3 * (rounds.seconds(name).median - task.critical):.1f}; "
            f"sleeps end {1e3 * lateness:.2f} late",
        )
        for name, task in tasks.items()
    ]


if __name__ == "__main__":
    main(run, __doc__)
