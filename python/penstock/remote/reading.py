"""Remote files as libraries read them: objects with read, seek and tell."""

from __future__ import annotations

import errno
import io
from typing import Any

from penstock import _core
from penstock.printable import shown
from penstock.remote.failures import Failure
from penstock.remote.obstore_files import Answer
from penstock.remote.service import start

_FIRST = 1 << 16  # bytes that come with the size of the file


class ObjectReader(io.RawIOBase):
    """A file at a URL, of which any range can be read.

    Parameters
    ----------
    url : str
        Where it is.
    cancel : CancelToken, optional
        Ends its reads. Set the attribute to another one when the file changes hands; None means the
        run that the reading thread works for.

    Raises
    ------
    OSError
        If it cannot be read, there and in each method; a replaced file, too.
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
        # Small files, and those of servers that send whole files only.
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
        """Return where the next read begins."""
        return self._at

    def seek(self, offset: int, whence: int = io.SEEK_SET) -> int:
        """Let the next read begin somewhere else, and return where."""
        base = {io.SEEK_SET: 0, io.SEEK_CUR: self._at, io.SEEK_END: self._size}[whence]
        self._at = max(0, base + offset)
        return self._at

    def readinto(self, buffer: Any) -> int:
        """Read into memory, as much as fits, and return how much."""
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
            skipped = self._at - answer.offset  # of a server that knows no ranges
            view[:size] = memoryview(answer.buffer)[skipped : skipped + size]
            self._at += size
        return size
