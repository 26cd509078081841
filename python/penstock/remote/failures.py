"""Why a request failed, and whether to retry it."""

from __future__ import annotations

import email.utils
import errno
import time
from collections.abc import Mapping
from typing import Any

from penstock.printable import printable


class Failure(Exception):
    """A request failed.

    Parameters
    ----------
    text : str
        A short reason.
    number : int
        The errno of the error that the user sees; 0 for a DataError.
    again : bool
        Whether a retry may succeed.
    kind : str
        "busy" if the server is overloaded, "limited" if this client exceeded a rate limit,
        "expired" if new credentials may help.
    after : float
        Time to wait before a retry, as requested by the server, in seconds.
    """

    def __init__(
        self,
        text: str,
        number: int = errno.EIO,
        *,
        again: bool = False,
        kind: str = "",
        after: float = 0.0,
    ) -> None:
        text = printable(text)
        super().__init__(text)
        self.text = text
        self.number = number
        self.again = again
        self.kind = kind
        self.after = after


class PastEnd(Failure):
    """The range starts at or after the end of the file."""


class NoRanges(Failure):
    """The server sent the whole file instead of a range."""


class NoLength(Failure):
    """The server does not send the size of the file."""


def of_status(status: int, text: str, after: float = 0.0) -> Failure:
    """Return the failure for an HTTP status."""
    expired = "Expired" in text
    if status == 404 or status == 410:
        return Failure(text, errno.ENOENT)
    if status == 416:
        return PastEnd(text)
    if status == 403:
        # Stores also send 403 for expired keys.
        return Failure(text, errno.EACCES, again=expired, kind="expired" if expired else "")
    if status == 401:
        return Failure(text, errno.EACCES, again=True, kind="expired")
    if status in (429, 503):
        kind = "busy" if status == 503 else "limited"
        return Failure(text, errno.EBUSY, again=True, kind=kind, after=after)
    if expired:
        return Failure(text, errno.EACCES, again=True, kind="expired")
    return Failure(text, again=status >= 500 or status in (408, 409))


def seconds_to_wait(headers: Mapping[str, Any]) -> float:
    """Return the delay in the Retry-After header in seconds; 0 without one."""
    said = str(headers.get("Retry-After", "")).strip()
    if said.isdecimal():
        return float(said)
    try:
        return max(0.0, email.utils.parsedate_to_datetime(said).timestamp() - time.time())
    except ValueError:
        return 0.0
