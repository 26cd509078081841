"""tf.train.Coordinator: coordinates the end of threads."""

from __future__ import annotations

import contextlib
import threading
from collections.abc import Iterable, Iterator
from typing import Any

from penstock.compat.errors import OutOfRangeError
from penstock.compat.listing import listing


class Coordinator:
    """Signal threads when to stop.

    Parameters
    ----------
    clean_stop_exception_types : tuple of classes, optional
        Exceptions that stop the threads without an error; `tf.errors.OutOfRangeError` by default.
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
        """Request the threads to stop; `join` raises the exception `ex`."""
        error = ex[1] if isinstance(ex, tuple) else ex
        if error is not None and not isinstance(error, self._clean):
            self._error = self._error or error
        self._stops.set()

    def clear_stop(self) -> None:
        """Cancel the request to stop, and its exception."""
        self._stops.clear()
        self._error = None

    def wait_for_stop(self, timeout: float | None = None) -> bool:
        """Wait for a request to stop; return whether there is one."""
        return self._stops.wait(timeout)

    @contextlib.contextmanager
    def stop_on_exception(self) -> Iterator[None]:
        """Return a context manager that turns exceptions into requests to stop."""
        try:
            yield
        except Exception as error:
            self.request_stop(error)

    def register_thread(self, thread: threading.Thread) -> None:
        """Register a thread for `join` to wait for."""
        self._threads.add(thread)

    def raise_requested_exception(self) -> None:
        """Raise the exception passed to `request_stop`, if any."""
        if self._error is not None:
            raise self._error

    def join(
        self,
        threads: Iterable[threading.Thread] | None = None,
        stop_grace_period_secs: float = 120,
        ignore_live_threads: bool = False,
    ) -> None:
        """Wait for threads, and raise the exception passed to `request_stop`.

        Parameters
        ----------
        threads : iterable of Thread, optional
            The threads to wait for, in addition to registered ones.
        stop_grace_period_secs : float
            Maximum time to wait for each thread after a request to stop.
        ignore_live_threads : bool
            Whether to ignore threads that are still running.

        Raises
        ------
        RuntimeError
            If threads are still running.
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
