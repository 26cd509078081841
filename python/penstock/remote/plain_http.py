"""Whole files from web servers that send no size, or compress their replies."""

from __future__ import annotations

import http.client
import urllib.error
import urllib.request
import zlib
from collections.abc import AsyncIterator, Mapping
from typing import Any

from penstock.remote.blocking_calls import in_daemon_thread
from penstock.remote.content_encoding import is_encoded
from penstock.remote.failures import Failure, of_status, seconds_to_wait
from penstock.remote.redirects import handlers, headers_of

_PART = 256 << 10
_WINDOW = 32 + zlib.MAX_WBITS  # gzip and zlib


class PlainReply:
    """The reply to a request for a whole file.

    Attributes
    ----------
    size : int
        Size of the file in bytes; -1 if the server does not send it.
    tag : str
        The ETag of the content, or the time of its last modification.
    """

    def __init__(self, response: Any, path: str) -> None:
        self._response = response
        headers = response.headers
        self.encoding = headers.get("Content-Encoding", "")
        self._encoded = is_encoded(self.encoding, path)
        length = headers.get("Content-Length", "")
        self.size = int(length) if length.isdecimal() and not self._encoded else -1
        self.tag = headers.get("ETag") or headers.get("Last-Modified") or ""

    async def parts(self) -> AsyncIterator[bytes]:
        """Yield the bytes, decoded."""
        decoder = zlib.decompressobj(_WINDOW) if self._encoded else None
        try:
            while part := await in_daemon_thread(self._response.read1, _PART):
                while decoder and part:
                    if decoder.eof:
                        decoder = zlib.decompressobj(_WINDOW)
                    yield decoder.decompress(part)
                    part = decoder.unused_data
                if part:
                    yield part
            if decoder and not decoder.eof:
                raise Failure("the reply ended before its compressed data", again=True)
        except (OSError, http.client.HTTPException, zlib.error) as error:
            raise Failure(f"{type(error).__name__}: {error}"[:300], again=True) from error
        finally:
            self._response.close()


async def request_whole(
    url: str, client: Mapping[str, Any], path: str, timeout: float
) -> PlainReply:
    """Request a file.

    Parameters
    ----------
    url, path : str
        The file's URL, and a name whose extension shows whether the file itself is compressed.
    client : mapping
        Options of obstore's client: headers and connection settings.
    timeout : float
        Maximum time to wait for bytes, in seconds.

    Raises
    ------
    Failure
        If the request fails, or the server uses an unknown compression.
    """
    reply = PlainReply(await in_daemon_thread(_opened, url, client, timeout), path)
    known = ("", "identity", "gzip", "x-gzip", "deflate", "aws-chunked")
    if reply.encoding.strip().lower() not in known and is_encoded(reply.encoding, path):
        raise Failure(f"the server sends the file with Content-Encoding {reply.encoding}")
    return reply


def _opened(url: str, client: Mapping[str, Any], timeout: float) -> Any:
    opener = urllib.request.build_opener(*handlers(client))
    headers = {"Accept-Encoding": "identity", **headers_of(client)}
    try:
        return opener.open(urllib.request.Request(url, headers=headers), timeout=timeout)
    except urllib.error.HTTPError as error:
        text = f"the server says {error.code} {error.reason}"
        after = {"Retry-After": error.headers.get("Retry-After", "")}
        raise of_status(error.code, text, seconds_to_wait(after)) from error
    except (OSError, ValueError, http.client.HTTPException) as error:
        raise Failure(f"{getattr(error, 'reason', error)}"[:300], again=True) from error
