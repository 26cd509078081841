"""The event loop that runs the coroutines of all pipelines, in one thread of the process.

The engine imports this module with the first coroutine.
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

_PATIENCE = 2.0  # seconds that cancelled coroutines have to end when the process exits

# The call that a task belongs to, in the form of the engine: random operations draw from its key.
# Tasks and threads that the function starts inherit it.
CALL: ContextVar[Any] = ContextVar("penstock_call")


class _Thread:
    """A loop and the thread that runs it."""

    def __init__(self) -> None:
        self.loop = asyncio.new_event_loop()
        self._stopping = False
        # A daemon, because others are joined before atexit: consumers may still need this one.
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
            # What a coroutine lets end its loop, such as SystemExit, is also the error of its task.
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
_in_progress: dict[asyncio.Task[Any], Any] = {}  # the call of each; of the loop's thread
_left: list[Any] = []  # of parents, in a fork's child: never closed, nor freed
_exiting = False


def _started() -> _Thread:
    """Return the thread, made with the first coroutine."""
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
    """Leave the parent's loop: closing it would take the sockets out of the parent's selector."""
    global _lock, _thread, _in_progress
    _lock = threading.Lock()
    _left.append((_thread, _in_progress))
    _thread, _in_progress = None, {}


os.register_at_fork(after_in_child=_forget)


def in_progress() -> list[tuple[asyncio.Task[Any], Any]]:
    """Return the tasks of calls that have begun and not ended, with their calls."""
    return list(_in_progress.copy().items())  # the loop's thread goes on


def thread_ident() -> int | None:
    """Return the id of the loop's thread; None while there is none."""
    return None if _thread is None else _thread.ident


async def _awaited(value: Awaitable[Any]) -> Any:
    return await value


class Calls:
    """Coroutines that are in progress for one stage.

    Parameters
    ----------
    take : callable
        Called on the loop with those that have ended by then: pairs of the call, as it was given to
        `begin`, and its task, which is done; None instead of those that were cancelled here.
    """

    def __init__(self, take: Callable[[list[tuple[Any, Any]]], object]) -> None:
        self._loop = _started().loop
        self._take = take
        self._tasks: dict[asyncio.Task[Any], Any] = {}
        self._ended: list[tuple[Any, asyncio.Task[Any]]] = []
        self._cancelled = False

    def begin(self, calls: list[tuple[Any, Awaitable[Any]]]) -> None:
        """Begin calls, from any thread; RuntimeError when the process ends."""
        with _lock:  # what is begun is also run
            if _exiting:
                raise RuntimeError("no coroutine can be run, because Python is exiting")
            self._loop.call_soon_threadsafe(self._begin, calls)

    def cancel(self) -> None:
        """Cancel all calls, and those that begin later; each is still taken, without its task."""
        with contextlib.suppress(RuntimeError):  # the loop has ended, and all of them with it
            self._loop.call_soon_threadsafe(self._cancel)

    def _begin(self, calls: list[tuple[Any, Awaitable[Any]]]) -> None:
        for call, value in calls:
            CALL.set(call)  # the task gets a copy of the context
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
        if len(self._ended) == 1:  # with those that end in the same turn of the loop
            self._loop.call_soon(self._hand_over)

    def _hand_over(self) -> None:
        ended, self._ended = self._ended, []
        if not (self._cancelled or _exiting):
            self._take(ended)
            return
        for _, task in ended:
            if not task.cancelled():
                task.exception()  # it was looked at
        self._take([(call, None) for call, _ in ended])


class Values:
    """The values of an async iterable, made one by one as they are asked for.

    All of it runs in one task: timeouts and task groups may stay open between two values.
    """

    def __init__(self, values: AsyncIterable[Any]) -> None:
        self._loop = _started().loop
        self._turns = _Turns(values)
        self.values = values

    async def next(self) -> tuple[Any, ...]:
        """Return the next value as a tuple, () at the end; one that was asked for stays."""
        return await self._turns.next()

    async def close(self) -> None:
        """Cancel the generator, and wait until it has ended."""
        await self._turns.close()

    def __del__(self) -> None:
        with contextlib.suppress(
            RuntimeError, AttributeError
        ):  # the loop has ended, or never began
            self._loop.call_soon_threadsafe(self._turns.cancel)


class _Turns:
    """The task of Values; it does not refer to its owner. All of it belongs to the loop."""

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
        await asyncio.wait([answer])  # which stays when this is cancelled
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
                self._answer.exception()  # nobody may ask for it any more
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
