"""Files that other libraries read: opened when they are needed, and again in each process."""

from __future__ import annotations

import os
import threading
from collections import OrderedDict
from collections.abc import Callable, Sequence
from typing import Any

_MOST_OPEN = 64


def _most_open() -> int:
    """Return how many files stay open: a quarter of what this process may have, if that is less."""
    try:
        limit = os.sysconf("SC_OPEN_MAX")
    except (AttributeError, OSError, ValueError):
        return _MOST_OPEN
    return _MOST_OPEN if limit < 0 else max(1, min(_MOST_OPEN, limit // 4))


class OpenFiles:
    """Files that are opened at first use, of which a few dozen stay open.

    Parameters
    ----------
    names : sequence of str
        Their paths.
    opened : callable
        Opens one; what it returns closes itself when nothing refers to it any more.

    Notes
    -----
    A process made by fork, or one that has unpickled it, opens its own.
    """

    def __init__(self, names: Sequence[str], opened: Callable[[str], Any]) -> None:
        self.names = list(names)
        self._opened = opened
        self._begin()

    def _begin(self) -> None:
        self._process = os.getpid()
        self._most = _most_open()
        self._lock = threading.Lock()
        self._open: OrderedDict[int, Any] = OrderedDict()

    def __getitem__(self, number: int) -> Any:
        if self._process != os.getpid():
            self._begin()
        with self._lock:
            if number in self._open:
                self._open.move_to_end(number)
                return self._open[number]
            file = self._open[number] = self._opened(self.names[number])
            if len(self._open) > self._most:
                self._open.popitem(last=False)  # which another thread may still be reading
            return file

    def __reduce__(self) -> Any:
        return OpenFiles, (self.names, self._opened)
