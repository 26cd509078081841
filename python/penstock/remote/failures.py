"""Why a request has failed, and whether another one may succeed."""

from __future__ import annotations

import errno


class Failure(Exception):
    """A request has failed.

    Parameters
    ----------
    text : str
        Why, in short.
    number : int
        The errno of the error that the user sees; 0 for a DataError.
    again : bool
        Whether another request may succeed.
    busy : bool
        Whether the server asks to be left alone for a while.
    """

    def __init__(
        self, text: str, number: int = errno.EIO, *, again: bool = False, busy: bool = False
    ) -> None:
        super().__init__(text)
        self.text = text
        self.number = number
        self.again = again
        self.busy = busy


class PastEnd(Failure):
    """The range begins at the end of the file, or after it."""


class NoRanges(Failure):
    """The server has sent the whole file for a range of it."""


def of_status(status: int, text: str) -> Failure:
    """Return the failure that a status of HTTP stands for."""
    if status == 404 or status == 410:
        return Failure(text, errno.ENOENT)
    if status == 416:
        return PastEnd(text)
    if status == 403:
        # Stores answer so for keys that have expired, too.
        return Failure(text, errno.EACCES, again="Expired" in text)
    if status == 401:
        return Failure(text, errno.EACCES, again=True)
    if status in (429, 503):
        return Failure(text, errno.EBUSY, again=True, busy=True)
    return Failure(text, again=status >= 500 or status in (408, 409) or "Expired" in text)
