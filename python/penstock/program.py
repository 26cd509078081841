"""Find the datasets and loaders of a program, for commands."""

from __future__ import annotations

import importlib
import importlib.util
import inspect
import os
import runpy
import sys
import tokenize
import traceback
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NamedTuple

from penstock.loaders import is_loader, outermost

ARGUMENT = "FILE_OR_MODULE[:NAME]"
HELP = (
    "NAME is a dataset or a loader (the result of to_torch() or the like, a penstock or PyTorch "
    "DataLoader), or a function without arguments that returns one; without NAME, all global "
    "variables that are one"
)
IMPORTED = (
    "The program is imported: what starts its work has to stand under `if __name__ == '__main__':`."
)
_OURS = str(Path(__file__).parent) + os.sep
_LOADERS = ("<frozen runpy>", "<frozen importlib", "runpy.py")


class NotFoundError(Exception):
    """The program or dataset does not exist, or fails."""


class Program(NamedTuple):
    """The datasets and loaders of a program by name, and its source text."""

    loaders: dict[str, Any]
    source: str


def load(command: str, program: str) -> Program:
    """Import a program and return its datasets and loaders.

    A dataset that is iterated by a loader of the program is omitted.

    Parameters
    ----------
    command : str
        The beginning of error messages.
    program : str
        A file or module, with an optional name in it: see ``HELP``.

    Raises
    ------
    NotFoundError
        If nothing is found, or the program fails.
    """
    target, name = _parts(program)
    variables, source = _run(command, target)
    if not name:
        loaders = {
            name: value
            for name, value in variables.items()
            if not name.startswith("_") and is_loader(value)
        }
        if not loaders:
            raise NotFoundError(
                f"{command}: {target} has no dataset or loader among its global variables; name a "
                f"function that returns one: {target}:make_dataset"
            )
        return Program(outermost(loaders), source)
    value = variables.get(name)
    if value is None:
        raise NotFoundError(f"{command}: {target} has no {name!r}")
    if not is_loader(value) and callable(value):
        _check_no_arguments(command, name, value)
        with _failing(f"{command}: {name} of {target} failed"):
            value = value()
    if not is_loader(value):
        raise NotFoundError(
            f"{command}: {name} must be a Dataset or a loader, or a function that returns one, got "
            f"{value!r:.80}"
        )
    return Program({name: value}, source)


def failure(error: BaseException) -> str:
    """Format an exception as Python does, but only with frames of the user's code."""
    shown = traceback.TracebackException.from_exception(error)
    todo = [shown]
    while todo:
        each = todo.pop()
        own = [frame for frame in each.stack if not _is_ours(frame.filename)]
        each.stack = traceback.StackSummary.from_list(own)
        todo += [more for more in (each.__cause__, each.__context__) if more is not None]
    # A heading without frames is useless.
    return "".join(shown.format() if shown.stack else shown.format_exception_only()).rstrip()


def _is_ours(file: str) -> bool:
    return file.startswith((_OURS, *_LOADERS[:2])) or Path(file).name == _LOADERS[2]


def _parts(program: str) -> tuple[str, str]:
    """Split into the file or module, and the name in it."""
    target, colon, name = program.rpartition(":")
    if not colon or (len(target) == 1 and name[:1] in ("/", "\\")):  # a Windows drive
        return program, ""
    return target, name


def _check_no_arguments(command: str, name: str, function: Any) -> None:
    try:
        signature = inspect.signature(function)
    except (TypeError, ValueError):  # the signature is unknown
        return
    try:
        signature.bind()
    except TypeError:
        raise NotFoundError(
            f"{command}: {name}{signature} takes arguments; name a function without any, which "
            "calls it with yours"
        ) from None


def _run(command: str, target: str) -> tuple[dict[str, Any], str]:
    """Return the global variables of a program, and its source text."""
    path = Path(target)
    if not target.endswith(".py"):
        return _import(command, target)
    if not path.is_file():
        raise NotFoundError(f"{command}: there is no file {target}")
    sys.path.insert(0, str(path.resolve().parent))
    with _failing(f"{command}: {target} failed"):
        source = _text(target)
        return runpy.run_path(target, run_name=f"__penstock_{command}__"), source


def _import(command: str, target: str) -> tuple[dict[str, Any], str]:
    if not target:
        raise NotFoundError(f"{command}: no program was named; expected {ARGUMENT}")
    sys.path.insert(0, "")
    names = target.split(".")
    if not all(name.isidentifier() for name in names):
        if not Path(target).exists():
            raise NotFoundError(f"{command}: there is no {target}; files end with .py")
        what = "a folder" if Path(target).is_dir() else "no file of Python"
        raise NotFoundError(f"{command}: {target} is {what}; files end with .py")
    # Avoids running `side.py` for the argument `side.txt`.
    if Path(target).is_file():
        raise NotFoundError(f"{command}: {target} is no file of Python; files end with .py")
    found = importlib.util.find_spec(names[0])
    if found is None or (len(names) > 1 and found.submodule_search_locations is None):
        raise NotFoundError(f"{command}: there is no module {target}; files end with .py")
    with _failing(f"{command}: {target} failed"):
        try:
            module = importlib.import_module(target)
        except ModuleNotFoundError as error:
            if not error.name or not f"{target}.".startswith(f"{error.name}."):
                raise
            raise NotFoundError(
                f"{command}: there is no module {target}; files end with .py"
            ) from None
        file = getattr(module, "__file__", None) or ""
        return vars(module), _text(file) if file.endswith(".py") else ""


def _text(file: str) -> str:
    with tokenize.open(file) as opened:  # honours the encoding declaration
        return opened.read()


@contextmanager
def _failing(what: str) -> Iterator[None]:
    """Convert an error of the user's code to NotFoundError."""
    try:
        yield
    except NotFoundError:
        raise
    except SystemExit as error:
        raise NotFoundError(f"{what}: it has called sys.exit({error.code!r})") from None
    except Exception as error:
        raise NotFoundError(f"{what}:\n{failure(error)}") from None
