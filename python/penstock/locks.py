"""Files that a process keeps locked while it writes them, so that those of a dead one are found."""

from __future__ import annotations

import os
import time
from collections.abc import Iterable
from pathlib import Path

_ABANDONED = 86400.0  # seconds: where files cannot be locked


def lock(handle: int) -> bool:
    """Lock an open file until it is closed; return False when another process has done so."""
    try:
        import fcntl
    except ImportError:
        return True
    try:
        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        return False
    return True


def remove_abandoned(paths: Iterable[Path]) -> None:
    """Remove the files that no process has locked, or, where there are no locks, old ones."""
    for path in paths:
        try:
            if os.name == "nt" and time.time() - path.stat().st_mtime < _ABANDONED:
                continue
            with path.open("rb") as file:
                if lock(file.fileno()):
                    path.unlink(missing_ok=True)
        except OSError:
            continue  # it is another user's, or gone
