"""tf.io.gfile: files of this machine."""

from __future__ import annotations

import builtins
import glob as _glob
import os
import shutil
from pathlib import Path
from typing import Any

from penstock.compat.errors import AlreadyExistsError
from penstock.compat.listing import listing


def _path(path: Any) -> Path:
    value = path.numpy() if hasattr(path, "numpy") else path
    return Path(os.fsdecode(value))


def GFile(name: Any, mode: str = "r") -> Any:
    """Open a file: Python's `open`, with text in UTF-8.

    Parameters
    ----------
    name : str, bytes or path
        The file.
    mode : str
        As for Python's `open`.

    Returns
    -------
    file object
        An open file.
    """
    encoding = None if "b" in mode else "utf-8"
    return builtins.open(_path(name), mode, encoding=encoding)  # noqa: PTH123


def exists(path: Any) -> bool:
    """Return whether there is such a file or folder."""
    return _path(path).exists()


def isdir(path: Any) -> bool:
    """Return whether it is a folder."""
    return _path(path).is_dir()


def glob(pattern: Any) -> list[str]:
    """Return the names of the files that match a pattern, or one of several, sorted."""
    patterns = pattern if isinstance(pattern, (list, tuple)) else [pattern]
    found = [name for each in patterns for name in _glob.glob(str(_path(each)))]  # noqa: PTH207
    return sorted(found)


def listdir(path: Any) -> list[str]:
    """Return the names of what is in a folder."""
    return [each.name for each in _path(path).iterdir()]


def walk(top: Any, topdown: bool = True) -> Any:
    """Go through a folder and those in it: as `os.walk`."""
    return os.walk(_path(top), topdown)


def join(path: Any, *paths: Any) -> str:
    """Return a path of parts."""
    return str(_path(path).joinpath(*map(_path, paths)))


def mkdir(path: Any) -> None:
    """Make a folder."""
    _path(path).mkdir()


def makedirs(path: Any) -> None:
    """Make a folder, and those that it lies in."""
    _path(path).mkdir(parents=True, exist_ok=True)


def remove(path: Any) -> None:
    """Remove a file."""
    _path(path).unlink()


def rmtree(path: Any) -> None:
    """Remove a folder and all that is in it."""
    shutil.rmtree(_path(path))


def copy(src: Any, dst: Any, overwrite: bool = False) -> None:
    """Copy a file.

    Raises
    ------
    AlreadyExistsError
        If there is one of this name, and `overwrite` is False.
    """
    _check_free(dst, overwrite)
    shutil.copyfile(_path(src), _path(dst))


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


__dir__ = listing(globals())
