"""Copies of remote files for libraries that read only local files."""

from __future__ import annotations

import atexit
import hashlib
import os
import shutil
import tempfile
import threading
from pathlib import Path

from penstock.ops.call import call
from penstock.paths import is_url


class _Copies:
    """The copies that this process made, which are removed when it exits."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._folder: Path | None = None
        self._process = 0

    def of(self, url: str) -> str:
        with self._lock:
            if self._folder is None or self._process != os.getpid():
                self._process = os.getpid()
                self._folder = Path(tempfile.mkdtemp(prefix="penstock-"))
                atexit.register(self._remove, self._folder, self._process)
            path = self._folder / hashlib.sha256(url.encode()).hexdigest()[:40]
            if not path.exists():
                unfinished = path.with_suffix(".part")
                call("io.copy_file", [url, str(unfinished)])
                unfinished.replace(path)
            return str(path)

    @staticmethod
    def _remove(folder: Path, process: int) -> None:
        if process == os.getpid():  # not in a fork
            shutil.rmtree(folder, ignore_errors=True)

    def forget(self) -> None:
        """Replace the lock in a forked child: another thread may have held it during the fork."""
        self._lock = threading.Lock()


_copies = _Copies()
if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_copies.forget)


def local_file(name: str) -> str:
    """Return the path of a file, or of a local copy of a file at a URL.

    The file is downloaded completely, once per process; `remote.configure` can cache it for later
    processes.

    Raises
    ------
    OSError
        If it cannot be fetched, or there is no room for it.
    """
    return _copies.of(name) if is_url(name) else name
