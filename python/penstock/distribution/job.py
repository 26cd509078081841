"""Run a pipeline on workers: assign leases, and take each result once."""

from __future__ import annotations

import threading
import time
import weakref
from collections.abc import Callable
from typing import Any

from penstock.distribution.failures import kept, own
from penstock.distribution.leases import Leases, LostTooOften, Range, Result
from penstock.distribution.making import Made, Order
from penstock.distribution.settings import Settings
from penstock.distribution.workers import Event, Workers
from penstock.errors import WorkerError

AHEAD = 2  # leases of a worker: one in progress, one queued
WAIT_SECONDS = 0.1  # maximum wait before a consumer checks whether its run was closed
_LEASE_SECONDS = 0.25  # target duration of a lease
_LEASE_BYTES = 16 << 20
_MOST_ELEMENTS = 4096

Taken = tuple[int, Any, int]  # first position, rows (None at the end), leases lost so far


class Job:
    """The elements of a pipeline from a position on, made by workers; used by one thread.

    The workers start with the first `take`. They end with `close`, with the last result, or when
    the job is dropped.

    Parameters
    ----------
    open_workers : callable
        Returns the workers.
    settings : Settings
        How to divide the work.
    place : bytes
        Position of the pipeline within the consumer's, on which random draws depend.
    ordered : bool
        Whether to take results in order.
    """

    def __init__(
        self,
        open_workers: Callable[[], Workers],
        settings: Settings,
        place: bytes,
        ordered: bool,
    ) -> None:
        self._open_workers = open_workers
        self._settings = settings
        self._place = place
        self._ordered = ordered
        self._workers: Workers | None = None
        self._busy: dict[int, int] = {}
        self._sequence = -1
        self._size = 1
        self._lost = 0
        self._failure: WorkerError | None = None

    def begin(self, state: bytes, done: list[Range], sound: bool) -> None:
        """Continue from a state of the pipeline; results in progress are discarded.

        Parameters
        ----------
        state : bytes
            State of the pipeline; positions count from there.
        done : list of (first, last)
            Ranges to skip.
        sound : bool
            Whether none of the elements in them failed.
        """
        settings = self._settings
        self._sequence += 1
        self._received = 0
        self._given: Result | None = None
        self._state = state
        self._sound = sound
        self._leases = Leases(
            window=settings.num_workers * (AHEAD + 1) + 1,
            timeout=settings.lease_timeout,
            ordered=self._ordered,
            done=done,
        )

    def take(self, received: int) -> Taken | None:
        """Return the rows of the next lease, or None if none is available after a short wait.

        Parameters
        ----------
        received : int
            Number of leases received since `begin`. A result that was returned but not received,
            because of an interrupt, is returned again.

        Raises
        ------
        WorkerError
            If a lease was lost too often, or workers do not start. Later calls raise it, too.
        """
        if self._failure is not None:
            raise own(self._failure)
        if received > self._received and self._given is not None:
            self._leases.taken(self._given)
            self._received = received
        try:
            return self._next() or self._next()
        except LostTooOften as lost:
            self._failure = _said(lost)
            self.close()
            raise own(self._failure) from None
        except WorkerError as error:  # the workers do not start
            self._failure = kept(error)
            self.close()
            raise

    def close(self) -> None:
        """End the workers and wait for them."""
        workers, self._workers = self._workers, None
        if workers is not None:
            self._finalizer.detach()
            workers.close()

    def _next(self) -> Taken | None:
        """Take the next result; if there is none, process the workers' events."""
        if (result := self._leases.look()) is not None:
            self._given = result
            if self._workers is not None:
                self._deal(self._workers)
            return result.lease.first, result.payload.rows, self._lost
        if self._leases.over():
            self.close()
            return 0, None, self._lost
        workers = self._opened()
        self._deal(workers)
        for event in workers.events(WAIT_SECONDS):
            self._handle(event)
        workers.handled()
        self._deal(workers)
        return None

    def _handle(self, event: Event) -> None:
        """Process an event of a worker; processing it twice is harmless."""
        sequence, number = event.task
        made = event.made
        if made is None:
            self._busy[event.worker] = 0
            self._lost += 1
            self._leases.lost(event.worker, event.lost)
            return
        self._busy[event.worker] = max(self._busy.get(event.worker, 0) - 1, 0)
        lease = self._leases.lease(number) if sequence == self._sequence else None
        if lease is None:
            return
        self._leases.done(Result(lease, made.steps, made.ended, made))
        self._learn(made)

    def _deal(self, workers: Workers) -> None:
        now = time.monotonic()
        for worker in workers.ready():
            while self._busy.get(worker, 0) < AHEAD:
                lease = self._leases.deal(worker, self._settings.split or self._size, now)
                if lease is None:
                    break
                order = Order(
                    self._sequence,
                    self._place,
                    self._state,
                    self._sound,
                    lease.first,
                    lease.last - lease.first,
                )
                self._busy[worker] = self._busy.get(worker, 0) + 1
                workers.give(worker, (self._sequence, lease.number), order)

    def _learn(self, made: Made) -> None:
        """Adapt the lease size, so that the overhead per lease stays small."""
        if made.steps == 0:
            return
        by_time = _LEASE_SECONDS * made.steps / max(made.seconds, 1e-6)
        by_bytes = _LEASE_BYTES * made.steps / max(made.nbytes, 1)
        wanted = int(min(by_time, by_bytes, 2 * self._size, _MOST_ELEMENTS))
        self._size = max(wanted, 1)

    def _opened(self) -> Workers:
        if self._workers is None:
            self._busy = {}
            self._workers = self._open_workers()
            self._finalizer = weakref.finalize(self, _end_apart, self._workers)
            self._finalizer.atexit = False  # threads end with the process, and Ray ends its actors
        return self._workers


def _end_apart(workers: Workers) -> None:
    """End the workers of a dropped job in a separate thread.

    They end only after their current functions. Those may wait for the thread that dropped the job.
    """
    threading.Thread(target=workers.close, name="ps-distribute-end", daemon=True).start()


def _said(lost: LostTooOften) -> WorkerError:
    lease = lost.lease
    return WorkerError(
        f"distribute: lease {lease.number}, elements {lease.first} to {lease.last - 1} since "
        f"the iterator began, was lost with {lost.times} workers; the last one: {lost.cause}; "
        "an element may end the process that makes it: run the pipeline without distribute"
    )
