"""Libraries that are not installed with penstock: imported where needed, and their errors."""

from __future__ import annotations

import contextlib
import importlib
from collections.abc import Iterator
from typing import Any

from penstock.errors import DataError
from penstock.printable import printable


def library(stage: str, name: str, extra: str) -> Any:
    """Import a library.

    Parameters
    ----------
    stage : str
        For errors.
    name : str
        The module.
    extra : str
        The extra of penstock that installs it.

    Raises
    ------
    ModuleNotFoundError
        If it is not installed; it says how to install it.
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
    """Raise what a library raises while it reads a file as an error with the stage and the file.

    Parameters
    ----------
    stage : str
        The stage.
    file : str
        The file, as the user knows it.
    where : str
        The beginning of the text: the part that is read, or what was expected.

    Raises
    ------
    DataError
        For any exception of the library: libraries raise almost every class for damaged files.
    OSError, MemoryError, ImportError
        With a note, where the system or the environment is the reason.
    ValueError, TypeError, ...
        With a note, where the text begins with the name of the stage: an argument is wrong.
    """
    try:
        yield
    except Exception as error:
        found = as_data_error(stage, file, where, error)
        if found is error:
            raise
        raise found from error


def as_data_error(stage: str, file: str, where: str, error: Exception) -> Exception:
    """Return an error as `library_errors` raises it."""
    if isinstance(error, (DataError, ImportError)):
        return error
    text = printable(str(error))
    ours = text.startswith(f"{stage}: ")
    of_system = isinstance(error, OSError) and error.errno is not None
    if not (ours or of_system or isinstance(error, MemoryError)):
        return DataError(f"{stage}: {where}{text or type(error).__name__}", file)
    if printable(file) not in text:
        error.add_note(f"penstock: {stage}: {where}(file {printable(file)})")
    return error
