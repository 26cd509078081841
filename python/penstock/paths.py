"""File names and URLs that users pass."""

from __future__ import annotations

import contextlib
import os
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import numpy as np

from penstock.storage_options import note_url

Names = str | os.PathLike[str]

_COMPRESSIONS = ("", "AUTO", "GZIP", "ZLIB", "ZSTD")

# A scheme with one letter is a Windows drive. The engine uses the same rule (storage/remote.cc).
_URL = re.compile(r"[A-Za-z][A-Za-z0-9+.-]+://")


def check_path(stage: str, argument: str, path: Any) -> Any:
    """Return a path; raise ValueError if the system cannot represent it.

    The system ends paths at a null character, and a lone surrogate cannot be encoded.
    """
    text = os.fspath(path)
    try:
        encoded = os.fsencode(text)
    except UnicodeEncodeError:
        raise ValueError(
            f"{stage}: {argument}: {text!r} has no form in bytes: it has lone surrogates"
        ) from None
    if b"\0" in encoded:
        raise ValueError(
            f"{stage}: {argument} must be a path without null characters, got {text!r}"
        )
    return path


def is_url(name: str) -> bool:
    """Return whether a name is a URL, and not an existing local file."""
    return bool(_URL.match(name)) and not Path(name).exists()


def name_file(error: BaseException, name: str, beside: str = "") -> None:
    """Set the file name of an OSError without one, such as that of a full disk.

    Parameters
    ----------
    error : exception
        The error. Other exceptions are not changed.
    name : str
        The file that the user named.
    beside : str
        The temporary file that is written first, which the user does not know.
    """
    if isinstance(error, OSError) and error.errno and error.filename in (None, beside):
        error.filename = name


@contextlib.contextmanager
def naming(name: str, beside: str) -> Iterator[None]:
    """Call `name_file` for an OSError in a ``with`` block."""
    try:
        yield
    except OSError as error:
        name_file(error, name, beside)
        raise


def names_in(names: Any) -> list[Any]:
    """Return the file names that a stage reads as a list; it may have one or several."""
    return list(names.flat) if isinstance(names, np.ndarray) else [names]


def name_of(stage: str, argument: str, path: Any) -> str:
    """Return a path or a URL as a str. A ``file://`` URL becomes a local path.

    Parameters
    ----------
    stage, argument : str
        Names for error messages.
    path : str, bytes or path
        A file or folder.

    Raises
    ------
    TypeError
        If `path` has another type, such as an open file.
    ValueError
        If `path` has a null character.
    """
    if not isinstance(path, (str, bytes, os.PathLike)):
        raise TypeError(f"{stage}: {argument} must be a str or a path, got {what_came(path)}")
    name = str(os.fsdecode(check_path(stage, argument, path)))  # converts numpy.str_ to str
    if name.startswith("file://") and is_url(name):
        from urllib.request import url2pathname  # slow to import: it loads http and ssl

        return url2pathname(urlsplit(name).path)
    return note_url(name) if is_url(name) else name


def compression_of(compression: str | None) -> str:
    """Return the engine's name for a compression: "" for None, "ZSTD" for "zstd"."""
    name = (compression or "").upper()
    return name if name in _COMPRESSIONS else str(compression)  # unchanged, for the error


def patterns_of(stage: str, argument: str, patterns: Any) -> list[str]:
    """Return one or more glob patterns or URLs as a list; errors are as in `name_of`."""
    if isinstance(patterns, (str, bytes, os.PathLike)):
        patterns = [patterns]
    elif hasattr(patterns, "read") or not np.iterable(patterns):
        raise TypeError(
            f"{stage}: {argument} must be a pattern or a list of patterns, "
            f"got {what_came(patterns)}"
        )
    return [name_of(stage, argument, pattern) for pattern in patterns]


def what_came(path: Any) -> str:
    """Describe an invalid path in an error message."""
    if hasattr(path, "read") or hasattr(path, "write"):
        name = getattr(path, "name", None)
        advice = f"its name, {name!r}" if isinstance(name, str) else "a path"
        return f"an open file ({type(path).__name__}); give {advice}"
    return f"{path!r:.200}"
