"""The background threads for remote files: an event loop with many concurrent requests."""

from __future__ import annotations

import asyncio
import atexit
import contextlib
import errno
import os
import threading
from collections.abc import Coroutine
from functools import partial
from pathlib import Path
from typing import Any, TypeVar

from penstock import _core
from penstock.printable import shown
from penstock.remote.attempts import Attempts
from penstock.remote.failures import Failure
from penstock.remote.obstore_files import threads_are_through
from penstock.remote.stores import Stores

T = TypeVar("T")

_PATIENCE = 2.0  # seconds to wait at process exit
_LOOK = 0.05  # seconds between checks whether the reader still exists


class Service:
    """Two threads: one waits in the engine for requests, the other runs the event loop."""

    def __init__(self) -> None:
        self._loop = asyncio.new_event_loop()
        self._stores = Stores()
        self._tasks: dict[_core.RemoteRequest, asyncio.Task[None]] = {}
        self._stopping = False
        for name, body in (("loop", self._run_loop), ("requests", self._take)):
            threading.Thread(target=body, name=f"penstock-remote-{name}", daemon=True).start()

    def call(self, work: Coroutine[Any, Any, T], cancel: _core.CancelToken | None = None) -> T:
        """Run a coroutine in the event loop and return its result.

        It is cancelled by `cancel`, by default the token of the run that this thread works for. It
        is also cancelled if a signal handler raises.
        """
        answer = asyncio.run_coroutine_threadsafe(work, self._loop)
        cancel = cancel or _core.cancel_of_run()
        try:
            while cancel and not (answer.done() or cancel.cancelled):
                with contextlib.suppress(TimeoutError):
                    answer.exception(_LOOK)
            if cancel and cancel.cancelled:
                raise Failure("the reader has ended", errno.ECANCELED)
            return answer.result()
        except BaseException:
            answer.cancel()
            raise

    def store_of(self, url: str) -> Attempts:
        """Return the store of a URL, for coroutines passed to `call`."""

        async def opened() -> Attempts:
            return self._stores.of(url)

        return self.call(opened())

    def stop(self) -> None:
        """Cancel all running requests; later requests are not answered."""
        self._stopping = True
        _core.close_remote_queue()
        with contextlib.suppress(TimeoutError):
            asyncio.run_coroutine_threadsafe(self._end(), self._loop).result(2 * _PATIENCE)
        self._loop.call_soon_threadsafe(self._loop.stop)

    async def _end(self) -> None:
        for task in asyncio.all_tasks() - {asyncio.current_task()}:
            task.cancel()
        self._stores.close()
        await threads_are_through(_PATIENCE)

    def _run_loop(self) -> None:
        asyncio.set_event_loop(self._loop)
        self._loop.run_forever()

    def _take(self) -> None:
        while (requests := _core.take_remote_requests()) is not None:
            self._loop.call_soon_threadsafe(self._begin, requests)

    def _begin(self, requests: list[_core.RemoteRequest]) -> None:
        for request in requests:
            if not request.dropped:
                task = self._loop.create_task(self._answer(request))
                self._tasks[request] = task
                task.add_done_callback(partial(self._ended, request))
            elif request in self._tasks:
                self._tasks[request].cancel()

    def _ended(self, request: _core.RemoteRequest, _: asyncio.Task[None]) -> None:
        del self._tasks[request]

    async def _answer(self, request: _core.RemoteRequest) -> None:
        try:
            await getattr(self, f"_{request.task}")(request)
        except BaseException as error:
            # At process exit, only daemon threads are still waiting. An error would wake them, and
            # the interpreter would then end them inside C++, which aborts the process.
            if self._stopping:
                return
            if isinstance(error, Failure):
                request.fail(error.number, error.text)
            elif isinstance(error, asyncio.CancelledError):
                request.fail(errno.ECANCELED, f"{shown(request.url)}: the request was cancelled")
            else:
                request.fail_with(error)

    async def _read(self, request: _core.RemoteRequest) -> None:
        url = request.url
        attempts = self._stores.of(url)
        copies = self._stores.copies_of(url)
        if copies and request.damaged:
            await copies.remove_damaged(url)
        search = copies and request.first and not request.fresh
        copy = await copies.find(url, attempts) if copies and search else None
        if copy is not None:
            request.finish_with_copy(*copy)
            return

        def announce(total: int, tag: str) -> None:
            if copies and request.offset == 0:
                copies.begin(url, total, tag)
            request.announce(total, tag)

        answer = await attempts.read(
            url,
            request.offset,
            request.size,
            request.first,
            request.tag,
            announce if request.first else None,
        )
        request.finish(answer.buffer, answer.offset, answer.total, answer.tag)
        if copies:
            await copies.keep(url, answer, request.tag)
        elif request.first and len(answer.buffer) <= request.size:  # the server supports ranges
            # Not with copies: once the size is known, readers may skip the first bytes, but a copy
            # must start with them.
            _core.keep_remote_content(url, answer.total, answer.tag)

    async def _upload(self, request: _core.RemoteRequest) -> None:
        await self._stores.of(request.url).upload(request.url, Path(request.path))
        request.finish()

    async def _remove(self, request: _core.RemoteRequest) -> None:
        await self._stores.of(request.url).remove(request.url)
        request.finish()

    async def _names(self, request: _core.RemoteRequest) -> None:
        store = self._stores.of(request.url)
        prefix = store.files.path_of(request.url).rstrip("/")
        try:
            entries = await store.entries(request.url, prefix, False)
        except Failure as failure:
            if failure.number != errno.ENOENT:
                raise
            entries = []  # folders exist only through their contents
        names = [entry.path.rstrip("/").rpartition("/")[2] for entry in entries]
        request.finish("".join(f"{name}\n" for name in names).encode())


_service: Service | None = None
_process = 0
_lock = threading.Lock()


def start() -> Service:
    """Return the service of this process; the first call starts it."""
    global _service, _process
    with _lock:
        if _service is None or _process != os.getpid():
            _service, _process = Service(), os.getpid()
            atexit.register(_service.stop)
        return _service


def _after_fork() -> None:
    global _lock
    _lock = threading.Lock()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_after_fork)
