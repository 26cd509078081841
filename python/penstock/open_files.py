"""Files for other libraries, which each process opens when they are first needed."""

from __future__ import annotations

import os
import threading
from collections import OrderedDict
from collections.abc import Callable, Sequence
from typing import Any

from penstock.exclusions import ignored

_MOST_OPEN = 64


def _most_open() -> int:
    """Return how many files may stay open, at most a quarter of the limit of the process."""
    try:
        limit = os.sysconf("SC_OPEN_MAX")
    except (AttributeError, OSError, ValueError):
        return _MOST_OPEN
    return _MOST_OPEN if limit < 0 else max(1, min(_MOST_OPEN, limit // 4))


class OpenFiles:
    """Files that are opened at first use; a few dozen stay open.

    Parameters
    ----------
    names : sequence of str
        The paths.
    opened : callable
        Opens a file. The result must close itself when it is no longer referenced.

    Notes
    -----
    A forked process, or one that has unpickled this object, opens its own files.
    """

    def __init__(self, names: Sequence[str], opened: Callable[[str], Any]) -> None:
        self.names = list(names)
        self._opened = opened
        # Excluded from the identity of the dataset, because it differs between processes.
        self._here = ignored(_Here())

    def __getitem__(self, number: int) -> Any:
        if self._here.value.process != os.getpid():
            self._here.value = _Here()
        here = self._here.value
        with here.lock:
            if number in here.files:
                here.files.move_to_end(number)
                return here.files[number]
            file = here.files[number] = self._opened(self.names[number])
            if len(here.files) > here.limit:
                here.files.popitem(last=False)  # another thread may still be reading it
            return file

    def __reduce__(self) -> Any:
        return OpenFiles, (self.names, self._opened)


class _Here:
    """The open files of one process."""

    def __init__(self) -> None:
        self.process = os.getpid()
        self.limit = _most_open()
        self.lock = threading.Lock()
        self.files: OrderedDict[int, Any] = OrderedDict()
