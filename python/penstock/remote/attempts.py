"""One range, however many requests it takes: retries, hedges, limits."""

from __future__ import annotations

import asyncio
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
from penstock.remote.settings import Limits

T = TypeVar("T")
Announce = Callable[[int, str], None]  # the size of a file, and the tag of its content

_FIRST_WAIT = 0.1  # seconds before a range is asked for again
_FIRST_WAIT_OF_BUSY = 0.5  # after 429 and 503
_MOST_WAIT = 4.0  # so that reading goes on soon after a server has recovered
_SLOW = 3.0  # as long as most others took, times this: a hedge is sent
_LEAST_HEDGE, _MOST_HEDGE = 0.4, 5.0  # seconds
_UNKNOWN_HEDGE = 2.0  # while few requests have ended
_HEDGES_FOR_EACH = 0.1  # request that succeeds
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
                        return race.answer[0]
                    if hedges and race.slow and self._may_hedge(race):
                        self._hedges -= 1
                        race.start(partial(self._in_slot, attempt))
                await self._before_another(race)
        finally:
            race.end()

    async def _in_slot(self, attempt: Callable[[], Awaitable[T]]) -> T:
        async with self._slots:
            began = time.monotonic()
            answer = await attempt()
            self._took.append(time.monotonic() - began)
            self._hedges = min(_MOST_HEDGES, self._hedges + _HEDGES_FOR_EACH)
            return answer

    def _patience(self) -> float:
        """Return after how many seconds a request is slow."""
        if len(self._took) < 8:
            return _UNKNOWN_HEDGE
        usual = sorted(self._took)[len(self._took) * 9 // 10]
        return min(max(_SLOW * usual, _LEAST_HEDGE), _MOST_HEDGE)

    def _may_hedge(self, race: _Race[Any]) -> bool:
        room = self._hedges >= 1 and not self._slots.locked()
        return room and len(race.running) < _AT_A_TIME and race.count < self._limits.max_attempts

    async def _before_another(self, race: _Race[Any]) -> None:
        """Wait before a range is asked for again; raise what has failed when it is not."""
        failure = race.failure
        seconds = time.monotonic() - race.began
        limits = self._limits
        if not failure.again or race.count >= limits.max_attempts or seconds >= limits.max_seconds:
            raise race.summary(seconds) from failure
        longest = _FIRST_WAIT_OF_BUSY if failure.busy else _FIRST_WAIT
        longest = min(longest * 2**race.failures, _MOST_WAIT)
        wait = longest * random.uniform(0.5, 1.0)
        await asyncio.sleep(min(wait, max(0.0, limits.max_seconds - seconds)))


class _Race(Generic[T]):
    """The requests for one range: the first one that succeeds counts."""

    def __init__(self, url: str, task: str, timeout: float | None) -> None:
        self.running: set[asyncio.Task[T]] = set()
        self.count = 0
        self.failures = 0
        self.slow = False
        self.answer: list[T] = []
        self.failure = Failure("no request was made")
        self.began = time.monotonic()
        self._url = url
        self._task = task
        self._timeout = timeout

    def start(self, attempt: Callable[[], Awaitable[T]]) -> None:
        self.count += 1
        self.running.add(asyncio.create_task(self._timed(attempt)))

    async def _timed(self, attempt: Callable[[], Awaitable[T]]) -> T:
        try:
            async with asyncio.timeout(self._timeout):
                return await attempt()
        except TimeoutError:
            raise Failure(f"no answer within {self._timeout:g} s", again=True) from None

    async def wait(self, patience: float | None) -> bool:
        """Wait until a request ends, or is slow; return whether there is an answer."""
        done, self.running = await asyncio.wait(
            self.running, timeout=patience, return_when=asyncio.FIRST_COMPLETED
        )
        self.slow = not done
        for task in done:
            error = task.exception()
            if error is None:
                self.answer.append(task.result())
                return True
            if not isinstance(error, Failure):
                raise error
            self.failures += 1
            self.failure = error
            if not error.again:
                self.end()
                self.running = set()
        return False

    def end(self) -> None:
        for task in self.running:
            task.cancel()

    def summary(self, seconds: float) -> Failure:
        times = "1 request" if self.count == 1 else f"{self.count} requests in {seconds:.1f} s"
        text = f"{self._url}: cannot {self._task} after {times}: {self.failure.text}"
        return Failure(text, self.failure.number)
