"""The sleeping pipelines of the tf.data performance guide, against their critical paths.

There is no computation: a source sleeps when it is opened and for each item, and functions and the
training step sleep too. The minimum time of a pipeline as written, its critical path, is a series
of sleeps, each of which takes slightly longer than requested.
"""

from __future__ import annotations

import time
from collections.abc import Iterable, Iterator
from typing import Any

from bench.peers.workload import Task, Workload

OPEN, READ, MAP, STEP = 0.030, 0.015, 0.030, 0.010  # seconds
ITEMS = 3
MANY = 50  # items of each of the two sources of the final pipelines, and of a batch
SLOW, COPY = 0.001, 0.0001  # seconds per item of the functions of the final pipelines


Sleeps = tuple[tuple[int, float], ...]  # pairs of a number of sleeps and their seconds


def _case(epochs: int, items: int, path: Sleeps) -> dict[str, Any]:
    return {"epochs": epochs, "n": items * epochs, "weight": 1 / (items * epochs), "path": path}


class Latency(Workload):
    title = "Latency"
    summary = (
        "The pipelines of tf.data's performance guide: a source that sleeps 30 ms when opened and "
        "15 ms per item, 3 items; a function of 30 ms; a training step of 10 ms. The final ones "
        "have two sources of 50 items, a function of 1.1 ms and batches of 50, which are "
        "unbatched again. Two epochs; five with `map and cache` and the final ones. tf.data adds a "
        "prefetch of its own to some."
    )
    unit = "ms"
    limit = "the critical path: the sleeps that have to follow each other in that pipeline, slept"
    bound = (
        "Waking threads, which takes some 50 us each on a virtual machine and happens several "
        "times for each item, and starting them in each epoch."
    )
    rate = False
    scale = 1e3
    # Reads of one source are always sequential, and training steps too.
    cases = {
        # One thread does everything sequentially.
        "naive": _case(2, 3, ((2, OPEN), (6, READ), (6, STEP))),
        # A step is shorter than a read, so reads hide all steps except the last one.
        "prefetch": _case(2, 3, ((2, OPEN), (6, READ), (2, STEP))),
        # Two sources, opened and read by the training thread.
        "sequential interleave": _case(2, 6, ((4, OPEN), (12, READ), (12, STEP))),
        # Both are opened and read in parallel. From the first item on (at 45), two items arrive per
        # 15 and training takes 20 for them: the six steps follow each other without a gap.
        "parallel interleave": _case(2, 6, ((2, OPEN), (2, READ), (12, STEP))),
        # One thread does everything sequentially.
        "sequential map": _case(2, 3, ((2, OPEN), (6, READ), (6, MAP), (6, STEP))),
        # Items are read at 45, 60 and 75. At most two calls run concurrently (75 to 90). The third
        # item is mapped from 75 to 105, after two steps have finished, and trained on until 115.
        "parallel map": _case(2, 3, ((2, OPEN), (6, READ), (2, MAP), (2, STEP))),
        # The first epoch equals that of the sequential map; the others only train.
        "map and cache": _case(5, 3, ((1, OPEN), (3, READ), (3, MAP), (5 * 3, STEP))),
        # One thread does everything sequentially, for each of 100 items.
        "final naive": _case(
            5,
            2 * MANY,
            ((10, OPEN), (10 * MANY, READ), (10 * MANY, SLOW + COPY), (10 * MANY, STEP)),
        ),
        # The parallel sources fill two batches after 50 reads. The first batch is ready after 25
        # reads of each, but its function and 50 steps take 555, longer than the other 25 reads.
        # From then on only the steps count and, for the first batch of an epoch, the functions
        # before them.
        "final optimised": _case(
            5,
            2 * MANY,
            (
                (1, OPEN),
                (MANY // 2, READ),
                (1, MANY * SLOW),
                (5, MANY * COPY),
                (10 * MANY, STEP),
            ),
        ),
    }
    seconds = 0.3
    fresh = True
    together = True

    def take(self, elements: Iterable[Any], task: Task) -> int:
        """Train."""
        steps = 0
        for _ in elements:
            time.sleep(STEP)
            steps += 1
        return steps

    def check(self, elements: Iterator[Any], task: Task) -> None:
        """Do nothing: the items are counted during training."""


def items(count: int) -> Iterator[int]:
    """Yield the items of one source."""
    time.sleep(OPEN)
    for item in range(int(count)):
        time.sleep(READ)
        yield item


WORKLOAD = Latency()
