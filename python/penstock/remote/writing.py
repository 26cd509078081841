"""Writing of whole objects."""

from __future__ import annotations

import contextlib
import errno
import os
import tempfile
import weakref
from collections.abc import Iterator
from pathlib import Path
from typing import IO

from penstock.printable import shown
from penstock.remote.failures import Failure
from penstock.remote.service import start


def write_object(url: str, content: bytes | Path) -> None:
    """Write bytes or a local file to an object, which appears when it is complete.

    Raises
    ------
    OSError
        If the object cannot be written.
    ImportError
        If the library for the URL is not installed.
    """
    service = start()
    with _as_errors(url):
        service.call(service.store_of(url).upload(url, content))


def require_library(url: str) -> None:
    """Raise ImportError if the library for a URL is missing, before other work is done."""
    with _as_errors(url):
        start().store_of(url)


@contextlib.contextmanager
def _as_errors(url: str) -> Iterator[None]:
    try:
        yield
    except Failure as failure:
        raise OSError(failure.number or errno.EIO, failure.text, shown(url)) from failure


class ObjectWriter:
    """A local file that is uploaded as an object when it is closed.

    Parameters
    ----------
    url : str
        URL of the object.
    buffering : int
        Size of the file's buffer in bytes.

    Raises
    ------
    ImportError
        If the library for the URL is not installed, before anything is written.
    """

    def __init__(self, url: str, buffering: int) -> None:
        self._url = url
        require_library(url)
        handle, self._path = tempfile.mkstemp(prefix="penstock-")
        # If a writer is dropped without being closed, its file is removed.
        self._removing = weakref.finalize(self, Path(self._path).unlink, missing_ok=True)
        self._file: IO[bytes] = os.fdopen(handle, "wb", buffering=buffering)
        self.write = self._file.write
        self.flush = self._file.flush

    @property
    def closed(self) -> bool:
        """Whether the writer was closed or aborted."""
        return self._file.closed

    def close(self) -> None:
        """Upload the object."""
        try:
            self._file.close()
            write_object(self._url, Path(self._path))
        finally:
            self._removing()

    def leave(self) -> None:
        """Close and remove the file without uploading it."""
        self._file.close()
        self._removing()
