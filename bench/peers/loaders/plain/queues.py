"""Lists as batches, calls ahead of use, a thread behind a queue."""

from __future__ import annotations

import queue
import threading
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import Executor, Future
from itertools import islice
from typing import Any


def batches(values: Iterable[Any], size: int) -> Iterator[list[Any]]:
    source = iter(values)
    while batch := list(islice(source, size)):
        yield batch


def ahead(
    pool: Executor, function: Callable[[Any], Any], values: Iterable[Any], most: int
) -> Iterator[Any]:
    """Map in order, with so many calls waiting or done."""
    waiting: deque[Future[Any]] = deque()
    for value in values:
        waiting.append(pool.submit(function, value))
        if len(waiting) > most:
            yield waiting.popleft().result()
    while waiting:
        yield waiting.popleft().result()


def in_background(values: Iterable[Any], most: int) -> Iterator[Any]:
    """Iterate in a thread of its own."""
    ready: queue.Queue[Any] = queue.Queue(most)
    end = object()

    def fill() -> None:
        for value in values:
            ready.put(value)
        ready.put(end)

    threading.Thread(target=fill, daemon=True).start()
    while (value := ready.get()) is not end:
        yield value
