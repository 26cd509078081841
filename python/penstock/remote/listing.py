"""The files that match a pattern, on this machine or in a store."""

from __future__ import annotations

import glob

from penstock.paths import is_url


def files_matching(pattern: str) -> list[str]:
    """Return the names of the files that match a pattern, sorted.

    Parameters
    ----------
    pattern : str
        A path or URL with ``*``, ``?``, ``[...]`` and ``**``.

    Raises
    ------
    OSError
        If a store cannot be listed.
    ImportError
        If the library for a URL is not installed.
    """
    if not is_url(pattern):
        return sorted(glob.glob(pattern, recursive=True))  # noqa: PTH207
    from penstock.remote.patterns import urls_matching

    return sorted(urls_matching(pattern))


def files_below(url: str) -> list[str]:
    """Return the names of all files in a folder of a store and in those inside it, sorted.

    Names begin after that of the folder.

    Raises
    ------
    OSError
        If the store cannot be listed.
    ImportError
        If the library for the URL is not installed.
    """
    from penstock.remote.patterns import names_below

    return sorted(names_below(url))
