"""Adapt the number of concurrent requests to the network connection of a store."""

from __future__ import annotations

import asyncio
import contextlib
import time
from collections import deque
from collections.abc import AsyncIterator

_FIRST_LIMIT = 4
_QUICK = 1.0  # seconds; if requests finish within this time, more may run concurrently
_STEP = 1.5  # factor between two limits to compare
_WORTH = 1.15  # more requests must raise the throughput by this factor
_HARMLESS = 0.9  # fewer requests may lower it by this factor
_PERIOD = 1.0  # minimum seconds over which a limit is measured
_PART_SECONDS = 0.05  # a part of a reply holds the bytes received in this time
_FIRST_PART, _MAX_PART = 16 << 10, 1 << 20
_SOUND = 256 << 20  # bytes of unbroken replies after which replies are no longer split
_AT_ONCE = 2.0  # maximum seconds for an unsplit reply


class Line:
    """A semaphore whose limit follows the throughput, and the size of the parts of replies.

    While requests are quick, each completed one raises the limit by one, so the limit doubles in
    the duration of a request. If requests are slow, two limits are compared: a higher one is kept
    if it raises the throughput, a lower one if it does not reduce the throughput. So many
    connections are used if the server limits each of them, and few if they share a slow network.

    Parameters
    ----------
    max_requests : int
        Upper bound of the limit.
    """

    def __init__(self, max_requests: int) -> None:
        self._max = max_requests
        self.limit = float(min(_FIRST_LIMIT, max_requests))
        self._running = 0
        self._waiting: deque[asyncio.Future[None]] = deque()
        self._part = 1
        self._rate = 0.0  # bytes per second, of the last reply
        self._sound = 0  # bytes of replies since the last broken one
        self._bytes = 0  # since the start of the period
        self._began = time.monotonic()
        self._before: tuple[float, float] | None = None  # the limit and rate to compare with
        self._up = True
        self._refused = float("-inf")

    @contextlib.asynccontextmanager
    async def turn(self, *, urgent: bool = False) -> AsyncIterator[None]:
        """Wait until a request may be sent; `urgent` ones are sent before waiting ones."""
        if (self._waiting and not urgent) or self._running >= int(self.limit):
            turn = asyncio.get_running_loop().create_future()
            (self._waiting.appendleft if urgent else self._waiting.append)(turn)
            try:
                await turn
            except asyncio.CancelledError:
                if turn.done() and not turn.cancelled():
                    self._leave()
                raise
        else:
            self._running += 1
        try:
            yield
        finally:
            self._leave()

    def _leave(self) -> None:
        self._running -= 1
        while self._waiting and self._running < int(self.limit):
            turn = self._waiting.popleft()
            if not turn.done():
                self._running += 1
                turn.set_result(None)

    def part_of(self, size: int | None, patience: float) -> int:
        """Return the number of bytes to read from a reply before storing them.

        If a reply breaks off, at most that many bytes are lost. `size` is the size of the reply in
        bytes, and `patience` the timeout in seconds. Reading in parts takes twice the CPU time of
        reading in one piece. So with a fast connection, replies are read in one piece once many
        have arrived unbroken.
        """
        if size is None or self._sound < _SOUND:
            return self._part
        at_once = self._rate * min(_AT_ONCE, patience / 4)
        return max(size, 1) if size <= at_once else self._part

    def arrived(self, size: int) -> None:
        """Count bytes of a reply."""
        self._bytes += size

    def ended(self, seconds: float, size: int) -> None:
        """Update the limits after a complete reply of `size` bytes."""
        rate = self._rate = size / max(seconds, 1e-6)
        self._sound += size
        most = min(max(2 * self._part, _FIRST_PART), _MAX_PART)
        self._part = max(1, min(most, int(rate * _PART_SECONDS)))
        if seconds < _QUICK:
            self._set(self.limit + 1)
            self._before = None
            self._begin()
        elif time.monotonic() - self._began >= max(_PERIOD, seconds / 2):
            self._compare()

    def broke(self) -> None:
        """React to a broken reply: store each byte as soon as it arrives."""
        self._part = 1
        self._sound = 0

    def refused(self) -> None:
        """React to a server that refused a request: halve the limit."""
        now = time.monotonic()
        if now - self._refused >= _PERIOD:  # requests sent at the same time count once
            self._refused = now
            self._set(self.limit / 2)
            self._before = None

    def _compare(self) -> None:
        now = time.monotonic()
        rate = self._bytes / (now - self._began)
        if self._before is not None:
            limit, former = self._before
            if rate < former * (_WORTH if self._up else _HARMLESS):
                self._set(limit)
                self._up = not self._up
                self._before = None  # measure again before the next step
                self._begin()
                return
        limit = self.limit
        # If no request is waiting, a higher limit has no effect.
        if self._up and not self._waiting:
            self._up = False
        self._set(limit * _STEP if self._up else max(min(limit, 2.0), limit / _STEP))
        if self.limit == limit:
            self._up = not self._up
        self._before = (limit, rate)
        self._begin()

    def _begin(self) -> None:
        self._bytes, self._began = 0, time.monotonic()

    def _set(self, limit: float) -> None:
        self.limit = min(max(limit, 1.0), float(self._max))
