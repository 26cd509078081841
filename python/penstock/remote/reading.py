"""Remote files for libraries: file objects with read, seek and tell."""

from __future__ import annotations

import errno
import io
from typing import Any

from penstock import _core
from penstock.printable import shown
from penstock.remote.failures import Failure
from penstock.remote.obstore_files import Answer
from penstock.remote.service import start

_FIRST = 1 << 16  # bytes read with the first request, which also returns the file size


class ObjectReader(io.RawIOBase):
    """A file at a URL, with random access.

    Parameters
    ----------
    url : str
        The URL of the file.
    cancel : CancelToken, optional
        Cancels reads. Assign the attribute when another run takes over the file. None: the token of
        the run that the reading thread works for.

    Raises
    ------
    OSError
        If the file cannot be read or was replaced; also raised by each method.
    ImportError
        If the library for the URL is not installed.
    """

    def __init__(self, url: str, cancel: _core.CancelToken | None = None) -> None:
        self.name = url
        self.cancel = cancel
        self._service = start()
        self._store = self._service.store_of(url)
        self._at = 0
        self._tag = ""
        first = self._read(0, _FIRST, True)
        self._size, self._tag = first.total, first.tag
        # for small files, and for servers that send whole files only
        self._whole = first if len(first.buffer) == first.total else None

    def _read(self, start: int, size: int, first: bool = False) -> Answer:
        try:
            read = self._store.read(self.name, start, size, first, self._tag)
            return self._service.call(read, self.cancel)
        except Failure as failure:
            name = shown(self.name)
            raise OSError(failure.number or errno.EIO, failure.text, name) from failure

    def readable(self) -> bool:
        """Return True."""
        return True

    def seekable(self) -> bool:
        """Return True."""
        return True

    def tell(self) -> int:
        """Return the position of the next read."""
        return self._at

    def seek(self, offset: int, whence: int = io.SEEK_SET) -> int:
        """Set the position of the next read, and return it."""
        base = {io.SEEK_SET: 0, io.SEEK_CUR: self._at, io.SEEK_END: self._size}[whence]
        self._at = max(0, base + offset)
        return self._at

    def readinto(self, buffer: Any) -> int:
        """Read as many bytes as fit into `buffer`, and return their number."""
        view = memoryview(buffer).cast("B")
        size = min(len(view), max(0, self._size - self._at))
        if size > 0:
            answer = self._whole or self._read(self._at, size)
            if answer.total not in (-1, self._size):  # the server may send no tag
                text = (
                    f"the file was replaced while it was read: its size was {self._size}, and is "
                    f"{answer.total} now"
                )
                raise OSError(errno.EIO, text, shown(self.name))
            skipped = self._at - answer.offset  # if the server does not support ranges
            view[:size] = memoryview(answer.buffer)[skipped : skipped + size]
            self._at += size
        return size
