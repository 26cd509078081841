"""Choose the library for a URL, and cache the open stores."""

from __future__ import annotations

from collections import OrderedDict
from typing import Any
from urllib.parse import urlsplit

from penstock.printable import printable
from penstock.remote.attempts import Attempts, Files
from penstock.remote.copies import Copies
from penstock.remote.fsspec_files import FsspecFiles
from penstock.remote.obstore_files import SCHEMES, ObstoreFiles
from penstock.remote.settings import Settings, settings_of
from penstock.storage_options import with_user

_MOST_STORES = 64  # maximum of open stores; each signed URL has its own

Key = tuple[Any, ...]


class Stores:
    """The stores of an event loop, opened on first use."""

    def __init__(self) -> None:
        self._open: OrderedDict[Key, Attempts] = OrderedDict()
        self._copies: dict[_Same, Copies] = {}

    def of(self, url: str) -> Attempts:
        """Return the store of a URL.

        Raises
        ------
        ImportError
            If the library for the URL is not installed.
        """
        settings = settings_of(url)
        url = with_user(url)
        key = (*_key_of(url), _Same(settings))
        found = self._open.get(key)
        if found is None:
            found = self._open[key] = Attempts(_files_of(url, settings), settings.limits)
            if len(self._open) > _MOST_STORES:
                self._open.popitem(last=False)
        self._open.move_to_end(key)
        return found

    def copies_of(self, url: str) -> Copies | None:
        """Return the local copies of files for a URL; None without a `cache_dir`."""
        settings = settings_of(url)
        if settings.cache_dir is None:
            return None
        key = _Same(settings)
        if key not in self._copies:
            self._copies[key] = Copies(settings.cache_dir, settings.cache_bytes)
        return self._copies[key]

    def close(self) -> None:
        """Remove incomplete copies."""
        for copies in self._copies.values():
            copies.close()


class _Same:
    """Compare settings by identity: they contain a dict, so they have no hash."""

    def __init__(self, settings: Settings) -> None:
        self._settings = settings

    def __eq__(self, other: object) -> bool:
        return isinstance(other, _Same) and self._settings is other._settings

    def __hash__(self) -> int:
        return id(self._settings)


def _key_of(url: str) -> Key:
    parts = urlsplit(url)
    exact = url if ObstoreFiles.is_exact(url) else ""
    return parts.scheme, parts.netloc, exact


def _files_of(url: str, settings: Settings) -> Files:
    known = url.partition("://")[0].lower() in SCHEMES
    try:
        if known:
            return ObstoreFiles(url, settings.options, settings.limits.timeout)
        return FsspecFiles(url, settings.options)
    except ImportError as error:
        library, extra = ("obstore", "remote") if known else ("fsspec", "fsspec")
        # fsspec itself names the missing libraries of its file systems.
        what = f"'penstock[{extra}]'" if error.name == library else error.name or ""
        raise ImportError(
            f"{printable(url)} cannot be reached ({error}); pip install {what}".rstrip()
        ) from error
