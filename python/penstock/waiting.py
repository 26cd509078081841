"""Waiting for blocking calls in a coroutine."""

from __future__ import annotations

import contextlib
from collections.abc import Callable

from penstock import _core


async def in_thread(function: Callable[[], object]) -> None:
    """Call a function in a thread of the engine, and wait for it without blocking the event loop.

    If the wait is cancelled, the function continues, and its exception is lost.
    """
    import asyncio

    loop = asyncio.get_running_loop()
    ended: asyncio.Future[None] = loop.create_future()

    def end(error: BaseException | None) -> None:
        if ended.done():  # cancelled
            return
        if error is None:
            ended.set_result(None)
        else:
            ended.set_exception(error)

    def call() -> None:
        failure: BaseException | None = None
        try:
            function()
        except BaseException as error:
            failure = error
        with contextlib.suppress(RuntimeError):  # the loop was closed meanwhile
            loop.call_soon_threadsafe(end, failure)

    _core.start_thread(call)
    await ended
