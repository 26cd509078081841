"""A dataset whose elements workers make, and one pass over it."""

from __future__ import annotations

import dataclasses
import time
import weakref
from collections.abc import Callable
from typing import Any

import numpy as np
import numpy.typing as npt

from penstock.arguments.checked import checked
from penstock.closing import Closing
from penstock.dataset import Dataset
from penstock.distribution.leases import Lease, Leases, LostTooOften, Range, Result
from penstock.distribution.making import Made, Order
from penstock.distribution.progress import Progress, opened
from penstock.distribution.workers import Event, Workers
from penstock.errors import WorkerError
from penstock.iterator import bytes_of

_AHEAD = 2  # leases that a worker has at a time: one that it makes, one after that
_WAIT_SECONDS = 0.5  # between looks for leases that are late
_LEASE_SECONDS = 0.25  # that a lease should take
_LEASE_BYTES = 16 << 20
_MOST_ELEMENTS = 4096

Opener = Callable[[Dataset, bytes], Workers]


@dataclasses.dataclass(frozen=True, slots=True)
class Settings:
    """How the work is divided."""

    opener: Opener
    num_workers: int
    split: int | None  # elements in a lease; None: by what they cost
    deterministic: bool
    lease_timeout: float


class Distributed:
    """The elements of a dataset, which workers make; can be looped over again.

    `Dataset.distribute` returns it.

    Parameters
    ----------
    dataset : Dataset
        What the workers run.
    settings : Settings
        How.
    """

    def __init__(self, dataset: Dataset, settings: Settings) -> None:
        self._dataset = dataset
        self._settings = settings

    def __iter__(self) -> DistributedIterator:
        return DistributedIterator(self._dataset, self._settings)

    def __len__(self) -> int:
        return len(self._dataset)

    def __bool__(self) -> bool:
        return True

    def cardinality(self) -> int:
        """Return the number of elements, as `Dataset.cardinality` does."""
        return self._dataset.cardinality()

    @property
    def element_spec(self) -> Any:
        """Types and shapes of the elements, as `Dataset.element_spec` gives them."""
        return self._dataset.element_spec

    def __repr__(self) -> str:
        return f"<Distributed {self._dataset!r}, num_workers={self._settings.num_workers}>"


class DistributedIterator(Closing):
    """One pass over a `Distributed`: the elements of one process, made by workers.

    An element that failed is raised at its position, and the following ``next`` continues after
    it. Workers start with the first ``next``, and end with `close`, with the last element, and when
    the iterator is dropped.
    """

    def __init__(self, dataset: Dataset, settings: Settings) -> None:
        self._dataset = dataset
        self._settings = settings
        local = iter(dataset)
        self._account = dataset._account()
        self._workers: Workers | None = None
        self._busy: dict[int, int] = {}
        self._sequence = -1
        self._size = 1
        self._failure: WorkerError | None = None
        self._counts = {"elements": 0, "lost": 0, "dropped": 0}
        self._begin(local._save_state(self._account), [])
        local.close()

    def _begin(self, state: bytes, done: list[Range]) -> None:
        """Go on from a state of the pipeline, whatever workers are making."""
        settings = self._settings
        self._sequence += 1
        self._progress = Progress(state, done)
        self._leases = Leases(
            window=settings.num_workers * (_AHEAD + 1) + 1,
            timeout=settings.lease_timeout,
            ordered=settings.deterministic,
            done=done,
        )
        self._lease = Lease(-1, 0, 0)  # that whose elements are delivered
        self._made = Made([], [], None, False, 0.0, 0)
        self._row = 0
        self._ended = False

    def __iter__(self) -> DistributedIterator:
        return self

    def __next__(self) -> Any:
        while not self._ended:
            made, row = self._made, self._row
            if row < len(made.values):
                self._progress.deliver(self._lease.first, self._lease.first + row, made.states[row])
                self._counts["elements"] += 1
                self._row = row + 1
                return made.values[row]
            if made.error is not None:
                self._raise(made, made.error)
            self._advance()
        raise StopIteration

    def _raise(self, made: Made, error: Exception) -> None:
        """Raise the error of a lease. What comes after it is made again, from the state there.

        Workers pass over elements of others as if none of them failed, which is wrong after one
        has: in a batch the next rows have its place.
        """
        if len(made.states) > len(made.values):
            position = self._lease.first + len(made.values)
            self._progress.deliver(self._lease.first, position, made.states[-1])
            self._begin(self._progress.state, self._progress.ranges())
        raise error

    def _advance(self) -> None:
        """Take the next lease that is done, and give workers others; wait for one if need be."""
        if self._failure is not None:
            raise self._failure
        workers = self._opened()
        try:
            self._deal(workers)
            if (result := self._leases.take()) is not None:
                self._lease, self._made, self._row = result.lease, result.payload, 0
                self._deal(workers)
            elif self._leases.over():
                self._ended = True
                self._close_workers()
            else:
                for event in workers.events(_WAIT_SECONDS):
                    self._handle(event)
                workers.handled()
        except LostTooOften as lost:
            self._failure = self._told(lost)
            self._close_workers()
            raise self._failure from None
        except WorkerError as error:  # they do not start
            self._failure = error
            self._close_workers()
            raise

    def _handle(self, event: Event) -> None:
        """Note what a worker has answered; that is also right the second time."""
        sequence, number = event.task
        made = event.made
        if made is None:
            self._busy[event.worker] = 0
            self._counts["lost"] += 1
            self._leases.lost(event.worker, event.lost)
            return
        self._busy[event.worker] = max(self._busy.get(event.worker, 0) - 1, 0)
        lease = self._leases.lease(number) if sequence == self._sequence else None
        if lease is None:
            self._counts["dropped"] += sequence == self._sequence
            return
        self._leases.done(Result(lease, len(made.values), made.ended, made))
        self._learn(made)

    def _deal(self, workers: Workers) -> None:
        now = time.monotonic()
        for worker in workers.ready():
            while self._busy.get(worker, 0) < _AHEAD:
                lease = self._leases.deal(worker, self._settings.split or self._size, now)
                if lease is None:
                    break
                order = Order(
                    self._sequence,
                    self._progress.position,
                    self._progress.state,
                    lease.first,
                    lease.last - lease.first,
                )
                self._busy[worker] = self._busy.get(worker, 0) + 1
                workers.give(worker, (self._sequence, lease.number), order)

    def _learn(self, made: Made) -> None:
        """Have leases take some time each, so that what is said about them costs little."""
        count = len(made.values)
        if count == 0:
            return
        by_time = _LEASE_SECONDS * count / max(made.seconds, 1e-6)
        by_bytes = _LEASE_BYTES * count / max(made.nbytes, 1)
        wanted = int(min(by_time, by_bytes, 2 * self._size, _MOST_ELEMENTS))
        self._size = max(wanted, 1)

    def _told(self, lost: LostTooOften) -> WorkerError:
        lease = lost.lease
        return WorkerError(
            f"distribute: lease {lease.number}, elements {lease.first} to {lease.last - 1} since "
            f"the iterator began, was lost with {lost.times} workers; the last one: {lost.cause}; "
            "an element may end the process that makes it: run the pipeline without distribute"
        )

    def _opened(self) -> Workers:
        if self._workers is None:
            workers = self._settings.opener(self._dataset, self._account)
            self._busy = {}
            self._workers = workers
            self._finalizer = weakref.finalize(self, workers.close)
        return self._workers

    def _close_workers(self) -> None:
        if self._workers is not None:
            self._workers = None
            self._finalizer()

    def get_state(self) -> bytes:
        """Return the position after the last element delivered.

        Returns
        -------
        bytes
            In order it is a state of the pipeline itself: `Iterator.set_state` of the dataset
            without `distribute` takes it, and so does this class with any number of workers. With
            ``deterministic=False`` it also has the ranges that came before their turn; then only
            `distribute` takes it.

        Notes
        -----
        Workers send a state with every element, so this takes no time.
        """
        return self._progress.saved()

    @checked
    def set_state(self, state: bytes | npt.NDArray[np.uint8], strict: bool = True) -> None:
        """Continue after the last element before `get_state` was called.

        Parameters
        ----------
        state : bytes, or array of uint8 of shape (N,)
            Of this class, or of an iterator over the dataset without `distribute`.
        strict : bool
            As for `Iterator.set_state`.

        Raises
        ------
        StateError
            If the state was saved by another pipeline, as for `Iterator.set_state`.
        ValueError
            If the bytes are damaged.
        """
        plain, done = opened(bytes_of(state))
        local = iter(self._dataset)
        local.set_state(plain, strict)
        plain = local._save_state(self._account)
        local.close()
        self._failure = None
        self._begin(plain, done)

    def stats(self) -> dict[str, int]:
        """Return what has happened so far.

        Returns
        -------
        dict
            The ``elements`` delivered; how often work was ``lost`` with a worker; how many
            results were ``dropped``, because another came first or the order ended before them; the
            present ``lease_size``.
        """
        return self._counts | {"lease_size": self._settings.split or self._size}

    def close(self) -> None:
        """End the workers and wait for them; no more elements come."""
        self._ended = True
        self._made = Made([], [], None, False, 0.0, 0)
        self._close_workers()

    def __repr__(self) -> str:
        return f"<DistributedIterator at element {self._counts['elements']} of {self._dataset!r}>"
