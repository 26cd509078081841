"""The worker threads of a pass, and waiting for their batches with a time limit."""

from __future__ import annotations

import itertools
import random
import threading
import warnings
from collections.abc import Callable
from contextlib import suppress
from typing import Any

import numpy as np

from penstock.adapters.batches import Held
from penstock.data_loader import torch_rules, worker_info
from penstock.data_loader.orders import Failed
from penstock.data_loader.position import Position
from penstock.data_loader.settings import Settings
from penstock.data_loader.worker_info import WorkerInfo

PREPARE = -1  # instead of the number of a batch
_PATIENCE = 0.5  # seconds that a thread waits for the others to call worker_init_fn


class Progress:
    """Which batches are made, for a consumer that waits for a limited time.

    Parameters
    ----------
    timeout : float
        Seconds, > 0.
    """

    def __init__(self, timeout: float) -> None:
        self._timeout = timeout
        self._changed = threading.Condition()
        self._made: set[int] = set()
        self._end: int | None = None  # the number after the last batch, once it is known

    def made(self, number: int) -> None:
        """Note that a batch, or its error, is there."""
        with self._changed:
            self._made.add(number)
            self._changed.notify_all()

    def ends(self, number: int) -> None:
        """Note that there is no batch of this number, nor any after it."""
        with self._changed:
            self._end = number
            self._changed.notify_all()

    def wait(self, position: Position, in_order: bool) -> None:
        """Wait until a batch that was not delivered, or the end, is there.

        Raises
        ------
        RuntimeError
            If that takes longer than the timeout; the batch may be waited for again.
        """
        reached = position.reached

        def ready() -> bool:
            self._made -= {n for n in self._made if n < reached.low or n in reached.ahead}
            if self._end is not None and reached.low >= self._end:
                return True
            return reached.low in self._made if in_order else bool(self._made)

        with self._changed:
            if not self._changed.wait_for(ready, self._timeout):
                raise too_late(self._timeout, reached.low)


def too_late(timeout: float, number: int) -> RuntimeError:
    """Return the error of a batch that has not come within the loader's timeout."""
    return RuntimeError(
        f"DataLoader timed out after {timeout:g} seconds: batch {number} is not ready; raise "
        "timeout or num_workers"
    )


class Threads:
    """The worker threads of one pass: each has a number and calls worker_init_fn first.

    Parameters
    ----------
    loader : Settings
        The loader.
    base_seed : int
        The seeds of all threads derive from it.
    """

    def __init__(self, loader: Settings, base_seed: int) -> None:
        self._prepare = loader.worker_init_fn
        self._dataset = loader.dataset
        self._workers = loader.num_workers
        self._base_seed = base_seed
        self._before = {} if self._prepare is None else _generators()
        # The engine sometimes adds a thread, which replaces another one.
        self._numbers = itertools.cycle(range(loader.num_workers))
        calls = loader.num_workers - bool(loader._iterable)  # one reads
        self.together = threading.Barrier(max(calls, 1))
        self._thread = threading.local()

    def enter(self, reads: bool = False) -> WorkerInfo | None:
        """Make the calling thread a worker until `leave` is called.

        Parameters
        ----------
        reads : bool
            Whether it is the only thread, and reads an iterable dataset.

        Returns
        -------
        WorkerInfo or None
            For `leave`.
        """
        own = self._thread
        if not hasattr(own, "info"):
            number = next(self._numbers)
            own.info = self._info(number, self._workers)
            own.reader = self._info(0, 1)
            own.failure = self._prepared(own.info, number)
        if own.failure is not None:
            raise own.failure
        return worker_info.enter(own.reader if reads else own.info)

    def prepare(self) -> None:
        """Call worker_init_fn for the next number, preferably in a thread without a number.

        Each worker of the pass calls this once. Early callers wait for the others, so no thread
        calls it twice. If there are fewer threads than workers, the wait times out.
        """
        own = self._thread
        if not hasattr(own, "info"):
            with suppress(threading.BrokenBarrierError):
                self.together.wait(_PATIENCE)
            with suppress(Exception):  # it is raised at the position of a batch
                self.leave(self.enter())
        else:
            number = next(self._numbers)
            own.failure = own.failure or self._prepared(self._info(number, self._workers), number)

    def leave(self, before: WorkerInfo | None) -> None:
        """Restore the former state of the calling thread."""
        worker_info.leave(before)

    def _info(self, number: int, workers: int) -> WorkerInfo:
        seed = (self._base_seed + number) % 2**64
        return WorkerInfo(number, workers, seed, self._dataset)

    def _prepared(self, info: WorkerInfo, number: int) -> Exception | None:
        if self._prepare is None:
            return None
        before = worker_info.enter(info)
        try:
            self._prepare(number)
        except Exception as error:
            return error
        finally:
            worker_info.leave(before)
        # Only the first is reported. Others may have seeded at the same time.
        if number == 0:
            _warn_of_seeds(self._before)
        return None


class Worker:
    """The function that the engine's threads call: from an input to a batch, or to its error.

    Parameters
    ----------
    fetch : callable
        From what is to be fetched to the batch.
    wanted : callable
        From an element of the pipeline to the batch's number, what is to be fetched, and the
        dataset's state.
    threads : Threads
        The threads that call it.
    state : callable or None
        Returns the dataset's state after a batch, if it is not known before.
    progress : Progress or None
        What is reported of each batch.
    """

    def __init__(
        self,
        fetch: Callable[[Any], Any],
        wanted: Callable[[Any], tuple[int | None, Any, Any]],
        threads: Threads,
        state: Callable[[], Any] | None,
        progress: Progress | None,
    ) -> None:
        self._fetch = fetch
        self._wanted = wanted
        self._threads = threads
        self._state = state
        self._progress = progress

    def __call__(self, item: Any) -> Held:
        """Return the batch's number, the batch or the error, and the dataset's state after it.

        The error of reading what should be fetched comes with the Failed instead of the batch.
        """
        number, what, state = self._wanted(item)
        if number == PREPARE:
            self._threads.prepare()
            return Held(None)
        batch = failure = None
        try:
            if type(what) is Failed:
                batch = what
                raise what.error
            before = self._threads.enter()
            try:
                batch = self._fetch(what)
            finally:
                self._threads.leave(before)
        except Exception as error:
            failure = error
        finally:
            if self._progress is not None and number is not None:
                self._progress.made(number)
        if self._state is not None:
            state = self._state()
        try:
            return Held((number, batch, failure, state))
        finally:
            del failure  # which refers to this frame


def _warn_of_seeds(before: dict[str, tuple[Any, bool]]) -> None:
    """Warn if a global generator was seeded, which is not the worker's own as in a process."""
    seeded = [
        name
        for name, (key, fresh) in _generators().items()
        if fresh and key != before.get(name, (key,))[0]
    ]
    if seeded:
        warnings.warn(
            f"DataLoader: worker_init_fn has seeded {', '.join(seeded)}. Workers are threads and "
            "share that generator with the program, so each worker and each pass would begin at "
            "the same numbers again; seed it once before the first pass, or let the dataset draw "
            "from a generator of its own",
            stacklevel=2,
        )


def _generators() -> dict[str, tuple[Any, bool]]:
    """Return of each global generator what seeding changes, and whether it was just seeded."""
    *key, used = random.getstate()[1]
    found: dict[str, tuple[Any, bool]] = {"random": (key, used == len(key))}
    state: Any = np.random.get_state(legacy=False)
    if state["bit_generator"] == "MT19937":
        numbers = state["state"]["key"].tolist()
        found["numpy.random"] = (numbers, state["state"]["pos"] == len(numbers))
    module = torch_rules.torch()
    if module is not None:
        found["torch"] = (module.initial_seed(), True)
    return found
