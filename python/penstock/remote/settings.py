"""What the user has said about remote files: credentials, limits, copies on this machine."""

from __future__ import annotations

import os
import threading
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from penstock import _core
from penstock.arguments.checked import checked
from penstock.storage_options import Limits, note_url, options_of, with_limits, without_user


@dataclass(frozen=True)
class Settings:
    """What holds for the URLs that begin with one prefix."""

    options: dict[str, Any] = field(default_factory=dict)
    limits: Limits = field(default_factory=Limits)
    cache_dir: str | None = None
    cache_bytes: int | None = None


_lock = threading.Lock()
_by_prefix: dict[str, Settings] = {}
_DEFAULT = Settings()
# What was configured with what came with a path: equal ones are one, for their stores are, too.
_together: list[Settings] = []


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
        ``headers`` of web servers; for s3, gs, az and http(s) also every name that obstore has, and
        its ``credential_provider``, which is called again when credentials have expired. And
        limits for all: ``timeout`` (seconds without progress: 4 KiB of new bytes; 30),
        ``max_attempts`` (requests since the last new bytes, 8), ``max_seconds`` (since then, 180),
        ``max_requests`` (concurrent requests to one store, 64), ``hedge`` (whether a second request
        is sent for the rest of a slow one, True). None leaves credentials to where the libraries
        look for them: the environment, the machine's role.
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
    A user and password in the URL of a file (``https://name:password@host/``) also apply to
    other URLs of its folder from then on. They are kept in this process only: plans, pickles,
    states and errors contain the URL without them.

    The call replaces what was said for the same prefix. It holds for files that are opened after
    it. Worker processes that are spawned make their own call. Options that come with a path
    (``storage_options=`` of a source, a writer, ...) are added for the folder of its URL.

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
    prefix = note_url(prefix)
    folder = None if cache_dir is None else str(Path(cache_dir).absolute())
    settings = _with_options(Settings({}, Limits(), folder, cache_bytes), storage_options or {})
    with _lock:
        _by_prefix[prefix] = settings
    _core.forget_remote_files()


def _with_options(settings: Settings, options: Mapping[str, Any]) -> Settings:
    given = dict(options)
    limits = with_limits("configure", settings.limits, given)
    return replace(settings, options={**settings.options, **given}, limits=limits)


def settings_of(url: str) -> Settings:
    """Return what holds for a URL."""
    options = options_of(url)
    url = without_user(url)
    with _lock:
        fitting = [prefix for prefix in _by_prefix if url.startswith(prefix)]
        settings = _by_prefix[max(fitting, key=len)] if fitting else _DEFAULT
        if options is None:
            return settings
        settings = _with_options(settings, options)
        if settings not in _together:
            _together.append(settings)
        return _together[_together.index(settings)]
