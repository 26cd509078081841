"""A trainer's step next to a lane, a pipeline whose background thread always runs Python.

The lane is a pipeline that consumes an infinite pure-Python generator (about 20 us per value) and
never delivers an element. It runs next to two kinds of step: 5 ms of pure Python, and twenty calls
of 80 us that release the GIL. The expected time is the step's time alone plus the seconds that the
lane ran during it (the CPU clock of its thread). The bound applies to the ratio of the measured to
the expected time: it shows that no time is lost between the two, not that the step is fast. The
slowdown, the slowest single step and the lane's speed (relative to the lane alone) are shown too.

The last figure is a trainer that needs data: a 5 ms step that takes a batch of 64 values each time
from a generator with 20 us per value. The expected time is the step plus the making of 64 values.
"""

from __future__ import annotations

import contextlib
import statistics
import threading
import time
from collections.abc import Callable, Iterator

import numpy as np

import penstock as ps
from bench.pipelines.measure import Case, Figure, Spread, interleaved, main, timed
from bench.pipelines.parallel_map import counting

STEP_MS = 5
SHORT_US = 80
SHORT_CALLS = 20
VALUE_US = 20
BATCH = 64
LASTING = 0.5  # seconds of steps per timing

Step = Callable[[], object]


def python_step() -> Step:
    work = counting(STEP_MS * 1000)
    return lambda: work(1)


def releasing_step() -> Step:
    """Return a step of twenty NumPy calls, each long enough to release the GIL."""
    numbers = np.random.default_rng(1).random(100_000)
    whole = min(timed(lambda: np.sqrt(numbers, out=numbers), 1, 0.05)() for _ in range(3))
    numbers = numbers[: round(len(numbers) * SHORT_US * 1e-6 / whole)]
    out = np.empty_like(numbers)

    def step() -> None:
        for _ in range(SHORT_CALLS):
            np.sqrt(numbers, out=out)

    return step


class Lane:
    """A pipeline whose thread is busy inside a `with` block."""

    def __init__(self) -> None:
        value = counting(VALUE_US)
        self.made = 0

        def endless() -> Iterator[int]:
            self.made = 0
            while True:
                value(1)
                self.made += 1
                yield self.made

        source = ps.Dataset.from_generator(endless)
        self.dataset = source.filter(lambda x: bool(x == 1)).prefetch(1)

    def __enter__(self) -> Lane:
        self.it = iter(self.dataset)
        next(self.it)  # the only element; from now on the lane searches for another
        lanes = [t.ident for t in threading.enumerate() if t.name.startswith("penstock")]
        self.clocks = {time.pthread_getcpuclockid(ident): 0.0 for ident in lanes if ident}
        return self

    def __exit__(self, *error: object) -> None:
        self.it.close()

    def ran(self) -> float:
        """Return the CPU seconds of the lane; idle threads add nothing, and may exit."""
        for clock in self.clocks:
            with contextlib.suppress(OSError):
                self.clocks[clock] = time.clock_gettime(clock)
        return sum(self.clocks.values())


def steps(step: Step) -> list[float]:
    times = []
    start = time.perf_counter()
    while time.perf_counter() - start < LASTING:
        begin = time.perf_counter()
        step()
        times.append(time.perf_counter() - begin)
    return times


def alone(step: Step) -> Case:
    return lambda: statistics.fmean(steps(step))


class Beside:
    """A timed step next to the lane, with details of the last timing."""

    def __init__(self, step: Step, lane: Lane) -> None:
        self.step = step
        self.lane = lane
        self.ran = 0.0  # seconds of the lane per step
        self.share = 0.0  # fraction of the time that the lane ran
        self.per_value = 0.0  # seconds per value of the lane
        self.slowest = 0.0  # seconds of the slowest step

    def __call__(self) -> float:
        """Time several steps, and return the mean seconds of one."""
        with self.lane as lane:
            made, ran, start = lane.made, lane.ran(), time.perf_counter()
            times = steps(self.step)
            ran, passed = lane.ran() - ran, time.perf_counter() - start
            self.per_value = passed / max(lane.made - made, 1)
        self.ran = ran / len(times)
        self.share = ran / passed
        self.slowest = max(times)
        return statistics.fmean(times)

    def lane_alone(self) -> float:
        """Return the seconds per value of the lane while this thread sleeps."""
        with self.lane as lane:
            made, start = lane.made, time.perf_counter()
            time.sleep(LASTING)
            return (time.perf_counter() - start) / (lane.made - made)


def never_idle(name: str, step: Step) -> list[Figure]:
    beside = Beside(step, Lane())
    rounds = interleaved(
        {
            "alone": alone(step),
            "lane": beside.lane_alone,
            "beside": beside,
            "ran": lambda: beside.ran,
            "share": lambda: beside.share,
            "per value": lambda: beside.per_value,
            "slowest": lambda: beside.slowest,
        }
    )

    middle = {case: rounds.seconds(case).median for case in rounds.rounds[0]}
    expected = [r["alone"] + r["ran"] for r in rounds.rounds]
    ratios = (r["beside"] / e for r, e in zip(rounds.rounds, expected, strict=True))
    return [
        Figure(
            f"{name} beside a busy lane: time / explained by the lane's share",
            Spread.of(ratios),
            "x",
            at_most=1.2,
            note=f"{middle['beside'] * 1e3:.2f} against {statistics.median(expected) * 1e3:.2f} ms "
            f"per step; the lane ran {middle['share']:.0%} of the time, at "
            f"{rounds.ratio('lane', 'per value').median:.0%} of its speed alone",
        ),
        Figure(
            f"{name} beside a busy lane: time / alone",
            rounds.ratio("beside", "alone"),
            "x",
            note=f"{middle['beside'] * 1e3:.2f} against {middle['alone'] * 1e3:.2f} ms; slowest "
            f"single step {rounds.seconds('slowest').high * 1e3:.1f} ms",
        ),
    ]


def wants_data(step: Step) -> Figure:
    value = counting(VALUE_US)

    def generate() -> Iterator[int]:
        while True:
            yield value(1)

    dataset = ps.Dataset.from_generator(generate).batch(BATCH).prefetch(2)

    def training() -> float:
        with iter(dataset) as it:
            next(it)

            def one() -> None:
                next(it)
                step()

            return statistics.fmean(steps(one))

    making = timed(lambda: [value(1) for _ in range(BATCH)])
    rounds = interleaved({"alone": alone(step), "making": making, "training": training})
    ms = {case: rounds.seconds(case).median * 1e3 for case in rounds.rounds[0]}
    return Figure(
        f"{STEP_MS} ms Python step that takes a batch: time / step + making the batch",
        Spread.of(r["training"] / (r["alone"] + r["making"]) for r in rounds.rounds),
        "x",
        at_most=1.2,
        note=f"{ms['training']:.2f} against {ms['alone']:.2f} + {ms['making']:.2f} ms",
    )


def run() -> list[Figure]:
    python = python_step()
    return [
        *never_idle(f"{STEP_MS} ms Python step", python),
        *never_idle(f"{SHORT_CALLS} GIL-releasing calls", releasing_step()),
        wants_data(python),
    ]


if __name__ == "__main__":
    main(run, __doc__)
