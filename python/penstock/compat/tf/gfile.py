"""tf.io.gfile: files of this machine."""

from __future__ import annotations

import builtins
import functools
import glob as _glob
import os
import shutil
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

from penstock.compat.calling import from_here
from penstock.compat.errors import (
    AlreadyExistsError,
    InvalidArgumentError,
    PermissionDeniedError,
    raise_translated,
)
from penstock.compat.listing import listing

_MODES = frozenset(
    f"{mode}{binary}" for mode in ("r", "w", "a", "r+", "w+", "a+") for binary in ("", "b")
)


def _path(path: Any) -> Path:
    value = path.numpy() if hasattr(path, "numpy") else path
    return Path(os.fsdecode(value))


def _translated(function: Callable[..., Any]) -> Callable[..., Any]:
    """Return a function whose errors are those of `tf.errors`."""

    @functools.wraps(function)
    def call(*args: Any, **kwargs: Any) -> Any:
        try:
            return function(*args, **kwargs)
        except Exception as error:
            raise_translated(error)

    del call.__wrapped__  # it is shown as a name of its own
    return call


class GFile:
    """A file, opened when it is read or written; text is in UTF-8.

    Parameters
    ----------
    name : str, bytes or path
        The file.
    mode : str
        "r", "w", "a", "r+", "w+" or "a+"; with "b" at the end for bytes.

    Examples
    --------
    >>> import penstock.compat.tf as tf
    >>> with tf.io.gfile.GFile("notes.txt", "w") as file:
    ...     file.write("hello")
    >>> tf.io.gfile.GFile("notes.txt").read()
    'hello'
    """

    def __init__(self, name: Any, mode: str = "r") -> None:
        if mode.replace("rb+", "r+b").replace("wb+", "w+b").replace("ab+", "a+b") not in _MODES:
            raise InvalidArgumentError(
                None, None, f"mode is not 'r' or 'w' or 'a' or 'r+' or 'w+' or 'a+': {mode!r}"
            )
        self._name = name
        self._mode = mode
        self._opened: Any = None

    @property
    def name(self) -> Any:
        """The name that was given."""
        return self._name

    @property
    def mode(self) -> str:
        """The mode that was given."""
        return self._mode

    @property
    def _file(self) -> Any:
        if self._opened is None:
            encoding = None if "b" in self._mode else "utf-8"
            try:
                self._opened = builtins.open(  # noqa: PTH123, SIM115
                    _path(self._name), self._mode, encoding=encoding
                )
            except OSError as error:
                raise_translated(error)
        return self._opened

    def _to_read(self) -> Any:
        if not self._file.readable():
            raise PermissionDeniedError(None, None, "File isn't open for reading")
        return self._file

    def size(self) -> int:
        """Return how many bytes the file has."""
        self.flush()
        return _path(self._name).stat().st_size

    def read(self, n: int = -1) -> Any:
        """Return the rest of the file, or `n` characters or bytes of it."""
        return self._to_read().read(n)

    def readline(self) -> Any:
        """Return the next line, with its end."""
        return self._to_read().readline()

    def readlines(self) -> list[Any]:
        """Return the lines that are left, with their ends."""
        return list(self._to_read().readlines())

    def write(self, file_content: Any) -> None:
        """Write text, or bytes."""
        if not self._file.writable():
            raise PermissionDeniedError(None, None, "File isn't open for writing")
        content = file_content.numpy() if hasattr(file_content, "numpy") else file_content
        if isinstance(content, bytes) and "b" not in self._mode:
            content = content.decode()
        elif isinstance(content, str) and "b" in self._mode:
            content = content.encode()
        self._file.write(content)

    def seek(self, offset: int | None = None, whence: int = 0, position: int | None = None) -> None:
        """Go to a byte: `offset` from the begin (0), from here (1) or from the end (2)."""
        self._file.seek(position if offset is None else offset, whence)

    def seekable(self) -> bool:
        """Return True."""
        return True

    def tell(self) -> int:
        """Return at which byte it is."""
        return int(self._file.tell())

    def flush(self) -> None:
        """Have what was written seen by others."""
        if self._opened is not None:
            self._opened.flush()

    def close(self) -> None:
        """Close the file."""
        if self._opened is not None:
            self._opened.close()
            self._opened = None

    def __enter__(self) -> GFile:
        if "r" not in self._mode:
            self._file.flush()  # it is there, even if nothing is written
        return self

    def __exit__(self, *exception: Any) -> None:
        self.close()

    def __iter__(self) -> Iterator[Any]:
        return self

    def __next__(self) -> Any:
        line = self.readline()
        if not line:
            raise StopIteration
        return line

    next = __next__

    def __getattr__(self, name: str) -> Any:
        # What else libraries ask of a file: readable, fileno, closed.
        if name.startswith("_"):
            raise AttributeError(name)
        return getattr(self._file, name)


class FileStatistics(NamedTuple):
    """What `stat` says of a file."""

    length: int
    mtime_nsec: int
    is_directory: bool


def exists(path: Any) -> bool:
    """Return whether there is such a file or folder."""
    return _path(path).exists()


def isdir(path: Any) -> bool:
    """Return whether it is a folder."""
    return _path(path).is_dir()


@_translated
def stat(path: Any) -> FileStatistics:
    """Return length (bytes), time of the last change (nanoseconds) and whether it is a folder."""
    found = _path(path).stat()
    return FileStatistics(found.st_size, found.st_mtime_ns, _path(path).is_dir())


def glob(pattern: Any) -> list[str]:
    """Return the names of the files that match patterns: of each pattern in order."""
    patterns = pattern if isinstance(pattern, (list, tuple)) else [pattern]
    names = map(from_here, map(str, map(_path, patterns)))
    return [name for each in names for name in sorted(_glob.glob(each))]  # noqa: PTH207


@_translated
def listdir(path: Any) -> list[str]:
    """Return the names of what is in a folder."""
    return [each.name for each in _path(path).iterdir()]


def walk(top: Any, topdown: bool = True, onerror: Any = None) -> Any:
    """Go through a folder and those in it: as `os.walk`."""
    return os.walk(_path(top), topdown, onerror)


def join(path: Any, *paths: Any) -> Any:
    """Return names joined to a path: bytes, if the first is."""
    joined = os.path.join(*map(os.fspath, map(_path, (path, *paths))))  # noqa: PTH118
    return joined.encode() if isinstance(path, bytes) else joined


@_translated
def mkdir(path: Any) -> None:
    """Make a folder; one that is there is left."""
    _path(path).mkdir(exist_ok=True)


@_translated
def makedirs(path: Any) -> None:
    """Make a folder, and those that it lies in."""
    _path(path).mkdir(parents=True, exist_ok=True)


@_translated
def remove(path: Any) -> None:
    """Remove a file."""
    _path(path).unlink()


@_translated
def rmtree(path: Any) -> None:
    """Remove a folder and all that is in it."""
    shutil.rmtree(_path(path))


@_translated
def copy(src: Any, dst: Any, overwrite: bool = False) -> None:
    """Copy a file.

    Raises
    ------
    AlreadyExistsError
        If there is one of this name, and `overwrite` is False.
    """
    _check_free(dst, overwrite)
    shutil.copyfile(_path(src), _path(dst))


@_translated
def rename(src: Any, dst: Any, overwrite: bool = False) -> None:
    """Rename a file, or move it.

    Raises
    ------
    AlreadyExistsError
        If there is one of this name, and `overwrite` is False.
    """
    _check_free(dst, overwrite)
    _path(src).replace(_path(dst))


def _check_free(path: Any, overwrite: bool) -> None:
    if not overwrite and _path(path).exists():
        raise AlreadyExistsError(None, None, f"gfile: {_path(path)} exists; give overwrite=True")


def get_registered_schemes() -> list[str]:
    """Return what names of files may begin with: nothing, not even file://."""
    return [""]


__dir__ = listing(globals())
