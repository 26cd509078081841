"""The event loop for the coroutines of all pipelines, in one thread of the process.

The engine imports this module when the first coroutine is created.
"""

from __future__ import annotations

import asyncio
import atexit
import contextlib
import os
import threading
from collections.abc import AsyncGenerator, AsyncIterable, Awaitable, Callable
from contextvars import ContextVar
from types import CoroutineType
from typing import Any

from penstock import _core

_PATIENCE = 2.0  # seconds for cancelled coroutines to end when the process exits

# The call that a task belongs to, as the engine identifies it; random operations use its key. Tasks
# and threads that the function starts inherit it.
CALL: ContextVar[Any] = ContextVar("penstock_call")


class _Thread:
    """An event loop and its thread."""

    def __init__(self) -> None:
        self.loop = asyncio.new_event_loop()
        self._stopping = False
        # A daemon thread: others are joined before atexit, when consumers may still need this one.
        self._thread = threading.Thread(target=self._run, name="penstock coroutines", daemon=True)
        try:
            self._thread.start()
        except BaseException:
            self.loop.close()
            raise
        self.ident = self._thread.ident

    def _run(self) -> None:
        _core.run_loop_here()
        asyncio.set_event_loop(self.loop)
        while not self._stopping:
            # An exception such as SystemExit ends the loop, but is also the error of its task.
            with contextlib.suppress(BaseException):
                self.loop.run_forever()
        for task in (tasks := asyncio.all_tasks(self.loop)):
            task.cancel()
        if tasks:
            self.loop.run_until_complete(asyncio.wait(tasks))
        self.loop.run_until_complete(self.loop.shutdown_asyncgens())
        self.loop.close()

    def stop(self) -> None:
        self._stopping = True
        self.loop.call_soon_threadsafe(self.loop.stop)
        self._thread.join(_PATIENCE)  # after the timeout it is abandoned, like a daemon thread


_lock = threading.Lock()
_thread: _Thread | None = None
_in_progress: dict[asyncio.Task[Any], Any] = {}  # the call of each task; loop thread only
_left: list[Any] = []  # loops of parent processes, in a fork: never closed or freed
_exiting = False


def _started() -> _Thread:
    """Return the thread, which is started for the first coroutine."""
    global _thread
    with _lock:
        if _exiting:
            raise RuntimeError("no coroutine can be run, because Python is exiting")
        if _thread is None:
            _thread = _Thread()
        return _thread


@atexit.register
def _stop() -> None:
    global _exiting
    with _lock:
        _exiting = True
    if _thread is not None:
        _thread.stop()


def _forget() -> None:
    """Abandon the parent's loop: closing it would remove sockets from the parent's selector."""
    global _lock, _thread, _in_progress
    _lock = threading.Lock()
    _left.append((_thread, _in_progress))
    _thread, _in_progress = None, {}


os.register_at_fork(after_in_child=_forget)


def in_progress() -> list[tuple[asyncio.Task[Any], Any]]:
    """Return the tasks of running calls, with their calls."""
    return list(_in_progress.copy().items())  # a copy, because the loop keeps running


def thread_ident() -> int | None:
    """Return the id of the loop's thread, or None if there is none."""
    return None if _thread is None else _thread.ident


async def _awaited(value: Awaitable[Any]) -> Any:
    return await value


class Calls:
    """Running coroutines of one stage.

    Parameters
    ----------
    take : callable
        Called on the loop with the calls that have ended since the last time: pairs of the call, as
        passed to `begin`, and its finished task, or None if it was cancelled here.
    """

    def __init__(self, take: Callable[[list[tuple[Any, Any]]], object]) -> None:
        self._loop = _started().loop
        self._take = take
        self._tasks: dict[asyncio.Task[Any], Any] = {}
        self._ended: list[tuple[Any, asyncio.Task[Any]]] = []
        self._cancelled = False

    def begin(self, calls: list[tuple[Any, Awaitable[Any]]]) -> None:
        """Begin calls, from any thread; raise RuntimeError if the process is exiting."""
        with _lock:  # the loop cannot stop between the check and the call
            if _exiting:
                raise RuntimeError("no coroutine can be run, because Python is exiting")
            self._loop.call_soon_threadsafe(self._begin, calls)

    def cancel(self) -> None:
        """Cancel all calls, and those that begin later; `take` still receives each of them."""
        with contextlib.suppress(RuntimeError):  # the loop and all its tasks have ended
            self._loop.call_soon_threadsafe(self._cancel)

    def _begin(self, calls: list[tuple[Any, Awaitable[Any]]]) -> None:
        for call, value in calls:
            CALL.set(call)  # the task copies the context
            coroutine = value if isinstance(value, CoroutineType) else _awaited(value)
            task = self._loop.create_task(coroutine)
            self._tasks[task] = _in_progress[task] = call
            task.add_done_callback(self._end)
        if self._cancelled:
            self._cancel()

    def _cancel(self) -> None:
        self._cancelled = True
        for task in self._tasks:
            task.cancel()

    def _end(self, task: asyncio.Task[Any]) -> None:
        del _in_progress[task]
        self._ended.append((self._tasks.pop(task), task))
        if len(self._ended) == 1:  # one call of `take` for all that end in this iteration
            self._loop.call_soon(self._hand_over)

    def _hand_over(self) -> None:
        ended, self._ended = self._ended, []
        if not (self._cancelled or _exiting):
            self._take(ended)
            return
        for _, task in ended:
            if not task.cancelled():
                task.exception()  # marks it as retrieved
        self._take([(call, None) for call, _ in ended])


class Values:
    """The values of an async iterable, produced on request.

    A single task runs all of it, so timeouts and task groups may stay open between two values.
    """

    def __init__(self, values: AsyncIterable[Any]) -> None:
        self._loop = _started().loop
        self._turns = _Turns(values)
        self.values = values

    async def next(self) -> tuple[Any, ...]:
        """Return a tuple with the next value, or () at the end; a cancelled request is kept."""
        return await self._turns.next()

    async def close(self) -> None:
        """Cancel the generator, and wait until it has ended."""
        await self._turns.close()

    def __del__(self) -> None:
        with contextlib.suppress(
            RuntimeError, AttributeError
        ):  # the loop has ended, or was never started
            self._loop.call_soon_threadsafe(self._turns.cancel)


class _Turns:
    """The task of `Values`, without a reference to it. Used only by the loop's thread."""

    def __init__(self, values: AsyncIterable[Any]) -> None:
        self._values = values
        self._task: asyncio.Task[None] | None = None
        self._asked = asyncio.Event()
        self._answer: asyncio.Future[tuple[Any, ...]] | None = None

    async def next(self) -> tuple[Any, ...]:
        if self._answer is None:
            self._answer = asyncio.get_running_loop().create_future()
            self._asked.set()
            if self._task is None:
                self._task = asyncio.create_task(self._run())
            elif self._task.done():
                self._answer.set_result(())
        answer = self._answer
        await asyncio.wait([answer])  # cancelling this call does not cancel the answer
        self._answer = None
        return answer.result()

    async def _run(self) -> None:
        try:
            await self._asked.wait()
            async for value in self._values:
                self._give((value,))
                await self._asked.wait()
            self._give(())
        except BaseException as error:
            if self._answer is not None and not self._answer.done():
                self._answer.set_exception(error)
                self._answer.exception()  # marks it as retrieved
            if isinstance(error, asyncio.CancelledError):
                raise
        finally:
            if isinstance(self._values, AsyncGenerator):
                await self._values.aclose()

    def _give(self, answer: tuple[Any, ...]) -> None:
        self._asked.clear()
        if self._answer is not None and not self._answer.done():
            self._answer.set_result(answer)

    def cancel(self) -> None:
        if self._task is not None:
            self._task.cancel()

    async def close(self) -> None:
        self.cancel()
        if self._task is not None:
            await asyncio.wait([self._task])
