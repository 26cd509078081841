"""Start worker processes: forks of a server that has imported their modules."""

from __future__ import annotations

import sys
from collections.abc import Iterable
from types import FunctionType, ModuleType
from typing import Any, NamedTuple

# Modules that every worker imports, and those of DataLoader workers.
_ALWAYS = (
    *("penstock.workers.process_function", "penstock.workers.answering", "cloudpickle"),
    "penstock.data_loader.in_worker",
)
# Modules that are slow to import, but start no thread during import.
_SLOW = ("torch",)
_MOST_MODULES = 300  # maximum number of modules to examine


class Command(NamedTuple):
    """The commands that start a worker process.

    Attributes
    ----------
    spawn : list of str
        A program and its arguments, for a new interpreter.
    server : list of str
        A program and its arguments for a fork server; empty for no server.
    entry : str
        The module whose `serve` the worker calls.
    """

    spawn: list[str]
    server: list[str]
    entry: str


def command(entry: str, spawns: bool = False) -> Command:
    """Return the commands for a worker process that runs a module's `serve`.

    Parameters
    ----------
    entry : str
        The module.
    spawns : bool
        Whether to start a new interpreter for each worker, without a fork server.
    """
    if spawns or sys.platform != "linux":
        return Command(_program(entry, "serve()"), [], entry)
    server = _program("penstock.workers.fork_server", f"serve({_preloaded()!r})")
    return Command(_program(entry, "serve()"), server, entry)


def note_needs(objects: Iterable[Any]) -> None:
    """Make the fork server import the slow modules that a pickle refers to by name.

    Parameters
    ----------
    objects : iterable
        Functions, classes and modules.
    """
    for slow in _SLOW:
        if slow not in _needed and slow in sys.modules and _need(objects, slow):
            _needed.append(slow)


def _need(objects: Iterable[Any], slow: str) -> bool:
    modules: list[str] = []
    for each in objects:
        if isinstance(each, ModuleType):
            modules.append(each.__name__)
            continue
        modules.append(str(getattr(each, "__module__", "")))
        functions = vars(each).values() if isinstance(each, type) else (each,)
        for function in functions:
            if isinstance(function, FunctionType) and slow in function.__code__.co_names:
                return True
    return _import(modules, slow)


def _import(modules: list[str], slow: str) -> bool:
    """Return whether one of these modules is, or has imported, `slow` or a part of it."""
    seen = {*_ASIDE, *sys.stdlib_module_names}
    while modules and len(seen) < _MOST_MODULES + len(sys.stdlib_module_names):
        name = modules.pop()
        if name.partition(".")[0] == slow:
            return True
        module = sys.modules.get(name)
        if name in seen or name.partition(".")[0] in seen or module is None:
            continue
        seen.add(name)
        for value in list(vars(module).values()):
            if isinstance(value, ModuleType):
                modules.append(value.__name__)
            elif isinstance(value, (type, FunctionType)):
                modules.append(str(value.__module__))
    return False


def _preloaded() -> list[str]:
    """Return the modules that the fork server imports: those of workers, and the user's list."""
    asked: list[str] = []
    stdlib = sys.modules.get("multiprocessing.forkserver")
    if stdlib is not None:  # multiprocessing's set_forkserver_preload keeps its list there
        server = getattr(stdlib, "_forkserver", None)
        asked = [str(name) for name in getattr(server, "_preload_modules", ())]
    names = dict.fromkeys([*_ALWAYS, *_needed, *asked])
    return [name for name in names if name != "__main__"]


def _program(module: str, call: str) -> list[str]:
    import subprocess

    program = f"import sys; sys.path[:] = {sys.path!r}; from {module} import serve; {call}"
    options = subprocess._args_from_interpreter_flags()  # type: ignore[attr-defined]
    return [sys.executable, *options, "-c", program]


_needed: list[str] = []
_ASIDE = ("numpy", "penstock", "")
