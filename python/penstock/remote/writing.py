"""Objects that are written whole."""

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
    """Make an object of bytes or a file of this machine; it appears when it is complete.

    Raises
    ------
    OSError
        If it cannot be written.
    ImportError
        If the library for the URL is not installed.
    """
    service = start()
    with _as_errors(url):
        service.call(service.store_of(url).upload(url, content))


def require_library(url: str) -> None:
    """Raise ImportError if the library for a URL is not installed, before work is done for it."""
    with _as_errors(url):
        start().store_of(url)


@contextlib.contextmanager
def _as_errors(url: str) -> Iterator[None]:
    try:
        yield
    except Failure as failure:
        raise OSError(failure.number or errno.EIO, failure.text, shown(url)) from failure


class ObjectWriter:
    """A file of this machine that becomes an object when it is closed.

    Parameters
    ----------
    url : str
        Of the object.
    buffering : int
        Bytes of the file's buffer.

    Raises
    ------
    ImportError
        If the library for the URL is not installed, before anything is written.
    """

    def __init__(self, url: str, buffering: int) -> None:
        self._url = url
        require_library(url)
        handle, self._path = tempfile.mkstemp(prefix="penstock-")
        # Of a writer that is dropped without being closed nothing stays.
        self._removing = weakref.finalize(self, Path(self._path).unlink, missing_ok=True)
        self._file: IO[bytes] = os.fdopen(handle, "wb", buffering=buffering)
        self.write = self._file.write
        self.flush = self._file.flush

    @property
    def closed(self) -> bool:
        """Whether it was closed or left."""
        return self._file.closed

    def close(self) -> None:
        """Write the object."""
        try:
            self._file.close()
            write_object(self._url, Path(self._path))
        finally:
            self._removing()

    def leave(self) -> None:
        """Close the file without an object."""
        self._file.close()
        self._removing()
