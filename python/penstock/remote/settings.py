"""The user's settings for remote files: credentials, limits and local copies."""

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
    """Settings of the URLs that start with a prefix."""

    options: dict[str, Any] = field(default_factory=dict)
    limits: Limits = field(default_factory=Limits)
    cache_dir: str | None = None
    cache_bytes: int | None = None


_lock = threading.Lock()
_by_prefix: dict[str, Settings] = {}
_DEFAULT = Settings()
# Results of merging configured settings with the options of a path. Equal results are the same
# object, so that they also share a store.
_together: list[Settings] = []


@checked
def configure(
    prefix: str = "",
    *,
    storage_options: Mapping[str, Any] | None = None,
    cache_dir: str | os.PathLike[str] | None = None,
    cache_bytes: int | None = None,
) -> None:
    """Configure how this process reads and writes files at URLs.

    Parameters
    ----------
    prefix : str
        The settings apply to URLs that start with this prefix, such as "s3://bucket/". If several
        prefixes match, the longest one applies. "" matches all URLs.
    storage_options : dict, optional
        Credentials and other options, with fsspec's names. S3: ``key``, ``secret``, ``token``,
        ``anon``, ``endpoint_url`` and ``client_kwargs``. Google: ``token``. Azure: ``account_name``
        and ``account_key``. Web servers: ``headers``. For s3, gs, az and http(s), all option names
        of obstore are also accepted. So is obstore's ``credential_provider``, which is called again
        when credentials have expired. Limits for all stores: ``timeout`` (maximum seconds without
        progress, that is 4 KiB of new bytes; 30), ``max_attempts`` (requests since the last new
        bytes; 8), ``max_seconds`` (time since the last new bytes; 180), ``max_requests``
        (concurrent requests to one store; 64) and ``hedge`` (whether to send a second request for
        the rest of a slow one; True). None: the libraries find credentials themselves, in the
        environment or from the machine's role.
    cache_dir : str or path, optional
        A local folder for copies of files that are read from start to end. All processes share the
        copies. None: keep no copies.
    cache_bytes : int, optional
        Maximum total size of the files in `cache_dir` in bytes, >= 1. The least recently used files
        are removed first. None: no limit.

    Raises
    ------
    ValueError
        If a limit is not a positive number, or `cache_bytes` is passed without `cache_dir`.

    Notes
    -----
    A user and password in the URL of a file (``https://name:password@host/``) also apply to other
    URLs in the same folder from then on. They are kept in this process only: plans, pickles, states
    and errors contain the URL without them.

    The call replaces earlier settings for the same prefix. It applies to files opened afterwards.
    Worker processes do not inherit the settings, unless they are forked from this process; they
    must call it themselves. Options passed with a path (such as ``storage_options=`` of a source or
    writer) are added to the settings for the folder of its URL.

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
    """Return the settings that apply to a URL."""
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
