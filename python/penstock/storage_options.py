"""Secrets that are passed with a path: storage options, and the user and password of a URL.

They apply to all later URLs in the folder. Plans, states, pickles, reprs and errors never contain
them: secrets stay in this process.
"""

from __future__ import annotations

import functools
import re
import threading
from collections.abc import Callable, Mapping
from contextvars import ContextVar
from dataclasses import dataclass, fields, replace
from typing import Any, TypeVar

from penstock import _core


@dataclass(frozen=True)
class Limits:
    """Limits for reading a range of a remote file.

    Attributes
    ----------
    timeout : float
        Seconds that a request may take without progress: 4 KiB of new bytes.
    max_attempts : int
        Maximum number of requests since the last new bytes of a range, hedges included.
    max_seconds : float
        Seconds after the last new bytes, after which no further request is sent.
    max_requests : int
        Maximum number of concurrent requests to one store.
    hedge : bool
        Whether to send a second request for the rest of one that takes much longer than others.
    """

    timeout: float = 30.0
    max_attempts: int = 8
    max_seconds: float = 180.0
    max_requests: int = 64
    hedge: bool = True

    def __post_init__(self) -> None:
        for name, least in (("timeout", 0), ("max_seconds", 0)):
            value = getattr(self, name)
            if isinstance(value, bool) or not isinstance(value, (int, float)) or value <= least:
                raise ValueError(f"{name} must be seconds > 0, got {value!r:.200}")
        for name in ("max_attempts", "max_requests"):
            value = getattr(self, name)
            if isinstance(value, bool) or not isinstance(value, int) or value < 1:
                raise ValueError(f"{name} must be an int >= 1, got {value!r:.200}")
        if not isinstance(self.hedge, bool):
            raise ValueError(f"hedge must be a bool, got {self.hedge!r:.200}")


_LIMITS = frozenset(each.name for each in fields(Limits))


def with_limits(stage: str, limits: Limits, options: dict[str, Any]) -> Limits:
    """Return the limits, updated from `options`, which are removed there; errors name the stage."""
    found = {name: options.pop(name) for name in _LIMITS & options.keys()}
    try:
        return replace(limits, **found)
    except ValueError as error:
        raise ValueError(f"{stage}: {error}") from None


_F = TypeVar("_F", bound=Callable[..., Any])

_MAGIC = re.compile(r"[*?[{]")
_lock = threading.Lock()
_by_folder: dict[str, dict[str, Any]] = {}
_users: dict[str, str] = {}  # by folder, in URL syntax: "name:password"
# In these URLs, the user and password are not secrets, but parts of a repository.
_NO_USERS = ("github", "git")


class _Given:
    """The options of one call, and whether they were used for a URL."""

    def __init__(self, stage: str, options: Mapping[str, Any]) -> None:
        with_limits(stage, Limits(), dict(options))  # raises for invalid ones
        self.options = options
        self.used = False


_given: ContextVar[_Given | None] = ContextVar("storage options", default=None)


def carrying(function: _F, stage: str) -> _F:
    """Wrap a function whose argument `storage_options` applies to the URLs in its arguments.

    These are the URLs passed to `note_url` during the call. Without any, ValueError is raised.
    """

    @functools.wraps(function)
    def call(*args: Any, **kwargs: Any) -> Any:
        __tracebackhide__ = True  # IPython and pytest omit this frame
        options = kwargs.get("storage_options")
        if not isinstance(options, Mapping):  # None, or an error of the function
            return function(*args, **kwargs)
        given = _Given(stage, options)
        token = _given.set(given)
        try:
            result = function(*args, **kwargs)
        finally:
            _given.reset(token)
        if not given.used:
            raise ValueError(
                f"{stage}: storage_options come with URLs, and none was given by its name; give "
                "them where the names are listed, or to ps.remote.configure"
            )
        return result

    return call  # type: ignore[return-value]


def note_url(url: str) -> str:
    """Remove the user and password from a URL, and register them for its folder.

    The storage options of the current call are registered too.
    """
    url, user = _split_user(url)
    given = _given.get()
    if given is not None:
        given.used = True
    folder = _folder_of(url)
    with _lock:
        changed = bool(user) and _users.get(folder) != user
        if changed:
            _users[folder] = user
        if given is not None and _by_folder.get(folder) != given.options:
            _by_folder[folder] = dict(given.options)
            changed = True
    if changed:
        _core.forget_remote_files()  # the URL may now belong to another store
    return url


def without_user(url: str) -> str:
    """Return a URL in the form for error messages."""
    return _split_user(url)[0]


def with_user(url: str) -> str:
    """Return a URL with the user and password that are registered for its folder."""
    user = _of_folder(_users, url)
    if not user or _split_user(url)[1]:
        return url
    scheme, separator, rest = url.partition("://")
    return f"{scheme}{separator}{user}@{rest}"


def _split_user(url: str) -> tuple[str, str]:
    scheme, separator, rest = url.partition("://")
    host = re.split(r"[/?#]", rest, maxsplit=1)[0]
    user, at, _ = host.rpartition("@")
    # An Azure container has the same position, but no password follows it.
    secret = at and scheme not in _NO_USERS and (":" in user or scheme in ("http", "https"))
    return (f"{scheme}{separator}{rest[len(user) + 1 :]}", user) if secret else (url, "")


def options_of(url: str) -> dict[str, Any] | None:
    """Return the options that are registered for the folder of a URL, or for one around it."""
    return _of_folder(_by_folder, url)


_V = TypeVar("_V")


def _of_folder(by_folder: dict[str, _V], url: str) -> _V | None:
    if not by_folder:
        return None
    url = without_user(url)
    end = len(url)
    while (end := url.rfind("/", 0, end)) > 0:
        found = by_folder.get(url[: end + 1])
        if found is not None:
            return found
    return by_folder.get(_folder_of(url))


def _folder_of(url: str) -> str:
    scheme, _, rest = url.partition("://")
    if scheme in ("http", "https"):
        rest = rest.partition("?")[0]
    magic = _MAGIC.search(rest)
    folder, slash, _ = rest[: magic.start() if magic else None].rpartition("/")
    # A bucket or server alone is the folder of its contents.
    return f"{scheme}://{folder if slash else rest}/"
