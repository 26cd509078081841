"""The worker threads of an epoch, and waiting for their batches with a time limit."""

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

PREPARE = -1  # sent in place of a batch number
_PATIENCE = 0.5  # seconds that a thread waits for the others to call worker_init_fn


class Progress:
    """Track finished batches, for a consumer that waits with a time limit.

    Parameters
    ----------
    timeout : float
        Maximum wait in seconds, > 0.
    """

    def __init__(self, timeout: float) -> None:
        self._timeout = timeout
        self._changed = threading.Condition()
        self._made: set[int] = set()
        self._end: int | None = None  # the number of batches, once it is known

    def made(self, number: int) -> None:
        """Record that a batch, or its error, is ready."""
        with self._changed:
            self._made.add(number)
            self._changed.notify_all()

    def ends(self, number: int) -> None:
        """Record that there is no batch with this or a higher number."""
        with self._changed:
            self._end = number
            self._changed.notify_all()

    def wait(self, position: Position, in_order: bool) -> None:
        """Wait until an undelivered batch, or the end, is ready.

        Raises
        ------
        RuntimeError
            If the wait exceeds the timeout. The caller may wait again.
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
    """Return the error for a batch that exceeded the loader's timeout."""
    return RuntimeError(
        f"DataLoader timed out after {timeout:g} seconds: batch {number} is not ready; raise "
        "timeout or num_workers"
    )


class Threads:
    """The worker threads of an epoch; each has a number and calls worker_init_fn first.

    Parameters
    ----------
    loader : Settings
        The loader.
    base_seed : int
        Seed from which the seeds of all threads derive.
    """

    def __init__(self, loader: Settings, base_seed: int) -> None:
        self._prepare = loader.worker_init_fn
        self._dataset = loader.dataset
        self._workers = loader.num_workers
        self._base_seed = base_seed
        self._before = {} if self._prepare is None else _generators()
        # The engine sometimes starts an extra thread to replace another one.
        self._numbers = itertools.cycle(range(loader.num_workers))
        calls = loader.num_workers - bool(loader._iterable)  # one thread reads
        self.together = threading.Barrier(max(calls, 1))
        self._thread = threading.local()

    def enter(self, reads: bool = False) -> WorkerInfo | None:
        """Make the calling thread a worker until `leave` is called.

        Parameters
        ----------
        reads : bool
            Whether the thread is the only reader of an iterable dataset.

        Returns
        -------
        WorkerInfo or None
            The previous info, to pass to `leave`.
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

        Each worker of the epoch calls this once. Early callers wait for the others, so that no
        thread calls it twice. If there are fewer threads than workers, the wait times out.
        """
        own = self._thread
        if not hasattr(own, "info"):
            with suppress(threading.BrokenBarrierError):
                self.together.wait(_PATIENCE)
            with suppress(Exception):  # the exception is raised in place of a batch
                self.leave(self.enter())
        else:
            number = next(self._numbers)
            own.failure = own.failure or self._prepared(self._info(number, self._workers), number)

    def leave(self, before: WorkerInfo | None) -> None:
        """Restore the calling thread's previous info."""
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
        # Only the first call is checked. Others may have seeded at the same time.
        if number == 0:
            _warn_of_seeds(self._before)
        return None


class Worker:
    """The function that the engine's threads call to make a batch, or return its error.

    Parameters
    ----------
    fetch : callable
        Takes indices or samples and returns the batch.
    wanted : callable
        Takes an element of the pipeline and returns the batch's number, the argument of `fetch`,
        and the dataset's state.
    threads : Threads
        The threads that call this function.
    state : callable or None
        Returns the dataset's state after a batch, if it is not known earlier.
    progress : Progress or None
        Is notified of each finished batch.
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
        """Return the batch's number, the batch, its error, and the dataset's state after it.

        If reading the input failed, the `Failed` object takes the place of the batch.
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
            del failure  # the exception refers to this frame


def _warn_of_seeds(before: dict[str, tuple[Any, bool]]) -> None:
    """Warn if a global generator was seeded: unlike processes, threads share it."""
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
    """Return the seed-dependent part of each global generator, and whether it is unused."""
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
