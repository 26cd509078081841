"""Copies of remote files for libraries that read files of this machine only."""

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
    """The copies of this process, which are removed when it ends."""

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
        if process == os.getpid():  # and no fork of it
            shutil.rmtree(folder, ignore_errors=True)

    def forget(self) -> None:
        """Begin again in a fork, which may have been made while another thread held the lock."""
        self._lock = threading.Lock()


_copies = _Copies()
if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_copies.forget)


def local_file(name: str) -> str:
    """Return the path of a file, or of a copy of what is at a URL.

    It is fetched whole, once by each process; `remote.configure` can keep it for the next one.

    Raises
    ------
    OSError
        If it cannot be fetched, or there is no room for it.
    """
    return _copies.of(name) if is_url(name) else name
