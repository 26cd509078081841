"""Optional libraries: imports on demand, and conversion of their errors."""

from __future__ import annotations

import contextlib
import importlib
import os
import re
from collections.abc import Iterator
from typing import Any

from penstock.errors import DataError
from penstock.printable import printable


def library(stage: str, name: str, extra: str) -> Any:
    """Import a library.

    Parameters
    ----------
    stage : str
        The stage, for errors.
    name : str
        The module.
    extra : str
        The extra of the penstock package that installs it.

    Raises
    ------
    ModuleNotFoundError
        If it is not installed; the message has the command that installs it.
    """
    try:
        return importlib.import_module(name)
    except ModuleNotFoundError as error:
        if error.name != name.partition(".")[0]:
            raise
        raise ModuleNotFoundError(
            f"{stage}: {error.name} is not installed; pip install 'penstock[{extra}]'",
            name=error.name,
        ) from None


@contextlib.contextmanager
def library_errors(stage: str, file: str, where: str = "") -> Iterator[None]:
    """Convert a library's exceptions while it reads a file to errors with stage and file.

    Parameters
    ----------
    stage : str
        The stage.
    file : str
        The name of the file, as the user wrote it.
    where : str
        The beginning of the message: the part of the file, or the expectation.

    Raises
    ------
    DataError
        For any other exception, because libraries raise almost any class for damaged files. Also
        for a MemoryError if more bytes were requested than this machine has.
    OSError, MemoryError, ImportError
        The same exception with a note, if the system or the environment is the cause.
    ValueError, TypeError, ...
        The same exception with a note, if the message begins with the stage: an argument is wrong.
    """
    try:
        yield
    except Exception as error:
        found = as_data_error(stage, file, where, error)
        if found is error:
            raise
        raise found from error


def as_data_error(stage: str, file: str, where: str, error: Exception) -> Exception:
    """Return the error that `library_errors` raises for an exception."""
    if isinstance(error, (DataError, ImportError)):
        return error
    text = printable(str(error))
    if isinstance(error, MemoryError) and _exceeds_memory(text):
        return DataError(f"{stage}: {where}the file is damaged: {text}", file)
    ours = text.startswith(f"{stage}: ")
    of_system = isinstance(error, OSError) and error.errno is not None
    if not (ours or of_system or isinstance(error, MemoryError)):
        return DataError(f"{stage}: {where}{text or type(error).__name__}", file)
    if printable(file) not in text:
        error.add_note(f"penstock: {stage}: {where}(file {printable(file)})")
    return error


def _exceeds_memory(text: str) -> bool:
    """Return whether pyarrow requested more bytes than this machine has."""
    found = re.match(r"(?:malloc|realloc) of size (\d+) failed", text)
    if found is None or not hasattr(os, "sysconf"):
        return False
    return int(found[1]) > os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
