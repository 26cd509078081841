"""Requests with retries, hedges and limits. A range takes as many requests as needed."""

from __future__ import annotations

import asyncio
import contextlib
import errno
import math
import random
import time
from collections import deque
from collections.abc import AsyncIterator, Awaitable, Callable
from functools import partial
from pathlib import Path
from typing import Any, Protocol, TypeVar

from penstock.printable import shown
from penstock.remote.failures import Failure, NoRanges
from penstock.remote.line import Line
from penstock.remote.obstore_files import Answer, Entry, Reply
from penstock.storage_options import Limits

T = TypeVar("T")
Announce = Callable[[int, str], None]  # receives the size of a file and the tag of its content

# Seconds before a request is repeated: first and maximum delay. Short delays resume reading soon
# after a server recovers. After a rate limit, the delay is longer, so that the limit is over.
_WAITS = {
    **{"": (0.1, 4.0), "expired": (0.1, 4.0)},
    **{"busy": (0.5, 4.0), "limited": (1.0, 16.0)},
}
_OUTAGE = 8  # consecutive failed requests; the next success ends the outage
_SPREAD = 0.1  # seconds over which the requests delayed by an outage are spread
_SLOW = 3.0  # send a hedge after this multiple of the usual duration
_MIN_HEDGE, _MAX_HEDGE = 0.4, 15.0  # seconds
_UNKNOWN_HEDGE = 2.0  # before enough requests have finished
_HEDGES_FOR_EACH = 0.1  # per successful request
_HEDGES_IN_A_SECOND = 1.0  # even if no request succeeds
_MAX_HEDGES = 10.0
_PROGRESS = 4 << 10  # bytes that must arrive within the timeout


class Files(Protocol):
    """The files of one store. All methods except `path_of` may raise a `Failure`."""

    def path_of(self, url: str) -> str:
        """Return the path of a URL in this store."""

    async def open(self, path: str, start: int, size: int, first: bool) -> Reply:
        """Request `size` bytes from `start`; `first`: nothing is known about the file yet."""

    async def open_whole(self, path: str) -> Reply:
        """Request all bytes of a file."""

    async def describe(self, path: str) -> tuple[int, str]:
        """Return the size of a file (-1 if unknown), and the tag of its content."""

    async def upload(self, path: str, content: bytes | Path) -> None:
        """Write bytes or a local file to an object, which appears when it is complete."""

    async def remove(self, path: str) -> None:
        """Remove an object."""

    def entries(self, prefix: str, deep: bool) -> AsyncIterator[Entry]:
        """Yield the entries of a folder; with `deep`, also those of its subfolders."""


class Attempts:
    """Send requests to one store, with retries and hedges based on measured durations.

    Parameters
    ----------
    files : Files
        The files of the store.
    limits : Limits
        Limits on the number and time of retries.
    """

    def __init__(self, files: Files, limits: Limits) -> None:
        self.files = files
        self._limits = limits
        self._line = Line(limits.max_requests)
        self._took: deque[float] = deque(maxlen=128)
        self._hedges = _MAX_HEDGES
        self._hedges_at = time.monotonic()
        self._answered = 0.0  # when the last of the successful requests began
        self._failed = 0  # since the last request that succeeded
        self._recovered = asyncio.Event()  # another one each time

    async def read(
        self,
        url: str,
        start: int,
        size: int,
        first: bool,
        tag: str,
        announce: Announce | None = None,
    ) -> Answer:
        """Return a range of a file; `tag` is the tag of the bytes read earlier.

        If a reply breaks off, the next request continues at the first missing byte. If the file has
        more bytes, `announce` is called once, as soon as the size is known.
        """
        what = f"read bytes {start} to {start + size - 1}"
        tries = _Tries(url, what, self._limits)
        transfer = _Transfer(self.files.path_of(url), start, size, first, tag, announce)
        running: list[asyncio.Task[None]] = []
        try:
            while True:
                # Slow requests may occupy all slots, so a hedge does not need one. Continuing a
                # broken reply has priority over other ranges, which the reader needs later.
                again = transfer.begun
                turn = contextlib.nullcontext() if running else self._line.turn(urgent=again)
                running.append(asyncio.create_task(self._request(transfer, tries, turn)))
                while running:
                    hedges = self._limits.hedge and not transfer.whole
                    done, _ = await asyncio.wait(
                        running,
                        timeout=self._until_slow(transfer, len(running)) if hedges else None,
                        return_when=asyncio.FIRST_COMPLETED,
                    )
                    if transfer.complete:
                        self._succeeded()
                        return transfer.answer()
                    for task in done:
                        running.remove(task)
                        if not task.cancelled():
                            self._look(task, tries)
                    if hedges and not done and self._may_hedge(transfer, len(running), tries):
                        if len(running) > 1:
                            lost = running.pop(0)
                            lost.cancel()
                            lost.add_done_callback(_forget)
                        break
                else:
                    await self._before_another(tries)
        finally:
            for task in running:
                task.cancel()
                task.add_done_callback(_forget)  # it may have failed in the meantime

    def _look(self, task: asyncio.Task[None], tries: _Tries) -> None:
        error = task.exception()
        if error is None:
            return
        if not isinstance(error, Failure):
            raise error
        tries.failed(error)
        if not error.again:
            raise tries.summary() from error

    async def _request(
        self, transfer: _Transfer, tries: _Tries, turn: contextlib.AbstractAsyncContextManager[None]
    ) -> None:
        """Send one request for the missing bytes, and store its reply."""
        async with turn:
            tries.begin()
            request = transfer.begin(asyncio.current_task())
            try:
                await self._receive(transfer, request, tries)
            except NoRanges:
                if not request.whole:
                    tries.since -= 1  # the request for the whole file replaces this one
                    transfer.expect_whole(request)
                raise
            except Failure:
                self._line.broke()
                transfer.broke(request)
                raise
            finally:
                transfer.requests.remove(request)
            seconds = time.monotonic() - request.began
            self._answered = max(self._answered, request.began)
            self._took.append(seconds)
            self._line.ended(seconds, request.at - request.start)

    async def _receive(self, transfer: _Transfer, request: _Request, tries: _Tries) -> None:
        loop = asyncio.get_running_loop()
        patience = self._limits.timeout
        counted = request.at
        try:
            async with asyncio.timeout(patience) as deadline:
                if request.whole:
                    reply = await self.files.open_whole(transfer.path)
                else:
                    first = transfer.first and not transfer.begun
                    size = transfer.end - request.at
                    reply = await self.files.open(transfer.path, request.at, size, first)
                transfer.accept(request, reply)
                deadline.reschedule(loop.time() + patience)
                counted = request.at
                left = None if request.end is None else request.end - request.at
                async for part in reply.parts(self._line.part_of(left, patience)):
                    self._line.arrived(len(part))
                    if transfer.extend(request, part):
                        tries.progressed()
                    if request.at - counted >= _PROGRESS:
                        counted = request.at
                        deadline.reschedule(loop.time() + patience)
        except TimeoutError:
            text = (
                f"no bytes within {patience:g} s"
                if request.at == counted
                else (f"only {request.at - counted} bytes within {patience:g} s")
            )
            raise Failure(text, again=True) from None
        transfer.end_of(request)

    async def describe(self, url: str) -> tuple[int, str]:
        """Return the size of a file (-1 if the server does not send it), and its tag."""
        path = self.files.path_of(url)
        return await self._retried(url, "read its size", lambda: self.files.describe(path))

    async def upload(self, url: str, content: bytes | Path) -> None:
        """Write bytes or a local file to an object."""
        path = self.files.path_of(url)
        await self._retried(url, "write", partial(self.files.upload, path, content), timed=False)

    async def remove(self, url: str) -> None:
        """Remove an object, if it exists."""
        path = self.files.path_of(url)
        try:
            await self._retried(url, "remove", lambda: self.files.remove(path))
        except Failure as failure:
            if failure.number != errno.ENOENT:
                raise

    async def entries(self, url: str, prefix: str, deep: bool) -> list[Entry]:
        """Return the contents of a folder."""

        async def attempt() -> list[Entry]:
            return [entry async for entry in self.files.entries(prefix, deep)]

        return await self._retried(url, "list", attempt, timed=False)

    async def _retried(
        self, url: str, task: str, attempt: Callable[[], Awaitable[T]], *, timed: bool = True
    ) -> T:
        tries = _Tries(url, task, self._limits)
        patience = self._limits.timeout if timed else None
        while True:
            try:
                async with self._line.turn():
                    tries.begin()
                    async with asyncio.timeout(patience):
                        result = await attempt()
                self._succeeded()
                return result
            except TimeoutError:
                tries.failed(Failure(f"no answer within {patience:g} s", again=True))
            except Failure as failure:
                tries.failed(failure)
            await self._before_another(tries)

    def _succeeded(self) -> None:
        self._hedges = min(_MAX_HEDGES, self._hedges + _HEDGES_FOR_EACH)
        if self._failed >= _OUTAGE:
            self._recovered.set()
            self._recovered = asyncio.Event()
        self._failed = 0

    def _until_slow(self, transfer: _Transfer, running: int) -> float:
        """Return the seconds after which a hedge, or another one in its place, may be sent."""
        request = transfer.latest()
        if request is None:
            return _MIN_HEDGE  # it waits for its turn
        stalled, slow = _UNKNOWN_HEDGE, math.inf
        if len(self._took) >= 8:
            slow = max(_SLOW * sorted(self._took)[len(self._took) * 9 // 10], _MIN_HEDGE)
            stalled = min(slow, _MAX_HEDGE)
        due = request.arrived + stalled
        if running == 1:
            due = min(due, request.began + slow)
        return max(0.0, max(due, request.not_before) - time.monotonic())

    def _may_hedge(self, transfer: _Transfer, running: int, tries: _Tries) -> bool:
        request = transfer.latest()
        if request is None or self._until_slow(transfer, running) > 0:
            return False
        now = time.monotonic()
        more = (now - self._hedges_at) * _HEDGES_IN_A_SECOND
        self._hedges, self._hedges_at = min(_MAX_HEDGES, self._hedges + more), now
        # While a server is silent, few hedges probe it. Once a request has succeeded that began
        # after the last bytes of this transfer, the running requests are lost.
        lost = self._answered > request.arrived
        if (self._hedges < 1 and not lost) or tries.since >= self._limits.max_attempts:
            request.not_before = now + _MIN_HEDGE
            return False
        if not lost:
            self._hedges -= 1
        self._line.broke()
        return True

    async def _before_another(self, tries: _Tries) -> None:
        """Wait before the next request; raise the failure if it is final or limits are reached."""
        failure = tries.failure
        limits = self._limits
        seconds = time.monotonic() - tries.began
        exhausted = tries.since >= limits.max_attempts or seconds >= limits.max_seconds
        if not failure.again or exhausted:
            raise tries.summary() from failure
        if failure.kind in ("busy", "limited"):
            self._line.refused()
        if tries.since == 0 or isinstance(failure, NoRanges):
            return  # some bytes arrived
        self._failed += 1
        least, most = _WAITS[failure.kind]
        wait = min(least * 2**tries.failures, most) * random.uniform(0.5, 1.0)
        wait = max(wait, failure.after * random.uniform(1.0, 1.1))
        wait = min(wait, max(0.0, limits.max_seconds - seconds))
        if failure.kind == "limited" or failure.after:
            await asyncio.sleep(wait)
            return
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(wait):
                await self._recovered.wait()
                await asyncio.sleep(random.uniform(0.0, _SPREAD))


def _forget(task: asyncio.Task[None]) -> None:
    if not task.cancelled():
        task.exception()  # otherwise asyncio logs an exception that was never retrieved


class _Tries:
    """The requests for one result. New bytes reset the limits."""

    def __init__(self, url: str, task: str, limits: Limits) -> None:
        self.since = 0  # requests since the last new bytes
        self.failures = 0  # failures among them
        self.failure = Failure("no request was made")
        self.began = self._first = time.monotonic()
        self._url = url
        self._task = task
        self._count = 0

    def begin(self) -> None:
        self._count += 1
        self.since += 1

    def progressed(self) -> None:
        self.since = self.failures = 0
        self.began = time.monotonic()

    def failed(self, failure: Failure) -> None:
        self.failures += 1
        self.failure = failure

    def summary(self) -> Failure:
        seconds = time.monotonic() - self._first
        times = "1 request" if self._count == 1 else f"{self._count} requests in {seconds:.1f} s"
        text = f"{shown(self._url)}: cannot {self._task} after {times}: {self.failure.text}"
        return Failure(text, self.failure.number)


class _Request:
    """One request of a transfer, and the position in its reply."""

    def __init__(self, at: int, whole: bool, task: asyncio.Task[None] | None) -> None:
        self.start = self.at = at  # `at`: position of the next byte to arrive
        self.whole = whole
        self.task = task
        self.end: int | None = None  # end of the reply, if the server sends it
        self.began = self.arrived = time.monotonic()
        self.not_before = 0.0  # earliest time for the next hedge


class _Transfer:
    """The bytes of a file range that have arrived.

    Every running request starts at a byte that has arrived or is the next one. So its reply extends
    the range as soon as it is ahead of the others.
    """

    def __init__(
        self, path: str, start: int, size: int, first: bool, tag: str, announce: Announce | None
    ) -> None:
        self.path = path
        self.end = start + size
        self.first = first
        self.whole = False  # the server sends whole files only
        self.complete = False
        self.requests: list[_Request] = []  # oldest first
        self._start = start
        self._tag = tag
        self._total = -1
        self._announce = announce
        self._parts: list[Any] = []
        self._have = self._furthest = start

    @property
    def begun(self) -> bool:
        """Whether bytes have arrived."""
        return bool(self._parts)

    def latest(self) -> _Request | None:
        """Return the running request whose bytes, or which itself, came last."""
        return max(self.requests, key=lambda request: request.arrived, default=None)

    def begin(self, task: asyncio.Task[None] | None) -> _Request:
        request = _Request(self._have, self.whole, task)
        self.requests.append(request)
        return request

    def accept(self, request: _Request, reply: Reply) -> None:
        """Check the headers of a reply."""
        replaced = self._tag and reply.tag and reply.tag != self._tag
        if replaced or (self._parts and reply.total >= 0 and reply.total != self._total):
            was, now = (self._tag, reply.tag) if replaced else (self._total, reply.total)
            raise Failure(
                f"the file was replaced while it was read: its {'tag' if replaced else 'size'} was "
                f"{was}, and is {now} now",
                0,
            )
        if reply.offset != request.at:
            raise Failure(f"byte {request.at} was expected, got {reply.offset}", again=True)
        self._tag = self._tag or reply.tag
        request.end = reply.end
        if reply.total < 0:
            return
        self._total = reply.total
        if request.whole:
            self.end = reply.total
            return
        self.end = min(self.end, reply.total)
        if self._announce and reply.total > self.end:
            self._announce(reply.total, reply.tag)
            self._announce = None

    def extend(self, request: _Request, part: Any) -> bool:
        """Store the new bytes of a part; return whether there were any."""
        request.arrived = time.monotonic()
        at, request.at = request.at, request.at + len(part)
        if request.end is not None and request.at > request.end:
            self._reset(request)
            size = request.end - request.start
            raise Failure(f"{size} bytes were expected, got more", again=True)
        if request.at <= self._have:
            return False
        new = memoryview(part)[self._have - at :] if at < self._have else part
        self._parts.append(new)
        self._have = request.at
        for older in self.requests[: self.requests.index(request)]:
            if older.task:
                older.task.cancel()  # it was overtaken
        progress = self._have > self._furthest
        self._furthest = max(self._furthest, self._have)
        return progress

    def end_of(self, request: _Request) -> None:
        """Check that a reply is complete."""
        if request.whole and request.end is None:
            self.end = self._total = self._have
        self.complete = self._have >= self.end
        if self.complete:
            self._end_others(request)
        else:
            size, got = self.end - request.start, request.at - request.start
            raise Failure(f"{size} bytes were expected, got {got}", again=True)

    def broke(self, request: _Request) -> None:
        """Prepare the next request: continue, or restart where that is not possible."""
        if request.whole and request.end is None:
            self._reset(request)
        elif request.whole and self._parts:
            self.whole = False  # ranges may work now; otherwise the whole file is requested again

    def expect_whole(self, request: _Request) -> None:
        """Restart with the whole file."""
        self.whole = True
        self._start = 0
        self._reset(request)

    def _reset(self, request: _Request) -> None:
        """Discard the bytes, and cancel the other requests, which would continue them."""
        self._parts.clear()
        self._have = self._start
        self._end_others(request)

    def _end_others(self, request: _Request) -> None:
        for other in self.requests:
            if other is not request and other.task:
                other.task.cancel()

    def answer(self) -> Answer:
        parts = self._parts
        buffer = parts[0] if len(parts) == 1 else b"".join(parts)
        return Answer(buffer, self._start, self._total, self._tag)
