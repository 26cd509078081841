"""Random pipelines with one slow stage, each for one kind of reason."""

from __future__ import annotations

import hashlib
import random
import threading
import time
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

import numpy as np

import penstock as ps

KINDS = ("cpu", "gil", "io", "serial", "buffer", "memory", "lock", "consumer")
_MANY = 10**9
_MEGABYTE = 1 << 20


class Planted(NamedTuple):
    """A pipeline, its training step, and the expected finding.

    Attributes
    ----------
    kind : str
        The reason why it is slow.
    function : str
        The name of the function in the slow stage; "" if no function is the cause.
    dataset : Dataset
    step : float
        Seconds of the training step.
    as_well : str
        Another kind that is equally right; "" for none.
    """

    kind: str
    function: str
    dataset: ps.Dataset
    step: float
    as_well: str = ""


def plant(seed: int) -> Planted:
    """Return the pipeline of a seed; consecutive seeds cycle through the kinds."""
    rng = random.Random(seed)
    kind = KINDS[seed % len(KINDS)]
    return _MAKERS[kind](rng)


def calibrate() -> None:
    """Measure the speed of this machine, so that functions take the requested time."""
    block = bytes(_MEGABYTE)
    start = time.perf_counter()
    for _ in range(8):
        hashlib.sha256(block).digest()
    _speed["hash"] = 8 * _MEGABYTE / (time.perf_counter() - start)
    start = time.perf_counter()
    _count(200_000)
    _speed["count"] = 200_000 / (time.perf_counter() - start)


_speed = {"hash": 1e9, "count": 2e7}


def _count(rounds: int) -> int:
    total = 0
    for i in range(rounds):
        total += i
    return total


def computing(seconds: float) -> Callable[[Any], Any]:
    """Return a function that computes for this time without the GIL."""
    data = bytes(int(seconds * _speed["hash"]))

    def slow(x: Any) -> Any:
        hashlib.sha256(data).digest()
        return x

    return slow


def holding(seconds: float) -> Callable[[Any], Any]:
    """Return a function that computes for this time with the GIL."""
    rounds = int(seconds * _speed["count"])

    def slow(x: Any) -> Any:
        _count(rounds)
        return x

    return slow


def waiting(seconds: float) -> Callable[[Any], Any]:
    """Return a function that waits for this time, as for a file."""

    def slow(x: Any) -> Any:
        time.sleep(seconds)
        return x

    return slow


def _around(rng: random.Random, make: Callable[[ps.Dataset], ps.Dataset]) -> ps.Dataset:
    """Place the slow stage between stages that take almost no time."""

    def light(x: Any) -> Any:
        return x + 1

    ds = ps.Dataset.range(_MANY)
    for _ in range(rng.randrange(3)):
        ds = rng.choice(
            (
                lambda d: d.map(light),
                lambda d: d.filter(lambda x: True),
                lambda d: d.shuffle(100, seed=1),
                lambda d: d.map(light, num_parallel_calls=2),
            )
        )(ds)
    ds = make(ds)
    for _ in range(rng.randrange(2)):
        ds = rng.choice((lambda d: d.map(light), lambda d: d.enumerate().map(lambda i, x: x)))(ds)
    return ds


def _seconds(rng: random.Random) -> float:
    return rng.choice((0.001, 0.002, 0.004, 0.008))


def _cpu(rng: random.Random) -> Planted:
    from penstock.profiling.watch import processors

    calls = int(processors()) * rng.choice((1, 2))
    slow = computing(_seconds(rng))
    ds = _around(rng, lambda d: d.map(slow, num_parallel_calls=calls))
    return Planted("cpu", "slow", ds.prefetch(rng.choice((2, 8))), rng.choice((0, 0.0002)))


def _gil(rng: random.Random) -> Planted:
    slow = holding(_seconds(rng))
    ds = _around(rng, lambda d: d.map(slow, num_parallel_calls=rng.choice((2, 3, 4))))
    return Planted("gil", "slow", ds.prefetch(2), rng.choice((0, 0.0005)))


def _io(rng: random.Random) -> Planted:
    seconds = _seconds(rng)
    slow = waiting(seconds)
    calls = rng.choice((None, None, 2, 4))
    if rng.random() < 0.3:

        def slow_reader() -> Iterator[int]:
            i = 0
            while True:
                time.sleep(seconds)
                yield i
                i += 1

        spec = ps.TensorSpec((), np.int64)
        ds = ps.Dataset.from_generator(slow_reader, output_signature=spec)
        return Planted("io", "slow_reader", ds.map(lambda x: x + 1).prefetch(2), seconds / 4)
    ds = _around(rng, lambda d: d.map(slow, num_parallel_calls=calls))
    if rng.random() < 0.5:
        ds = ds.prefetch(2)
    return Planted("io", "slow", ds, rng.choice((0, seconds / 8)))


def _serial(rng: random.Random) -> Planted:
    seconds = _seconds(rng)
    make = rng.choice((computing, holding))
    slow = make(seconds)
    ds = _around(rng, lambda d: d.map(slow))
    # A single call that holds the GIL delays any loop that needs it.
    as_well = "gil" if make is holding else ""
    return Planted("serial", "slow", ds.prefetch(2), rng.choice((0, seconds / 4)), as_well)


def _buffer(rng: random.Random) -> Planted:
    step = rng.choice((0.002, 0.004))
    every = rng.choice((16, 32))
    pause = 0.5 * step * every  # half of the time: fast enough on average

    def slow(x: Any) -> Any:
        if int(x) % every == 0:
            time.sleep(pause)
        return x

    ds = ps.Dataset.range(_MANY).map(slow)
    return Planted("buffer", "", ds.prefetch(rng.choice((1, 2))), step)


def _memory(rng: random.Random) -> Planted:
    seconds = rng.choice((0.004, 0.008))
    size = rng.choice((1, 2)) * _MEGABYTE

    def slow(x: Any) -> Any:
        time.sleep(seconds)
        return np.empty(size, np.uint8)

    ds = ps.Dataset.range(_MANY).map(slow, num_parallel_calls=rng.choice((8, 16)))
    options = ps.Options()
    options.memory_limit = size + size // 2
    return Planted("memory", "slow", ds.prefetch(2).with_options(options), seconds / 8)


def _lock(rng: random.Random) -> Planted:
    seconds = _seconds(rng)
    lock = threading.Lock()

    def slow(x: Any) -> Any:
        with lock:
            time.sleep(seconds)
        return x

    ds = _around(rng, lambda d: d.map(slow, num_parallel_calls=rng.choice((3, 4, 8))))
    return Planted("lock", "slow", ds.prefetch(2), rng.choice((0, seconds / 4)))


def _consumer(rng: random.Random) -> Planted:
    slow = rng.choice((waiting, computing))(0.001)
    ds = _around(rng, lambda d: d.map(slow))
    return Planted("consumer", "", ds.prefetch(4), rng.choice((0.004, 0.01)))


_MAKERS: dict[str, Callable[[random.Random], Planted]] = {
    "cpu": _cpu,
    "gil": _gil,
    "io": _io,
    "serial": _serial,
    "buffer": _buffer,
    "memory": _memory,
    "lock": _lock,
    "consumer": _consumer,
}
