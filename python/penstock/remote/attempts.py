"""One range, however many requests it takes: retries, hedges, limits."""

from __future__ import annotations

import asyncio
import contextlib
import errno
import random
import time
from collections import deque
from collections.abc import AsyncIterator, Awaitable, Callable
from functools import partial
from pathlib import Path
from typing import Any, Generic, Protocol, TypeVar

from penstock.remote.failures import Failure, NoRanges
from penstock.remote.obstore_files import Answer, Entry
from penstock.storage_options import Limits, without_user

T = TypeVar("T")
Announce = Callable[[int, str], None]  # the size of a file, and the tag of its content

# Seconds before a range is asked for again, the first time and at most. Reading goes on soon after
# a server has recovered; one that limits requests is not asked before its limit is over.
_WAITS = {
    **{"": (0.1, 4.0), "expired": (0.1, 4.0)},
    **{"busy": (0.5, 4.0), "limited": (1.0, 16.0)},
}
_OUTAGE = 8  # requests in a row that have failed: the first one that succeeds after them ends it
_SPREAD = 0.1  # seconds over which those that have waited for its end go on
_SLOW = 3.0  # as long as most others took, times this: a hedge is sent
_LEAST_HEDGE, _MOST_HEDGE = 0.4, 15.0  # seconds
_UNKNOWN_HEDGE = 2.0  # while few requests have ended
_HEDGES_FOR_EACH = 0.1  # request that succeeds
_HEDGES_IN_A_SECOND = 1.0  # also while none succeeds
_MOST_HEDGES = 10.0
_AT_A_TIME = 3  # requests for one range


class Files(Protocol):
    """The files of one store; every method but the first may raise a `Failure`."""

    def path_of(self, url: str) -> str:
        """Return the path of a URL in this store."""

    async def read(
        self, path: str, start: int, size: int, first: bool, announce: Announce
    ) -> Answer:
        """Return `size` bytes from `start`, fewer at the end; `first`: and how long the file is.

        What is known of the file before its bytes have come goes to `announce`.
        """

    async def read_whole(self, path: str) -> Answer:
        """Return all bytes of a file."""

    async def describe(self, path: str) -> tuple[int, str]:
        """Return the size of a file, and the tag of its content."""

    async def upload(self, path: str, content: bytes | Path) -> None:
        """Make an object of bytes or a file of this machine; it appears when it is complete."""

    async def remove(self, path: str) -> None:
        """Remove an object."""

    def entries(self, prefix: str, deep: bool) -> AsyncIterator[Entry]:
        """Yield what is in a folder; with `deep` what is in its folders, too."""


class Attempts:
    """Requests to one store, for which it is learned how long they take.

    Parameters
    ----------
    files : Files
        The files of the store.
    limits : Limits
        How often and for how long each is tried.
    """

    def __init__(self, files: Files, limits: Limits) -> None:
        self.files = files
        self._limits = limits
        self._slots = asyncio.Semaphore(limits.max_requests)
        self._took: deque[float] = deque(maxlen=128)
        self._hedges = _MOST_HEDGES
        self._hedges_at = time.monotonic()
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
        """Return a range of a file; `tag` is what was read of it before.

        How long a file is that has more bytes goes to `announce` as soon as it is known, once.
        """
        what = f"bytes {start} to {start + size - 1}"
        path = self.files.path_of(url)
        whole = False

        def known(total: int, its_tag: str) -> None:
            nonlocal tag, announce
            if announce and not (tag and its_tag != tag) and total > start + size:
                tag = its_tag  # ranges of this content are requested from now on
                announce(total, its_tag)
                announce = None

        async def attempt() -> Answer:
            nonlocal whole
            try:
                if whole:
                    answer = await self.files.read_whole(path)
                else:
                    answer = await self.files.read(path, start, size, first, known)
            except NoRanges:
                whole = True
                raise
            if tag and answer.tag and answer.tag != tag:
                raise Failure(
                    f"the file was replaced while it was read: its tag was {tag}, and is "
                    f"{answer.tag} now",
                    0,
                )
            return answer

        return await self._race(url, what, attempt, hedges=self._limits.hedge)

    async def describe(self, url: str) -> tuple[int, str]:
        """Return the size of a file, and the tag of its content."""
        path = self.files.path_of(url)
        return await self._race(url, "its size", lambda: self.files.describe(path))

    async def upload(self, url: str, content: bytes | Path) -> None:
        """Make an object of bytes or a file of this machine."""
        path = self.files.path_of(url)
        write = partial(self.files.upload, path, content)
        await self._race(url, "", write, verb="write", timed=False)

    async def remove(self, url: str) -> None:
        """Remove an object, if it is there."""
        path = self.files.path_of(url)
        try:
            await self._race(url, "", lambda: self.files.remove(path), verb="remove")
        except Failure as failure:
            if failure.number != errno.ENOENT:
                raise

    async def entries(self, url: str, prefix: str, deep: bool) -> list[Entry]:
        """Return what is in a folder."""

        async def attempt() -> list[Entry]:
            return [entry async for entry in self.files.entries(prefix, deep)]

        return await self._race(url, "", attempt, verb="list", timed=False)

    async def _race(
        self,
        url: str,
        what: str,
        attempt: Callable[[], Awaitable[T]],
        *,
        verb: str = "read",
        hedges: bool = False,
        timed: bool = True,
    ) -> T:
        race: _Race[T] = _Race(
            url, f"{verb} {what}".strip(), self._limits.timeout if timed else None
        )
        try:
            while True:
                race.start(partial(self._in_slot, attempt))
                while race.running:
                    if await race.wait(self._patience() if hedges else None):
                        # Others that wait are likely to need one, too: after a stall all do.
                        self._hedges += 2 * race.hedge_won
                        return race.answer[0]
                    if hedges and race.slow and self._may_hedge(race):
                        self._hedges -= 1
                        # Those that are slow may have all slots.
                        race.start(partial(self._counted, attempt))
                await self._before_another(race)
        finally:
            race.end()

    async def _in_slot(self, attempt: Callable[[], Awaitable[T]]) -> T:
        async with self._slots:
            return await self._counted(attempt)

    async def _counted(self, attempt: Callable[[], Awaitable[T]]) -> T:
        began = time.monotonic()
        answer = await attempt()
        self._took.append(time.monotonic() - began)
        self._hedges = min(_MOST_HEDGES, self._hedges + _HEDGES_FOR_EACH)
        if self._failed >= _OUTAGE:
            self._recovered.set()
            self._recovered = asyncio.Event()
        self._failed = 0
        return answer

    def _patience(self) -> float:
        """Return after how many seconds a request is slow."""
        if len(self._took) < 8:
            return _UNKNOWN_HEDGE
        usual = sorted(self._took)[len(self._took) * 9 // 10]
        return min(max(_SLOW * usual, _LEAST_HEDGE), _MOST_HEDGE)

    def _may_hedge(self, race: _Race[Any]) -> bool:
        now = time.monotonic()
        more = (now - self._hedges_at) * _HEDGES_IN_A_SECOND
        self._hedges, self._hedges_at = min(_MOST_HEDGES, self._hedges + more), now
        return self._hedges >= 1 and race.count < self._limits.max_attempts

    async def _before_another(self, race: _Race[Any]) -> None:
        """Wait before a range is asked for again; raise what has failed when it is not."""
        failure = race.failure
        self._failed += 1
        seconds = time.monotonic() - race.began
        limits = self._limits
        if not failure.again or race.count >= limits.max_attempts or seconds >= limits.max_seconds:
            raise race.summary(seconds) from failure
        least, most = _WAITS[failure.kind]
        wait = min(least * 2**race.failures, most) * random.uniform(0.5, 1.0)
        wait = max(wait, failure.after * random.uniform(1.0, 1.1))
        wait = min(wait, max(0.0, limits.max_seconds - seconds))
        if failure.kind == "limited" or failure.after:
            await asyncio.sleep(wait)
            return
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(wait):
                await self._recovered.wait()
                await asyncio.sleep(random.uniform(0.0, _SPREAD))


class _Race(Generic[T]):
    """The requests for one range: the first one that succeeds counts."""

    def __init__(self, url: str, task: str, timeout: float | None) -> None:
        self.running: list[asyncio.Task[T]] = []  # the oldest first
        self.count = 0
        self.failures = 0
        self.slow = False
        self.hedge_won = False
        self.answer: list[T] = []
        self.failure = Failure("no request was made")
        self.began = time.monotonic()
        self._url = url
        self._task = task
        self._timeout = timeout

    def start(self, attempt: Callable[[], Awaitable[T]]) -> None:
        self.count += 1
        if len(self.running) == _AT_A_TIME:
            self.running.pop(0).cancel()
        self.running.append(asyncio.create_task(self._timed(attempt)))

    async def _timed(self, attempt: Callable[[], Awaitable[T]]) -> T:
        try:
            async with asyncio.timeout(self._timeout):
                return await attempt()
        except TimeoutError:
            raise Failure(f"no answer within {self._timeout:g} s", again=True) from None

    async def wait(self, patience: float | None) -> bool:
        """Wait until a request ends, or is slow; return whether there is an answer."""
        oldest = self.running[0]
        done, running = await asyncio.wait(
            self.running, timeout=patience, return_when=asyncio.FIRST_COMPLETED
        )
        self.running = [task for task in self.running if task in running]
        self.slow = not done
        for task in done:
            error = task.exception()
            if error is None:
                self.answer.append(task.result())
                self.hedge_won = task is not oldest
                return True
            if not isinstance(error, Failure):
                raise error
            self.failures += 1
            self.failure = error
            if not error.again:
                self.end()
                self.running = []
        return False

    def end(self) -> None:
        for task in self.running:
            task.cancel()

    def summary(self, seconds: float) -> Failure:
        times = "1 request" if self.count == 1 else f"{self.count} requests in {seconds:.1f} s"
        text = f"{without_user(self._url)}: cannot {self._task} after {times}: {self.failure.text}"
        return Failure(text, self.failure.number)
