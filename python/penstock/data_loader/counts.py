"""Counters of a DataLoader, over all of its passes."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from typing import Any


class Counts:
    """What the passes of a loader have done.

    Attributes
    ----------
    elements, errors : int
        Batches returned, and errors raised in place of one.
    wait_seconds : float
        In ``next``.
    busy_seconds : float
        Making batches, added up over the workers.
    """

    def __init__(self) -> None:
        self.elements = 0
        self.errors = 0
        self.wait_seconds = 0.0
        self.busy_seconds = 0.0
        self._lock = threading.Lock()

    def came(self, asked: float, failed: bool) -> None:
        """Count a batch or an error, which the loop asked for at a time of `perf_counter`."""
        self.wait_seconds += time.perf_counter() - asked
        if failed:
            self.errors += 1
        else:
            self.elements += 1

    def worked(self, seconds: float) -> None:
        """Add the time that a worker took for a batch."""
        with self._lock:
            self.busy_seconds += seconds

    def timed(self, fetch: Callable[[Any], Any]) -> Callable[[Any], Any]:
        """Return a function that makes batches, timed."""

        def call(what: Any) -> Any:
            began = time.perf_counter()
            try:
                return fetch(what)
            finally:
                self.worked(time.perf_counter() - began)

        return call

    def __reduce__(self) -> Any:
        return Counts, ()  # those of another process begin at 0
