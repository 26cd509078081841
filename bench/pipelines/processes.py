"""executor="process" and "auto", compared with the serial loop and with threads, on two CPUs.

Pure-Python functions, which hold the GIL: 1 ms with a tiny result, 1 ms with a result of 600 KB,
and 5 us; a predicate of 1 ms; and a generator with 1 ms per value, while a loop takes as long.
Further figures: the overhead of sending an image to a worker and back, the overhead of a small
generator value, and the time until the first element before any worker has started.
"""

from __future__ import annotations

import os
import subprocess
import sys
import time
from collections.abc import Callable, Iterable, Iterator
from typing import Any

import numpy as np

import penstock as ps
from bench.pipelines.measure import Figure, drain, interleaved, main, timed

RESULT = np.zeros(600_000, np.uint8)
IMAGE = np.zeros((224, 224, 3), np.uint8)  # 150 KB
IMAGES = 3000
START = """
import time
import numpy as np
import penstock as ps

def function(x):
    return x

if __name__ == "__main__":
    started = time.perf_counter()
    it = iter(ps.Dataset.range(100).map(function, num_parallel_calls=2, executor="process"))
    next(it)
    print(time.perf_counter() - started)
"""


def work(turns: int) -> int:
    total = 0
    for i in range(turns):
        total += i & 3
    return total


def _seconds(call: Callable[[], Any]) -> float:
    started = time.perf_counter()
    call()
    return time.perf_counter() - started


def turns_in(seconds: float) -> int:
    """Return the number of loop turns that take this long on an idle machine."""
    tried = 20_000
    least = min(_seconds(lambda: work(tried)) for _ in range(20))
    return max(int(tried * seconds / least), 1)


SLOW = turns_in(1e-3)
QUICK = turns_in(5e-6)


def slow(x: Any) -> Any:
    return work(SLOW)


def slow_and_large(x: Any) -> Any:
    RESULT[0] = work(SLOW) & 1
    return RESULT


def quick(x: Any) -> Any:
    return work(QUICK)


def kept(x: Any) -> Any:
    return work(SLOW) >= 0


def generated(n: int) -> Iterator[int]:
    for _ in range(n):
        yield work(SLOW)


def same(x: Any) -> Any:
    return x


def _serial(function: Callable[[Any], Any], n: int) -> None:
    for i in range(n):
        function(i)


def _beside(values: Iterable[Any]) -> None:
    """Iterate over values in a loop that takes 1 ms for each."""
    for _ in values:
        work(SLOW)


def _others() -> list[Figure]:
    """Return the figures of filter, executor="auto" and generators."""
    n = 800
    numbers = ps.Dataset.range(n)
    filtered = numbers.filter(kept, num_parallel_calls=2, executor="process")
    chosen = numbers.map(slow, num_parallel_calls=2, executor="auto")
    source = ps.Dataset.from_generator
    ahead = source(generated, args=(n,), executor="process")
    threads = source(generated, args=(n,)).prefetch(8)
    rounds = interleaved(
        {
            "serial": timed(lambda: _serial(slow, n), n),
            "filter": timed(lambda: drain(filtered), n),
            "auto": timed(lambda: drain(chosen), n),
            "loop": timed(lambda: _beside(generated(n)), n),
            "generator": timed(lambda: _beside(ahead), n),
            "thread": timed(lambda: _beside(threads), n),
        }
    )
    small, many = 200_000, ps.Dataset.from_generator
    values = interleaved(
        {
            "sent": timed(lambda: drain(many(range, args=(small,), executor="process")), small),
            "here": timed(lambda: drain(many(range, args=(small,))), small),
        }
    )
    return [
        Figure(
            "filter, 1 ms: 2 processes against the serial loop",
            rounds.ratio("serial", "filter"),
            "x",
            at_least=1.75,
        ),
        Figure("1 ms, a number: auto against the serial loop", rounds.ratio("serial", "auto"), "x"),
        Figure(
            "generator of 1 ms beside a loop of 1 ms: a process against one loop",
            rounds.ratio("loop", "generator"),
            "x",
            at_least=1.75,
        ),
        Figure("the same: a thread", rounds.ratio("loop", "thread"), "x"),
        Figure(
            "a number of a generator, from a worker",
            values.seconds("sent").scaled(1e6),
            "us",
            note=f"{values.seconds('here').median * 1e6:.2g} us from a thread",
        ),
    ]


def _start() -> float:
    command = [sys.executable, "-c", START]
    done = subprocess.run(command, stdout=subprocess.PIPE, text=True, check=True)
    return float(done.stdout)


def _bare(function: Callable[[Any], Any], n: int) -> None:
    """Call the function in two processes that return nothing."""
    children = []
    for first in range(2):
        child = os.fork()
        if child == 0:
            for i in range(first, n, 2):
                function(i)
            os._exit(0)
        children.append(child)
    for child in children:
        os.waitpid(child, 0)


def run() -> list[Figure]:
    figures = []
    cases: dict[str, tuple[Callable[[Any], Any], int, int | None, float]] = {
        "1 ms, a number": (slow, 800, None, 1.85),
        "1 ms, 600 KB": (slow_and_large, 800, None, 1.75),
        "1 ms, 600 KB, batch(8)": (slow_and_large, 800, 8, 1.75),
        "5 us, a number": (quick, 160_000, None, 1.5),
    }
    for name, (function, n, batch, target) in cases.items():
        calls = ps.Dataset.range(n)
        mapped = calls.map(function, num_parallel_calls=2, executor="process")
        threads = calls.map(function, num_parallel_calls=2)
        if batch:
            mapped, threads = mapped.batch(batch), threads.batch(batch)
        rounds = interleaved(
            {
                "serial": timed(lambda f=function, n=n: _serial(f, n), n),
                "processes": timed(lambda ds=mapped: drain(ds), n),
                "threads": timed(lambda ds=threads: drain(ds), n),
                "bare": timed(lambda f=function, n=n: _bare(f, n), n),
            }
        )
        note = f"{rounds.seconds('serial').median * 1e6:.3g} us a call"
        speed = f"{name}: 2 {{}} against the serial loop"
        figures += [
            Figure(
                speed.format("processes"), rounds.ratio("serial", "processes"), "x", None, target
            ),
            Figure(speed.format("threads"), rounds.ratio("serial", "threads"), "x", note=note),
            Figure(
                f"{name}: against two bare processes that return nothing",
                rounds.ratio("bare", "processes"),
                "x",
                at_least=0.94 if "KB" in name else None,
            ),
        ]
    figures += _others()
    images = ps.Dataset.from_tensors(IMAGE).repeat(IMAGES)
    sent = images.map(same, num_parallel_calls=2, executor="process")
    here = images.map(same)
    rounds = interleaved(
        {
            "sent": timed(lambda: drain(sent), IMAGES),
            "here": timed(lambda: drain(here), IMAGES),
        }
    )
    figures.append(
        Figure(
            "an image of 150 KB to a worker and back",
            rounds.difference("sent", "here").scaled(1e6),
            "us",
            at_most=60,
        )
    )
    starts = interleaved({"start": _start})
    figures.append(
        Figure("two workers, until the first element", starts.seconds("start"), "s", at_most=0.6)
    )
    return figures


if __name__ == "__main__":
    main(run, __doc__)
