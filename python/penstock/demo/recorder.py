"""A timeline: intervals recorded by the functions of a pipeline and by the trainer."""

import threading
import time
from typing import NamedTuple

LANES = ("open", "read", "map", "train")


class Interval(NamedTuple):
    """A unit of work; times are those of ``time.perf_counter``, in seconds."""

    lane: str
    thread: int
    start: float
    end: float


class Recorder:
    """Collects intervals from all threads."""

    def __init__(self) -> None:
        self.intervals: list[Interval] = []

    def add(self, lane: str, start: float) -> float:
        """Record that the calling thread worked from `start` until now; return the current time."""
        end = time.perf_counter()
        self.intervals.append(Interval(lane, threading.get_ident(), start, end))
        return end

    def add_opening(self, start: float) -> None:
        """Record the opening of a pass: from `start` until the first function was called."""
        first = min((i.start for i in self.intervals if i.start >= start), default=start)
        self.intervals.append(Interval("open", threading.get_ident(), start, first))
