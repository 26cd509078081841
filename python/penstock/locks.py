"""File locks of writers. An abandoned file is one that no process has locked."""

from __future__ import annotations

import fcntl
from collections.abc import Iterable
from pathlib import Path


def lock(handle: int) -> bool:
    """Lock an open file until it is closed; return False if another process has locked it."""
    try:
        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        return False
    return True


def remove_abandoned(paths: Iterable[Path]) -> None:
    """Remove files that no process has locked."""
    for path in paths:
        try:
            with path.open("rb") as file:
                if lock(file.fileno()):
                    path.unlink(missing_ok=True)
        except OSError:
            continue  # the file is another user's, or was removed
