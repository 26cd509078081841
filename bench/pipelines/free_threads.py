"""map in two threads compared with the serial loop, for pure-Python functions, without a GIL.

A free-threaded Python (python3.13t, python3.14t) runs them in parallel. With a GIL the figures show
no speed-up and have no target. Two bare threads that return nothing show the interpreter's own
limit. CPU time shows the overhead of the map even on a busy machine. The last figure is the cost of
an iterator that eight threads share.
"""

from __future__ import annotations

import sysconfig
import threading
import time
from collections.abc import Callable
from typing import Any

import penstock as ps
from bench.pipelines.measure import Figure, drain, interleaved, main, timed
from bench.pipelines.processes import turns_in, work

FREE = bool(sysconfig.get_config_var("Py_GIL_DISABLED"))
SLOW = turns_in(1e-3)
QUICK = turns_in(5e-6)
SHARED = 400_000


def slow(x: Any) -> Any:
    return work(SLOW)


def quick(x: Any) -> Any:
    return work(QUICK)


def words(x: Any) -> Any:
    """Return a new dict, like most user functions."""
    text = f"{x} and {x + 1} and {x + 2}"
    return {"length": sum(len(word) for word in text.split() * 20), "text": text}


def _in_threads(call: Callable[[int], None], threads: int) -> None:
    started = [threading.Thread(target=call, args=(i,)) for i in range(threads)]
    for thread in started:
        thread.start()
    for thread in started:
        thread.join()


def _serial(function: Callable[[Any], Any], first: int, n: int, step: int = 1) -> None:
    for i in range(first, n, step):
        function(i)


def run() -> list[Figure]:
    figures = []
    cases: dict[str, tuple[Callable[[Any], Any], int, float | None]] = {
        "1 ms, a number": (slow, 600, 1.8),
        "5 us, a number": (quick, 100_000, None),
        "a new dict": (words, 50_000, None),
    }
    for name, (function, n, target) in cases.items():
        mapped = ps.Dataset.range(n).map(function, num_parallel_calls=2)

        def bare(number: int, function: Callable[[Any], Any] = function, n: int = n) -> None:
            _serial(function, number, n, 2)

        works: dict[str, Callable[[], None]] = {
            "serial": lambda f=function, n=n: _serial(f, 0, n),
            "threads": lambda ds=mapped: drain(ds),
            "bare": lambda call=bare: _in_threads(call, 2),
        }
        rounds = interleaved({case: timed(work, n) for case, work in works.items()})
        used = interleaved(
            {case: timed(work, n, clock=time.process_time) for case, work in works.items()}
        )
        note = f"{rounds.seconds('serial').median * 1e6:.3g} us a call"
        figures += [
            Figure(
                f"{name}: map in 2 threads against the serial loop",
                rounds.ratio("serial", "threads"),
                "x",
                at_least=target if FREE else None,
                note=note,
            ),
            Figure(
                f"{name}: 2 bare threads against the serial loop",
                rounds.ratio("serial", "bare"),
                "x",
            ),
            Figure(f"{name}: processor time of that map", used.ratio("threads", "serial"), "x"),
            Figure(f"{name}: of the bare threads", used.ratio("bare", "serial"), "x"),
        ]

    def share(threads: int) -> None:
        it = iter(ps.Dataset.range(SHARED))
        _in_threads(lambda number: drain(it), threads)

    rounds = interleaved(
        {
            "one": timed(lambda: share(1), SHARED),
            "eight": timed(lambda: share(8), SHARED),
        }
    )
    for case in ("one", "eight"):
        figures.append(
            Figure(f"an element, {case} on an iterator", rounds.seconds(case).scaled(1e9), "ns")
        )
    return figures


if __name__ == "__main__":
    main(run, __doc__)
