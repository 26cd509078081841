"""Names of files as users give them."""

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

# A scheme of one letter is a drive of Windows. The engine looks the same way (storage/remote.cc).
_URL = re.compile(r"[A-Za-z][A-Za-z0-9+.-]+://")


def check_path(stage: str, argument: str, path: Any) -> Any:
    """Return a path; raise ValueError for one that the system cannot represent.

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
    """Return whether a name is a URL, and no file of this machine is called so."""
    return bool(_URL.match(name)) and not Path(name).exists()


def name_file(error: BaseException, name: str, beside: str = "") -> None:
    """Let an OSError name a file where it names none, as that of a full disk does.

    Parameters
    ----------
    error : exception
        Others stay as they are.
    name : str
        The file, as the user knows it.
    beside : str
        Where it is written until it is complete, which the user does not know.
    """
    if isinstance(error, OSError) and error.errno and error.filename in (None, beside):
        error.filename = name


@contextlib.contextmanager
def naming(name: str, beside: str) -> Iterator[None]:
    """Call `name_file` for an error of a block."""
    try:
        yield
    except OSError as error:
        name_file(error, name, beside)
        raise


def names_in(names: Any) -> list[Any]:
    """Return what a stage has for the name of the file that it reads, or for several, as a list."""
    return list(names.flat) if isinstance(names, np.ndarray) else [names]


def name_of(stage: str, argument: str, path: Any) -> str:
    """Return a path as a str, or a URL; that of a ``file://`` URL is one of this machine.

    Parameters
    ----------
    stage, argument : str
        What errors name.
    path : str, bytes or path
        A file or folder.

    Raises
    ------
    TypeError
        If it is none of these, an open file for instance.
    ValueError
        If it has a null character.
    """
    if not isinstance(path, (str, bytes, os.PathLike)):
        raise TypeError(f"{stage}: {argument} must be a str or a path, got {what_came(path)}")
    name = str(os.fsdecode(check_path(stage, argument, path)))  # plain also for numpy.str_
    if name.startswith("file://") and is_url(name):
        from urllib.request import url2pathname  # which imports http and ssl

        return url2pathname(urlsplit(name).path)
    return note_url(name) if is_url(name) else name


def compression_of(compression: str | None) -> str:
    """Return the engine's name of a compression: "" for None, "ZSTD" for "zstd"."""
    name = (compression or "").upper()
    return name if name in _COMPRESSIONS else str(compression)  # for the error, unchanged


def patterns_of(stage: str, argument: str, patterns: Any) -> list[str]:
    """Return one or more glob patterns, perhaps URLs, as a list; the errors are as of `name_of`."""
    if isinstance(patterns, (str, bytes, os.PathLike)):
        patterns = [patterns]
    elif hasattr(patterns, "read") or not np.iterable(patterns):
        raise TypeError(
            f"{stage}: {argument} must be a pattern or a list of patterns, "
            f"got {what_came(patterns)}"
        )
    return [name_of(stage, argument, pattern) for pattern in patterns]


def what_came(path: Any) -> str:
    """Return how an error says what was given for a path."""
    if hasattr(path, "read") or hasattr(path, "write"):
        name = getattr(path, "name", None)
        advice = f"its name, {name!r}" if isinstance(name, str) else "a path"
        return f"an open file ({type(path).__name__}); give {advice}"
    return f"{path!r:.200}"
