"""What the user has said about remote files: credentials, limits, copies on this machine."""

from __future__ import annotations

import os
import threading
from collections.abc import Mapping
from dataclasses import dataclass, field, fields, replace
from pathlib import Path
from typing import Any

from penstock.arguments.checked import checked


@dataclass(frozen=True)
class Limits:
    """How long a range is tried to be read, and with how many requests.

    Attributes
    ----------
    timeout : float
        Seconds that one request may take.
    max_attempts : int
        The most requests for one range, hedges included.
    max_seconds : float
        The seconds after which no other request is begun.
    max_requests : int
        The most requests to one store at a time.
    hedge : bool
        Whether a request that takes much longer than others do is sent again meanwhile.
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
                raise ValueError(f"configure: {name} must be seconds > 0, got {value!r:.200}")
        for name in ("max_attempts", "max_requests"):
            value = getattr(self, name)
            if isinstance(value, bool) or not isinstance(value, int) or value < 1:
                raise ValueError(f"configure: {name} must be an int >= 1, got {value!r:.200}")
        if not isinstance(self.hedge, bool):
            raise ValueError(f"configure: hedge must be a bool, got {self.hedge!r:.200}")


@dataclass(frozen=True)
class Settings:
    """What holds for the URLs that begin with one prefix."""

    options: dict[str, Any] = field(default_factory=dict)
    limits: Limits = Limits()
    cache_dir: str | None = None
    cache_bytes: int | None = None


_OF_LIMITS = {each.name for each in fields(Limits)}
_lock = threading.Lock()
_by_prefix: dict[str, Settings] = {}
_DEFAULT = Settings()


@checked
def configure(
    prefix: str = "",
    *,
    storage_options: Mapping[str, Any] | None = None,
    cache_dir: str | os.PathLike[str] | None = None,
    cache_bytes: int | None = None,
) -> None:
    """Say how files at URLs are read and written in this process.

    Parameters
    ----------
    prefix : str
        The URLs that are meant: those that begin with it, "s3://bucket/" say. Of several prefixes
        the longest counts. "" means all.
    storage_options : dict, optional
        As fsspec spells them: ``key``, ``secret``, ``token``, ``anon``, ``endpoint_url`` and
        ``client_kwargs`` of S3, ``token`` of Google, ``account_name`` and ``account_key`` of Azure,
        ``headers`` of web servers; for s3, gs, az and http(s) also every name that obstore has. And
        limits for all: ``timeout`` (seconds of one request, 30), ``max_attempts`` (requests for one
        range, 8), ``max_seconds`` (of all of them, 180), ``max_requests`` (to one store at a time,
        64), ``hedge`` (whether a slow request is sent a second time, True). None leaves credentials
        to where the libraries look for them: the environment, the machine's role.
    cache_dir : str or path, optional
        A folder of this machine where files that are read from their beginning to their end are
        kept for the next time, by all processes. None keeps none.
    cache_bytes : int, optional
        The most bytes that files in `cache_dir` may take, >= 1: those that were not used for the
        longest time are removed. None means any number.

    Raises
    ------
    ValueError
        If a limit is not a positive number, or `cache_bytes` is given without `cache_dir`.

    Notes
    -----
    The call replaces what was said for the same prefix. It holds for files that are opened after
    it. Worker processes that are spawned make their own call.

    Examples
    --------
    >>> ps.remote.configure("s3://public/", storage_options={"anon": True, "max_attempts": 3})
    """
    if not isinstance(prefix, str):
        raise TypeError(f"configure: prefix must be a str, got {prefix!r:.200}")
    if not isinstance(storage_options, (Mapping, type(None))):
        raise TypeError(f"configure: storage_options must be a dict, got {storage_options!r:.200}")
    if cache_bytes is not None and (cache_dir is None or cache_bytes < 1):
        raise ValueError(
            "configure: cache_bytes must be >= 1 and come with a cache_dir, got "
            f"cache_bytes={cache_bytes!r} and cache_dir={cache_dir!r}"
        )
    given = dict(storage_options or {})
    limits = replace(Limits(), **{name: given.pop(name) for name in _OF_LIMITS & given.keys()})
    folder = None if cache_dir is None else str(Path(cache_dir).absolute())
    with _lock:
        _by_prefix[prefix] = Settings(given, limits, folder, cache_bytes)


def settings_of(url: str) -> Settings:
    """Return what holds for a URL."""
    with _lock:
        fitting = [prefix for prefix in _by_prefix if url.startswith(prefix)]
        return _by_prefix[max(fitting, key=len)] if fitting else _DEFAULT
