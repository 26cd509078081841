"""The datasets of a program, for commands that are given one."""

from __future__ import annotations

import importlib
import runpy
import sys
from pathlib import Path
from typing import Any, NamedTuple

from penstock.dataset import Dataset

ARGUMENT = "FILE_OR_MODULE[:NAME]"
HELP = (
    "NAME is a dataset, or a function without arguments that returns one; else all datasets that "
    "are global variables"
)
IMPORTED = (
    "The program is imported: what starts its work has to stand under `if __name__ == '__main__':`."
)


class NotFoundError(Exception):
    """There is no such program or dataset."""


class Program(NamedTuple):
    """What was found: datasets by their names, and the text of the program."""

    datasets: dict[str, Dataset]
    source: str


def load(command: str, program: str) -> Program:
    """Import a program and return its datasets.

    Parameters
    ----------
    command : str
        What errors begin with.
    program : str
        A file or module, perhaps with a name in it: see ``HELP``.

    Raises
    ------
    NotFoundError
        If there is none.
    """
    target, name, variables, source = _run(command, program)
    if not name:
        datasets = {
            name: value
            for name, value in variables.items()
            if isinstance(value, Dataset) and not name.startswith("_")
        }
        if not datasets:
            raise NotFoundError(
                f"{command}: {target} has no dataset among its global variables; name a function "
                f"that returns one: {target}:make_dataset"
            )
        return Program(datasets, source)
    value = variables.get(name)
    if value is None:
        raise NotFoundError(f"{command}: {target} has no {name!r}")
    if not isinstance(value, Dataset) and callable(value):
        value = value()
    if not isinstance(value, Dataset):
        raise NotFoundError(
            f"{command}: {name} must be a Dataset, or a function that returns one, got "
            f"{value!r:.80}"
        )
    return Program({name: value}, source)


def _run(command: str, program: str) -> tuple[str, str, dict[str, Any], str]:
    """Return the program, the name that is asked for, its global variables, and its text."""
    target, colon, name = program.rpartition(":")
    if not colon or (len(target) == 1 and name[:1] in "/\\"):  # a drive of Windows
        target, name = program, ""
    if target.endswith(".py"):
        path = Path(target)
        if not path.is_file():
            raise NotFoundError(f"{command}: there is no file {target}")
        sys.path.insert(0, str(path.resolve().parent))
        variables = runpy.run_path(target, run_name=f"__penstock_{command}__")
        return target, name, variables, path.read_text()
    sys.path.insert(0, "")
    try:
        module = importlib.import_module(target)
    except ModuleNotFoundError as error:
        if error.name and not target.startswith(error.name):
            raise
        raise NotFoundError(f"{command}: there is no module {target}; files end with .py") from None
    file = getattr(module, "__file__", None)
    return target, name, vars(module), Path(file).read_text() if file else ""
