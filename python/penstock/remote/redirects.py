"""Resolve the redirects of a web server without sending the user's headers to other hosts.

obstore follows redirects automatically, also to other hosts, and sends all headers except
Authorization and Cookie. Other headers may be secret, too, such as a key in ``X-Api-Key``.
"""

from __future__ import annotations

import http.client
import ssl
import urllib.error
import urllib.request
from collections.abc import Mapping
from typing import Any
from urllib.parse import SplitResult, quote, urljoin, urlsplit

from penstock.remote.failures import Failure

_MOST = 10  # redirects
_PORTS = {"http": 80, "https": 443}
_NOT_QUOTED = "!#$%&'()*+,/:;=?@[]~"  # characters allowed in a URL, and already quoted ones


class _Stay(urllib.request.HTTPRedirectHandler):
    """Follows no redirect, so a redirect raises HTTPError."""

    def redirect_request(self, *_: Any) -> None:
        """Return None: send no further request."""


def moved_to(url: str, client: Mapping[str, Any], timeout: float) -> str | None:
    """Return the URL on another host that a URL redirects to; None if it stays on its host.

    Parameters
    ----------
    url : str
        The URL to read.
    client : mapping
        Options of obstore's client: the headers and connection settings.
    timeout : float
        Maximum time to wait for each reply, in seconds.
    """
    opener = urllib.request.build_opener(_Stay, *handlers(client))
    for _ in range(_MOST):
        request = urllib.request.Request(url, headers={**headers_of(client), "Range": "bytes=0-0"})
        try:
            with opener.open(request, timeout=timeout):
                return None
        except urllib.error.HTTPError as error:
            where = error.headers.get("Location") if 300 <= error.code < 400 else None
            if where is None:
                return None  # the reader will get the same error
        except (OSError, ValueError, http.client.HTTPException) as error:
            raise Failure(f"{getattr(error, 'reason', error)}"[:300], again=True) from error
        before, url = urlsplit(url), urljoin(url, quote(where, safe=_NOT_QUOTED))
        if not _is_same_host(before, urlsplit(url)):
            return url
    raise Failure("too many redirects")


def headers_of(client: Mapping[str, Any]) -> dict[str, str]:
    """Return the headers that the options of obstore's client add to requests."""
    given = client.get("default_headers", {})
    headers = {
        str(name): value.decode("latin-1") if isinstance(value, bytes) else str(value)
        for name, value in given.items()
    }
    if "user_agent" in client:
        headers["User-Agent"] = str(client["user_agent"])
    return headers


def handlers(client: Mapping[str, Any]) -> list[urllib.request.BaseHandler]:
    """Return urllib handlers for the options of obstore's client: certificates and a proxy."""
    certificate = client.get("root_certificate")
    if isinstance(certificate, bytes):
        certificate = certificate.decode()
    context = ssl.create_default_context(cadata=certificate)
    if client.get("allow_invalid_certificates"):
        context.check_hostname = False
        context.verify_mode = ssl.CERT_NONE
    handlers: list[urllib.request.BaseHandler] = [urllib.request.HTTPSHandler(context=context)]
    if proxy := client.get("proxy_url"):
        handlers.append(urllib.request.ProxyHandler({"http": str(proxy), "https": str(proxy)}))
    return handlers


def _is_same_host(before: SplitResult, after: SplitResult) -> bool:
    if before.hostname != after.hostname:
        return False
    ports = [each.port or _PORTS.get(each.scheme) for each in (before, after)]
    upgraded = (before.scheme, after.scheme) == ("http", "https") and ports == [80, 443]
    return upgraded or (before.scheme == after.scheme and ports[0] == ports[1])
