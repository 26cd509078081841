"""Who makes which elements: ranges of the order, each of which is taken once.

It knows no worker, no clock and no transport: those who call say what has happened, and when.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Hashable, Iterable
from typing import Any

MOST = 2**62  # more elements than there will ever be

_OWN = 4  # times the timeout, after which a worker is given again what it has

Range = tuple[int, int]


@dataclasses.dataclass(frozen=True, slots=True)
class Lease:
    """The elements `first` to `last`, without `last`, of the order; leases are numbered in it."""

    number: int
    first: int
    last: int


@dataclasses.dataclass(frozen=True, slots=True)
class Result:
    """What has become of a lease: `count` elements, and whether the order ends with them."""

    lease: Lease
    count: int
    ended: bool
    payload: Any


class LostTooOften(Exception):
    """A lease that several workers have lost."""

    def __init__(self, lease: Lease, times: int, cause: str) -> None:
        super().__init__(lease, times, cause)
        self.lease = lease
        self.times = times
        self.cause = cause


@dataclasses.dataclass(slots=True)
class _Out:
    """A lease that has been dealt, or waits to be dealt again."""

    lease: Lease
    holders: dict[Hashable, float]  # workers, and when each got it
    lost: int = 0


class Leases:
    """Deals ranges of the order to workers and takes the result of each once.

    Parameters
    ----------
    window : int
        Leases that are dealt or done and not taken yet, at most.
    timeout : float
        Seconds after which a lease is dealt to one more worker.
    most_lost : int
        How often a lease may be lost with its worker.
    ordered : bool
        Whether results are taken in order.
    done : iterable of (first, last)
        Ranges that are not to be dealt, because they were delivered before.
    """

    def __init__(
        self,
        window: int,
        timeout: float,
        most_lost: int = 4,
        ordered: bool = True,
        done: Iterable[Range] = (),
    ) -> None:
        self.window = window
        self._timeout = timeout
        self._most_lost = most_lost
        self._ordered = ordered
        self._done_before = sorted(done)
        self._next = 0  # the number of the next new lease
        self._from = 0  # its first element
        self._out: dict[int, _Out] = {}
        self._again: list[int] = []  # of these, those that no worker has; sorted
        self._results: dict[int, Result] = {}
        self._taken = 0  # number of the next one in order
        self._due = 0.0  # no lease is late before
        self._end = MOST  # the lease with which the order ends

    def deal(self, worker: Hashable, size: int, now: float) -> Lease | None:
        """Return a lease for a worker: a lost one, a new one of `size` elements, or none now."""
        while self._again:
            out = self._out[self._again.pop(0)]
            out.holders[worker] = now
            self._due = min(self._due, now + self._timeout)
            return out.lease
        if self._next <= self._end and self._open() < self.window:
            lease = self._new(size)
            self._out[lease.number] = _Out(lease, {worker: now})
            self._due = min(self._due, now + self._timeout)
            return lease
        return self._late(worker, now)

    def done(self, result: Result) -> bool:
        """Take a result; False for one that came before, from another worker."""
        number = result.lease.number
        if self._out.pop(number, None) is None:
            return False
        if number in self._again:
            self._again.remove(number)
        self._results[number] = result
        if result.ended:
            self._finish(number)
        return True

    def lease(self, number: int) -> Lease | None:
        """Return a lease whose result is wanted."""
        out = self._out.get(number)
        return None if out is None else out.lease

    def lost(self, worker: Hashable, cause: str) -> None:
        """Take back what a worker had: it has died, or has left.

        That counts against the lease that it was making, and against none that waited for its turn.

        Raises
        ------
        LostTooOften
            If a lease was lost with several workers.
        """
        held = [out for out in self._out.values() if worker in out.holders]
        held.sort(key=lambda out: (out.holders[worker], out.lease.number))  # as they were dealt
        self.returned(worker)
        if held:
            held[0].lost += 1
            if held[0].lost > self._most_lost:
                raise LostTooOften(held[0].lease, held[0].lost, cause)

    def returned(self, worker: Hashable) -> None:
        """Take back what a worker had and will not make, which is not its fault."""
        self._due = 0.0
        for out in self._out.values():
            if out.holders.pop(worker, None) is not None and not out.holders:
                self._deal_again(out.lease.number)

    def take(self) -> Result | None:
        """Return the next result; none if it is not there yet."""
        result = self.look()
        if result is not None:
            self.taken(result)
        return result

    def look(self) -> Result | None:
        """Return what `take` would, and leave it there."""
        number = self._taken if self._ordered else min(self._results, default=-1)
        return self._results.get(number)

    def taken(self, result: Result) -> None:
        """Note that a result was taken; to be said again where that was interrupted."""
        number = result.lease.number
        self._taken = number + 1
        self._results.pop(number, None)

    def ready(self) -> bool:
        """Return whether `take` would give a result."""
        return self._taken in self._results if self._ordered else bool(self._results)

    def over(self) -> bool:
        """Return whether all results have been taken."""
        return self._next > self._end and not self._out and not self._results

    def held_by(self, worker: Hashable) -> int:
        """Return how many leases a worker has."""
        return sum(worker in out.holders for out in self._out.values())

    def _open(self) -> int:
        return len(self._out) + len(self._results)

    def _new(self, size: int) -> Lease:
        first = self._from
        while self._done_before and self._done_before[0][0] <= first:
            first = max(first, self._done_before.pop(0)[1])
        last = first + size
        if self._done_before:
            last = min(last, self._done_before[0][0])
        lease = Lease(self._next, first, last)
        self._next += 1
        self._from = last
        return lease

    def _late(self, worker: Hashable, now: float) -> Lease | None:
        """Return the oldest lease that takes too long, for one more worker.

        Of what it has itself, a worker may have lost the lease or the answer: that takes longer.
        """
        if now < self._due:  # this is asked often, and there may be thousands
            return None
        due = float("inf")
        for out in self._out.values():
            dealt = max(out.holders.values(), default=now)
            due = min(due, dealt + self._timeout)
            if now - dealt >= self._timeout * (_OWN if worker in out.holders else 1):
                out.holders[worker] = now
                return out.lease
        self._due = due
        return None

    def _deal_again(self, number: int) -> None:
        if number not in self._again:
            self._again.append(number)
            self._again.sort()

    def _finish(self, number: int) -> None:
        """Forget what comes after the last element."""
        self._end = min(self._end, number)
        self._next = max(self._next, self._end + 1)
        for late in [n for n in self._out if n > self._end]:
            del self._out[late]
        for late in [n for n in self._results if n > self._end]:
            del self._results[late]
        self._again = [n for n in self._again if n <= self._end]
