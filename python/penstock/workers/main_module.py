"""The user's main module, which workers import once a pickle refers to it by name."""

from __future__ import annotations

import pickle
import re
import sys
from collections.abc import Iterable
from pathlib import Path
from typing import Any

_NAME = re.compile(rb"__main__")


def main_file() -> str | None:
    """Return the file of the main module; None if it came from ``-c``, a pipe or a console."""
    file = getattr(sys.modules["__main__"], "__file__", None)
    return file if file is not None and Path(file).exists() else None


def file_for_workers() -> str | None:
    """Return the main module's file, and prepare this process for objects from workers.

    In workers, classes of the main module belong to a module named ``__mp_main__``, as with
    multiprocessing.
    """
    sys.modules.setdefault("__mp_main__", sys.modules["__main__"])
    return main_file()


def names_main(pickled: Any) -> bool:
    """Return whether a pickle may refer to the main module by name."""
    return _NAME.search(pickled) is not None


def use_file(file: str | None) -> None:
    """In a worker process, set the file to import when a pickle refers to the main module.

    Parameters
    ----------
    file : str, optional
        The result of `file_for_workers()` in the parent process; None if the parent sends objects
        of its main module by value.
    """
    global _file
    _file = file


def loads(pickled: Any, buffers: Iterable[Any] = ()) -> Any:
    """Unpickle; in a worker process, import the main module first if the pickle refers to it."""
    if _file is not None and not _imported and names_main(pickled):
        if _failure is not None:  # the script must not run again for each object
            raise _failure
        _import(_file)
    return pickle.loads(pickled, buffers=buffers)


def importing() -> bool:
    """Return whether this is a worker process that is importing the main module."""
    return _importing


def _import(file: str) -> None:
    global _importing, _imported, _failure
    from multiprocessing import spawn

    _importing = True
    try:
        spawn.prepare({"init_main_from_path": file})
    except Exception as error:
        _failure = error
        raise
    finally:
        _importing = False
    _imported = True


_file: str | None = None
_importing = False
_imported = False
_failure: Exception | None = None  # of the import
