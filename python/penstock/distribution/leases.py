"""Assignment of elements to workers, in ranges whose results are each taken once.

The module knows no workers, clock or transport; its callers report events and times.
"""

from __future__ import annotations

import dataclasses
from collections.abc import Hashable, Iterable
from typing import Any

MOST = 2**62  # more elements than there will ever be

_OWN = 4  # multiple of the timeout after which a worker is assigned its own lease again

Range = tuple[int, int]


@dataclasses.dataclass(frozen=True, slots=True)
class Lease:
    """The elements `first` to `last` (exclusive) of the order; leases are numbered in order."""

    number: int
    first: int
    last: int


@dataclasses.dataclass(frozen=True, slots=True)
class Result:
    """The result of a lease: `count` elements, and whether the order ends with them."""

    lease: Lease
    count: int
    ended: bool
    payload: Any


class LostTooOften(Exception):
    """Several workers have lost the same lease."""

    def __init__(self, lease: Lease, times: int, cause: str) -> None:
        super().__init__(lease, times, cause)
        self.lease = lease
        self.times = times
        self.cause = cause


@dataclasses.dataclass(slots=True)
class _Out:
    """A lease that is assigned, or waits to be assigned again."""

    lease: Lease
    holders: dict[Hashable, float]  # workers, with the time of assignment
    lost: int = 0


class Leases:
    """Assign ranges of the order to workers, and take the result of each once.

    Parameters
    ----------
    window : int
        Maximum number of leases that are assigned or done, but not taken yet.
    timeout : float
        Seconds after which a lease is assigned to an additional worker.
    most_lost : int
        How often a lease may be lost together with its worker.
    ordered : bool
        Whether to take results in order.
    done : iterable of (first, last)
        Ranges to skip, because they were delivered before.
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
        self._next = 0  # number of the next new lease
        self._from = 0  # its first element
        self._out: dict[int, _Out] = {}
        self._again: list[int] = []  # those of `_out` without a worker; sorted
        self._results: dict[int, Result] = {}
        self._taken = 0  # number of the next result in order
        self._due = 0.0  # no lease is late before this time
        self._end = MOST  # number of the last lease of the order

    def deal(self, worker: Hashable, size: int, now: float) -> Lease | None:
        """Return a lease for a worker: a lost one, a new one of `size` elements, or None."""
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
        """Add a result; return False if another worker's result arrived earlier."""
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
        """Return a lease whose result is still needed."""
        out = self._out.get(number)
        return None if out is None else out.lease

    def lost(self, worker: Hashable, cause: str) -> None:
        """Take back the leases of a worker that died or left.

        Only the lease that it was working on counts as lost, not those in its queue.

        Raises
        ------
        LostTooOften
            If a lease was lost with several workers.
        """
        held = [out for out in self._out.values() if worker in out.holders]
        held.sort(key=lambda out: (out.holders[worker], out.lease.number))  # in order of assignment
        self.returned(worker)
        if held:
            held[0].lost += 1
            if held[0].lost > self._most_lost:
                raise LostTooOften(held[0].lease, held[0].lost, cause)

    def returned(self, worker: Hashable) -> None:
        """Take back the leases of a worker that will not make them, without counting a loss."""
        self._due = 0.0
        for out in self._out.values():
            if out.holders.pop(worker, None) is not None and not out.holders:
                self._deal_again(out.lease.number)

    def take(self) -> Result | None:
        """Return the next result; None if it is not available yet."""
        result = self.look()
        if result is not None:
            self.taken(result)
        return result

    def look(self) -> Result | None:
        """Return the result that `take` would return, without removing it."""
        number = self._taken if self._ordered else min(self._results, default=-1)
        return self._results.get(number)

    def taken(self, result: Result) -> None:
        """Record that a result was taken; call again if interrupted."""
        number = result.lease.number
        self._taken = number + 1
        self._results.pop(number, None)

    def ready(self) -> bool:
        """Return whether `take` would return a result."""
        return self._taken in self._results if self._ordered else bool(self._results)

    def over(self) -> bool:
        """Return whether all results have been taken."""
        return self._next > self._end and not self._out and not self._results

    def held_by(self, worker: Hashable) -> int:
        """Return the number of leases of a worker."""
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
        """Return the oldest late lease, to assign it to an additional worker.

        A worker that already has the lease may have lost it, or its answer may be lost. It is
        assigned the lease again only after a longer time.
        """
        if now < self._due:  # called often, and there may be thousands of leases
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
        """Drop all leases and results after the last element."""
        self._end = min(self._end, number)
        self._next = max(self._next, self._end + 1)
        for late in [n for n in self._out if n > self._end]:
            del self._out[late]
        for late in [n for n in self._results if n > self._end]:
            del self._results[late]
        self._again = [n for n in self._again if n <= self._end]
