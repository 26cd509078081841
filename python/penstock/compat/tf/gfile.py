"""tf.io.gfile: local files."""

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
    """Wrap a function to raise the exceptions of `tf.errors`."""

    @functools.wraps(function)
    def call(*args: Any, **kwargs: Any) -> Any:
        try:
            return function(*args, **kwargs)
        except Exception as error:
            raise_translated(error)

    del call.__wrapped__  # so that its own name is shown
    return call


class GFile:
    """A file, opened at the first read or write; text is encoded as UTF-8.

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
        """The name passed to the constructor."""
        return self._name

    @property
    def mode(self) -> str:
        """The mode passed to the constructor."""
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
        """Return the size of the file in bytes."""
        self.flush()
        return _path(self._name).stat().st_size

    def read(self, n: int = -1) -> Any:
        """Return the rest of the file, or up to `n` characters or bytes."""
        return self._to_read().read(n)

    def readline(self) -> Any:
        """Return the next line, including its line break."""
        return self._to_read().readline()

    def readlines(self) -> list[Any]:
        """Return the remaining lines, including their line breaks."""
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
        """Move to an offset from the start (0), the current position (1) or the end (2)."""
        self._file.seek(position if offset is None else offset, whence)

    def seekable(self) -> bool:
        """Return True."""
        return True

    def tell(self) -> int:
        """Return the current position in bytes."""
        return int(self._file.tell())

    def flush(self) -> None:
        """Flush buffered writes to the file."""
        if self._opened is not None:
            self._opened.flush()

    def close(self) -> None:
        """Close the file."""
        if self._opened is not None:
            self._opened.close()
            self._opened = None

    def __enter__(self) -> GFile:
        if "r" not in self._mode:
            self._file.flush()  # creates the file, even if nothing is written
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
        # Other attributes that libraries use: readable, fileno, closed.
        if name.startswith("_"):
            raise AttributeError(name)
        return getattr(self._file, name)


class FileStatistics(NamedTuple):
    """The result of `stat`."""

    length: int
    mtime_nsec: int
    is_directory: bool


def exists(path: Any) -> bool:
    """Return whether a file or folder exists."""
    return _path(path).exists()


def isdir(path: Any) -> bool:
    """Return whether a path is a folder."""
    return _path(path).is_dir()


@_translated
def stat(path: Any) -> FileStatistics:
    """Return size (bytes), modification time (nanoseconds) and whether it is a folder."""
    found = _path(path).stat()
    return FileStatistics(found.st_size, found.st_mtime_ns, _path(path).is_dir())


def glob(pattern: Any) -> list[str]:
    """Return the names of the files that match patterns, in pattern order."""
    patterns = pattern if isinstance(pattern, (list, tuple)) else [pattern]
    names = map(from_here, map(str, map(_path, patterns)))
    return [name for each in names for name in sorted(_glob.glob(each))]  # noqa: PTH207


@_translated
def listdir(path: Any) -> list[str]:
    """Return the names of a folder's contents."""
    return [each.name for each in _path(path).iterdir()]


def walk(top: Any, topdown: bool = True, onerror: Any = None) -> Any:
    """Walk through a folder and its subfolders, like `os.walk`."""
    return os.walk(_path(top), topdown, onerror)


def join(path: Any, *paths: Any) -> Any:
    """Join path components; the result is bytes if the first component is."""
    joined = os.path.join(*map(os.fspath, map(_path, (path, *paths))))  # noqa: PTH118
    return joined.encode() if isinstance(path, bytes) else joined


@_translated
def mkdir(path: Any) -> None:
    """Create a folder, unless it exists."""
    _path(path).mkdir(exist_ok=True)


@_translated
def makedirs(path: Any) -> None:
    """Create a folder and its parent folders."""
    _path(path).mkdir(parents=True, exist_ok=True)


@_translated
def remove(path: Any) -> None:
    """Remove a file."""
    _path(path).unlink()


@_translated
def rmtree(path: Any) -> None:
    """Remove a folder and its contents."""
    shutil.rmtree(_path(path))


@_translated
def copy(src: Any, dst: Any, overwrite: bool = False) -> None:
    """Copy a file.

    Raises
    ------
    AlreadyExistsError
        If the target exists and `overwrite` is False.
    """
    _check_free(dst, overwrite)
    shutil.copyfile(_path(src), _path(dst))


@_translated
def rename(src: Any, dst: Any, overwrite: bool = False) -> None:
    """Rename or move a file.

    Raises
    ------
    AlreadyExistsError
        If the target exists and `overwrite` is False.
    """
    _check_free(dst, overwrite)
    _path(src).replace(_path(dst))


def _check_free(path: Any, overwrite: bool) -> None:
    if not overwrite and _path(path).exists():
        raise AlreadyExistsError(None, None, f"gfile: {_path(path)} exists; give overwrite=True")


def get_registered_schemes() -> list[str]:
    """Return the supported URL schemes: none, not even file://."""
    return [""]


__dir__ = listing(globals())
