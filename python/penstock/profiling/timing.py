"""Time the ``next`` of any iterable, and sample the functions in which its time goes."""

from __future__ import annotations

import os
import sys
import threading
import time
import weakref
from collections import Counter
from collections.abc import Iterable, Iterator
from pathlib import Path
from types import FrameType
from typing import Any

from penstock.dataset import Dataset
from penstock.executors import processors
from penstock.iterator import Iterator as Run
from penstock.loaders import loader_of, unwrapped
from penstock.profiling.demand import stages_of, step_of
from penstock.profiling.loops import LoopProfile, Seen
from penstock.profiling.system import (
    children_seconds,
    ready_seconds,
    ready_seconds_here,
)

_INTERVAL = 0.005  # seconds between samples of the loop's stack
_SELDOM = 0.05  # seconds between samples of workers
# Folders of code that users did not write: the standard library and penstock.
_LIBRARIES = (f"{Path(os.__file__).parent}{os.sep}", f"{Path(__file__).parents[1]}{os.sep}")


class LoopRecorder:
    """Time the ``next`` of any iterable.

    Parameters
    ----------
    iterable : iterable
        A loader, or an iterator of one.
    """

    def __init__(self, iterable: Any) -> None:
        self._iterable = iterable
        self._loader = loader_of(unwrapped(iterable))
        self._seen = Seen(places=Counter())
        self._workers = _Workers()
        self._sampler: _Sampler | None = None
        self._runs: list[Any] = []  # observations of engine runs whose threads are the workers

    def begin(self) -> None:
        """Start watching."""
        if hasattr(type(self._iterable), "__next__"):
            self._note(self._iterable)
        # An observation samples the GIL; a run that does nothing is enough for that.
        self._gil = self._observed(Dataset.range(1)._uncounted())
        self._ready, self._loop_cpu = ready_seconds_here(), time.thread_time()
        self._process_cpu, self._workers_cpu = time.process_time(), self._workers.cpu()
        self._began = time.perf_counter()
        inline = self._loader is None or self._loader.num_workers == 0
        self._sampler = _Sampler(self._seen if inline else None, self._workers)

    def __iter__(self) -> Iterator[Any]:
        began = time.perf_counter()
        fresh = not hasattr(type(self._iterable), "__next__")
        iterator = iter(self._iterable)
        self._note(iterator)
        if fresh:
            self._seen.passes += 1
            self._seen.first += time.perf_counter() - began
            self._seen.wait += time.perf_counter() - began
        return _Timed(iterator, self._seen, fresh, self._sampler)

    def __len__(self) -> int:
        return len(self._iterable)

    def _note(self, iterator: Any) -> None:
        team = getattr(iterator, "_team", None)
        workers = [each.process for each in getattr(team, "members", ())]  # penstock's
        workers += getattr(iterator, "_workers", None) or []  # PyTorch's
        self._workers.add(each.pid for each in workers)
        run = getattr(iterator, "_iterator", None)
        if isinstance(run, Run):
            self._runs.append(self._observed(run))

    def _observed(self, run: Run) -> Any:
        observation = run._observe()
        # Its threads must end before the interpreter exits.
        weakref.finalize(self, observation.stop)
        return observation

    def end(self) -> LoopProfile:
        """Return the profile; raise ValueError if no element was taken."""
        seen = self._seen
        if self._sampler is not None:
            self._sampler.stop()
        seen.seconds = time.perf_counter() - self._began
        seen.loop_cpu = time.thread_time() - self._loop_cpu
        seen.process_cpu = time.process_time() - self._process_cpu
        seen.ready = ready_seconds_here() - self._ready
        looked = self._gil.stop()
        looks = looked["lock_looks"]
        seen.gil = looked["lock_held"] / looks if looks else 0.0
        if self._runs:
            runs = [run.stop() for run in self._runs]
            stages = [each for run in runs for each in stages_of(run, seen.gil)]
            seen.gil_wait = sum(step_of(run, seen.gil).gil_wait_seconds for run in runs)
            seen.workers_cpu = sum(stage.cpu_seconds for stage in stages)
            seen.workers_gil = sum(stage.gil_seconds for stage in stages)
            seen.workers_blocked = sum(stage.blocked_seconds for stage in stages)
            seen.workers_ready = sum(stage.ready_seconds for stage in stages)
        else:
            seen.workers_cpu = max(self._workers.cpu() - self._workers_cpu, 0.0)
            seen.workers_ready = self._workers.ready()
        name = getattr(self._iterable, "__name__", None) or type(self._iterable).__name__
        indexable = hasattr(self._iterable, "__getitem__") and hasattr(self._iterable, "__len__")
        return LoopProfile(seen, self._loader, name, processors(), indexable)


class _Timed:
    """An iterator that times ``next``."""

    def __init__(self, iterator: Any, seen: Seen, fresh: bool, sampler: _Sampler | None) -> None:
        self._iterator = iterator
        self._seen = seen
        self._first = fresh
        self._sampler = sampler

    def __iter__(self) -> _Timed:
        return self

    def __next__(self) -> Any:
        seen, sampler = self._seen, self._sampler
        if sampler is not None:
            sampler.asked = threading.get_ident()
        began, cpu = time.perf_counter(), time.thread_time()
        try:
            item = next(self._iterator)
        finally:
            waited = time.perf_counter() - began
            seen.wait += waited
            seen.wait_cpu += time.thread_time() - cpu
            if self._first:
                seen.first += waited
                self._first = False
            if sampler is not None:
                sampler.asked = 0
        seen.batches += 1
        return item

    def __len__(self) -> int:
        return len(self._iterator)

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        return getattr(self._iterator, name)


class _Workers:
    """The worker processes of a loader."""

    def __init__(self) -> None:
        self._ready: dict[int, tuple[float, float]] = {}  # per PID: the first and the latest value

    def add(self, pids: Iterable[Any]) -> None:
        """Add new processes."""
        for pid in pids:
            if isinstance(pid, int) and pid not in self._ready:
                now = ready_seconds(pid)
                self._ready[pid] = (now, now)

    def look(self) -> None:
        """Update the times without a CPU, which cannot be read after a process ends."""
        for pid, (first, last) in list(self._ready.items()):
            self._ready[pid] = (first, max(ready_seconds(pid), last))

    def ready(self) -> float:
        """Return the time for which they were ready to run without a CPU since they were added."""
        return sum(last - first for first, last in self._ready.values())

    def cpu(self) -> float:
        """Return the CPU time of all child processes."""
        return children_seconds(self._ready)


class _Sampler:
    """Sample the workers, and the stack of the loop's thread while it is inside ``next``.

    Parameters
    ----------
    seen : Seen or None
        Counts the places in the stack; None to not count them.
    workers : _Workers
        The workers.
    """

    def __init__(self, seen: Seen | None, workers: _Workers) -> None:
        self.asked = 0  # the thread that is inside ``next``; 0 if there is none
        self._places = None if seen is None else seen.places
        self._workers = workers
        self._end = threading.Event()
        self._thread = threading.Thread(target=self._run, name="penstock profile", daemon=True)
        self._thread.start()

    def _run(self) -> None:
        while not self._end.wait(_INTERVAL if self._places is not None else _SELDOM):
            self._workers.look()
            frame = sys._current_frames().get(self.asked) if self.asked else None
            place = None if frame is None else _place_of(frame)
            if place is not None and self._places is not None:
                self._places[place] += 1

    def stop(self) -> None:
        """Stop sampling."""
        self._end.set()
        self._thread.join()


def _place_of(frame: FrameType) -> str | None:
    """Return the innermost function of the user's code, or else the innermost function.

    Return None if the thread is in this module.
    """
    if frame.f_code.co_filename == __file__:
        return None
    at: FrameType | None = frame
    shown = frame
    while at is not None:
        if at.f_code.co_filename == __file__:
            break  # the outer frames belong to the loop
        if _is_users(at.f_code.co_filename):
            shown = at
            break
        at = at.f_back
    code = shown.f_code
    return f"{code.co_qualname} ({Path(code.co_filename).name}:{code.co_firstlineno})"


def _is_users(file: str) -> bool:
    return not file.startswith((*_LIBRARIES, "<frozen")) and "site-packages" not in file
