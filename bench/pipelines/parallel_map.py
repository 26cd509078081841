"""map with num_parallel_calls=2, compared with a thread pool and with a serial loop.

- `np.sort` of 300,000 distinct numbers, which releases the GIL: compared with
  ``ThreadPoolExecutor(2).map`` over the same inputs;
- pure-Python functions of about 20 us, 200 us and 2 ms, which threads cannot run in parallel:
  compared with the serial loop; the overhead of the threads must stay small.
"""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor

import numpy as np

import penstock as ps
from bench.pipelines.measure import Case, Figure, drain, interleaved, main, timed

SORTS = 192
DIFFERENT = 24
NUMBERS = 300_000  # about 2 ms each
PASS = 0.25  # seconds of work per pass of the pure-Python functions


def sorts() -> list[Figure]:
    rows = np.random.default_rng(1).random((DIFFERENT, NUMBERS))
    inputs = [rows[i % DIFFERENT] for i in range(SORTS)]
    slices = ps.Dataset.from_tensor_slices(rows).repeat(SORTS // DIFFERENT)
    mapped = slices.map(np.sort, num_parallel_calls=2)
    with ThreadPoolExecutor(2) as pool:
        rounds = interleaved(
            {
                "serial": timed(lambda: drain(map(np.sort, inputs)), SORTS),
                "threads": timed(lambda: drain(pool.map(np.sort, inputs)), SORTS),
                "map": timed(lambda: drain(mapped), SORTS),
            }
        )
    ms = {case: rounds.seconds(case).median * 1e3 for case in rounds.rounds[0]}
    return [
        Figure(
            "map(np.sort, 2): speed / ThreadPoolExecutor(2)",
            rounds.ratio("threads", "map").scaled(100),
            "%",
            at_least=98,
            note=f"{ms['map']:.3f} against {ms['threads']:.3f} ms per call; "
            f"serial {ms['serial']:.3f}",
        )
    ]


def counting(microseconds: float) -> Callable[[int], int]:
    """Return a pure-Python function that takes about this long."""

    def work(x: int, turns: int = 1000) -> int:
        total = int(x)
        for i in range(turns):
            total += i & 3
        return total

    fastest = min(timed(lambda: work(1), at_least=0.02)() for _ in range(10))
    turns = round(1000 * microseconds * 1e-6 / fastest)
    return lambda x: work(x, turns)


def python_calls() -> list[Figure]:
    cases: dict[str, Case] = {}
    for microseconds in (20, 200, 2000):
        function = counting(microseconds)
        calls = round(PASS * 1e6 / microseconds)
        mapped = ps.Dataset.range(calls).map(function, num_parallel_calls=2)
        cases[f"serial {microseconds}"] = timed(
            lambda f=function, n=calls: drain(f(x) for x in range(n)), calls
        )
        cases[f"map {microseconds}"] = timed(lambda d=mapped: drain(d), calls)
    rounds = interleaved(cases)
    figures = []
    for microseconds in (20, 200, 2000):
        serial, mapped_case = f"serial {microseconds}", f"map {microseconds}"
        us = {case: rounds.seconds(case).median * 1e6 for case in (serial, mapped_case)}
        figures.append(
            Figure(
                f"map(pure Python, {microseconds} us, 2): time / serial loop",
                rounds.ratio(mapped_case, serial),
                "x",
                at_most=1.1,
                note=f"{us[mapped_case]:.1f} against {us[serial]:.1f} us per call",
            )
        )
    return figures


def run() -> list[Figure]:
    return sorts() + python_calls()


if __name__ == "__main__":
    main(run, __doc__)
