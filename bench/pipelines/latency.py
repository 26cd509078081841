"""The pipelines of tf.data's performance guide, each against its critical path.

Nothing here computes: the source sleeps 30 ms when it is opened and 15 ms for each of its 3 items,
the map function sleeps 30 ms, the training step 10 ms. So the least time that a pipeline can take
as it is written, its critical path, is a sum of sleeps, and whatever is measured beyond it is the
engine: threads that start and wake, hand-offs, what opening and closing an iterator costs. A sleep
itself ends a little late, which is measured beside it and not subtracted.

A target is met within 5 % + 5 ms of the critical path.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from typing import NamedTuple

import penstock as ps
from bench.pipelines.measure import Case, Figure, Spread, interleaved, main

OPEN, READ, MAP, STEP = 0.030, 0.015, 0.030, 0.010  # seconds
ITEMS = 3


class ArtificialDataset(ps.Dataset):
    """The guide's source: a function in the guise of a subclass."""

    @staticmethod
    def _generator(num_samples: int) -> Iterator[tuple[int]]:
        time.sleep(OPEN)
        for sample in range(int(num_samples)):
            time.sleep(READ)
            yield (sample,)

    def __new__(cls, num_samples: int = ITEMS) -> ps.Dataset:  # type: ignore[misc]
        """Return a dataset over a generator."""
        return ps.Dataset.from_generator(
            cls._generator,
            output_signature=ps.TensorSpec(shape=(1,), dtype="int64"),
            args=(num_samples,),
        )


def two_sources(calls: int | None) -> ps.Dataset:
    return ps.Dataset.range(2).interleave(lambda _: ArtificialDataset(), num_parallel_calls=calls)


def slow(sample: object) -> object:
    ps.py_function(lambda: time.sleep(MAP), [], ())
    return sample


class Configuration(NamedTuple):
    """One line of the table."""

    name: str
    build: Callable[[], ps.Dataset]
    epochs: int
    critical: float  # seconds
    why: str  # the longest chain of sleeps that must follow each other, in ms


# Per epoch, in ms. Reads of one source follow each other, and so do training steps, always.
CONFIGURATIONS = (
    Configuration(
        "naive",
        ArtificialDataset,
        2,
        # One thread does everything in turn.
        2 * (OPEN + ITEMS * (READ + STEP)),
        "2 x (30 + 3 x (15 + 10))",
    ),
    Configuration(
        "prefetch",
        lambda: ArtificialDataset().prefetch(ps.AUTOTUNE),
        2,
        # A step is shorter than a read, so only the last one is not hidden behind one.
        2 * (OPEN + ITEMS * READ + STEP),
        "2 x (30 + 3 x 15 + 10)",
    ),
    Configuration(
        "sequential interleave",
        lambda: two_sources(None),
        2,
        # Two sources, opened and read by the thread that trains.
        2 * (2 * OPEN + 2 * ITEMS * (READ + STEP)),
        "2 x (2 x 30 + 6 x (15 + 10))",
    ),
    Configuration(
        "parallel interleave",
        lambda: two_sources(ps.AUTOTUNE),
        2,
        # Both are opened and read side by side; from the first item on (at 45) two items come per
        # 15 and training takes 20 of them: the six steps follow each other without a gap.
        2 * (OPEN + READ + 2 * ITEMS * STEP),
        "2 x (30 + 15 + 6 x 10)",
    ),
    Configuration(
        "sequential map",
        lambda: ArtificialDataset().map(slow),
        2,
        # One thread does everything in turn.
        2 * (OPEN + ITEMS * (READ + MAP + STEP)),
        "2 x (30 + 3 x (15 + 30 + 10))",
    ),
    Configuration(
        "parallel map",
        lambda: ArtificialDataset().map(slow, num_parallel_calls=ps.AUTOTUNE),
        2,
        # Items are read at 45, 60 and 75. At most two calls (75 to 90) run at a time, so the third
        # item is mapped from 75 to 105, when two steps are over, and trained with until 115.
        2 * (OPEN + ITEMS * READ + MAP + STEP),
        "2 x (30 + 3 x 15 + 30 + 10)",
    ),
    Configuration(
        "map and cache, 5 epochs",
        lambda: ArtificialDataset().map(slow).cache(),
        5,
        # The first epoch is that of the sequential map; the others only train.
        OPEN + ITEMS * (READ + MAP + STEP) + 4 * ITEMS * STEP,
        "30 + 3 x (15 + 30 + 10) + 4 x 3 x 10",
    ),
)


def training(configuration: Configuration) -> Case:
    """Make the case: build the dataset and train; seconds as the guide measures them."""

    def case() -> float:
        start = time.perf_counter()
        dataset = configuration.build()
        for _ in range(configuration.epochs):
            for _ in dataset:
                time.sleep(STEP)
        return time.perf_counter() - start

    return case


def late() -> float:
    """Seconds by which a sleep of STEP ends late, on the average of ten."""
    start = time.perf_counter()
    for _ in range(10):
        time.sleep(STEP)
    return (time.perf_counter() - start) / 10 - STEP


def run() -> list[Figure]:
    rounds = interleaved({c.name: training(c) for c in CONFIGURATIONS}, repeats=5)
    lateness = Spread.of(late() for _ in range(5)).median
    return [
        Figure(
            f"latency, {c.name}",
            rounds.seconds(c.name).scaled(1e3),
            "ms",
            at_most=1e3 * c.critical * 1.05 + 5,
            note=f"critical path {1e3 * c.critical:.0f} = {c.why}; "
            f"beyond it {1e3 * (rounds.seconds(c.name).median - c.critical):.1f}; "
            f"sleeps end {1e3 * lateness:.2f} late",
        )
        for c in CONFIGURATIONS
    ]


if __name__ == "__main__":
    main(run, __doc__)
