"""tf.train.Coordinator: tells threads when to stop."""

from __future__ import annotations

import contextlib
import threading
from collections.abc import Iterable, Iterator
from typing import Any

from penstock.compat.errors import OutOfRangeError
from penstock.compat.listing import listing


class Coordinator:
    """Tells threads when to stop.

    Parameters
    ----------
    clean_stop_exception_types : tuple of classes, optional
        Errors that only stop the threads; `tf.errors.OutOfRangeError` by default.
    """

    def __init__(self, clean_stop_exception_types: Any = None) -> None:
        self._clean = (
            (OutOfRangeError,)
            if clean_stop_exception_types is None
            else tuple(clean_stop_exception_types)
        )
        self._stops = threading.Event()
        self._error: BaseException | None = None
        self._threads: set[threading.Thread] = set()

    def should_stop(self) -> bool:
        """Return whether `request_stop` was called."""
        return self._stops.is_set()

    def request_stop(self, ex: Any = None) -> None:
        """Have the threads stop; `join` raises the error that is given."""
        error = ex[1] if isinstance(ex, tuple) else ex
        if error is not None and not isinstance(error, self._clean):
            self._error = self._error or error
        self._stops.set()

    def clear_stop(self) -> None:
        """Forget that threads were to stop, and why."""
        self._stops.clear()
        self._error = None

    def wait_for_stop(self, timeout: float | None = None) -> bool:
        """Wait until threads are to stop, and return whether they are."""
        return self._stops.wait(timeout)

    @contextlib.contextmanager
    def stop_on_exception(self) -> Iterator[None]:
        """Be a context in which errors are requests to stop."""
        try:
            yield
        except Exception as error:
            self.request_stop(error)

    def register_thread(self, thread: threading.Thread) -> None:
        """Have `join` wait for a thread."""
        self._threads.add(thread)

    def raise_requested_exception(self) -> None:
        """Raise the error that `request_stop` was given, if there was one."""
        if self._error is not None:
            raise self._error

    def join(
        self,
        threads: Iterable[threading.Thread] | None = None,
        stop_grace_period_secs: float = 120,
        ignore_live_threads: bool = False,
    ) -> None:
        """Wait for threads, and raise the error that `request_stop` was given.

        Parameters
        ----------
        threads : iterable of Thread, optional
            Those to wait for, besides those that are registered.
        stop_grace_period_secs : float
            How long to wait for each once they are to stop.
        ignore_live_threads : bool
            Whether threads that run on are no error.

        Raises
        ------
        RuntimeError
            If threads run on.
        """
        waiting = self._threads | set(threads or ())
        for thread in waiting:
            while thread.is_alive() and not self._stops.wait(0.1):
                pass
            thread.join(stop_grace_period_secs)
        self._threads.clear()
        self.raise_requested_exception()
        alive = [thread.name for thread in waiting if thread.is_alive()]
        if alive and not ignore_live_threads:
            raise RuntimeError(f"Coordinator stopped with threads still running: {alive}")

    @property
    def joined(self) -> bool:
        """Whether there is no thread to wait for."""
        return not self._threads


__dir__ = listing(globals())
