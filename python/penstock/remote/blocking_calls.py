"""Run blocking calls in daemon threads, which delay neither the event loop nor the exit."""

from __future__ import annotations

import asyncio
import contextlib
import threading
from collections.abc import Callable
from typing import Any, TypeVar

T = TypeVar("T")


async def in_daemon_thread(call: Callable[..., T], *args: Any) -> T:
    """Return the result of a call that may block for a long time.

    `asyncio.to_thread` is not suitable: calls to stalled servers would occupy its few threads, and
    the process waits for them when it ends.
    """
    loop = asyncio.get_running_loop()
    result: asyncio.Future[T] = loop.create_future()

    def settle(settled: Callable[[Any], None], value: Any) -> None:
        if not result.done():  # the waiting coroutine was not cancelled
            settled(value)

    def run() -> None:
        try:
            outcome: tuple[Callable[[Any], None], Any] = result.set_result, call(*args)
        except BaseException as error:
            outcome = result.set_exception, error
        with contextlib.suppress(RuntimeError):  # the loop has ended
            loop.call_soon_threadsafe(settle, *outcome)

    threading.Thread(target=run, name="penstock-remote-http", daemon=True).start()
    return await result
