"""Counters of a DataLoader, summed over its epochs."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from typing import Any


class Counts:
    """Totals over all epochs of a loader.

    Attributes
    ----------
    elements, errors : int
        Number of batches returned, and of errors raised in place of a batch.
    wait_seconds : float
        Time spent in ``next``.
    busy_seconds : float
        Time spent loading batches, summed over the workers.
    """

    def __init__(self) -> None:
        self.elements = 0
        self.errors = 0
        self.wait_seconds = 0.0
        self.busy_seconds = 0.0
        self._lock = threading.Lock()

    def came(self, asked: float, failed: bool) -> None:
        """Count a batch or an error; `asked` is the `perf_counter` time of the request."""
        self.wait_seconds += time.perf_counter() - asked
        if failed:
            self.errors += 1
        else:
            self.elements += 1

    def worked(self, seconds: float) -> None:
        """Add the time that a worker spent on a batch."""
        with self._lock:
            self.busy_seconds += seconds

    def timed(self, fetch: Callable[[Any], Any]) -> Callable[[Any], Any]:
        """Wrap a function so that its running time is added to `busy_seconds`."""

        def call(what: Any) -> Any:
            began = time.perf_counter()
            try:
                return fetch(what)
            finally:
                self.worked(time.perf_counter() - began)

        return call

    def __reduce__(self) -> Any:
        return Counts, ()  # a copy in another process starts at 0
