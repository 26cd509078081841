"""Labels of stages in addition to their kind: their names, and those of their functions."""

from __future__ import annotations

import functools
from collections.abc import Mapping
from typing import Any

from penstock.printable import printable

# Arguments that are functions although their names do not end in "_func".
_FUNCTIONS = ("generator", "handler", "predicate")
_MOST_WRAPPED = 8


def function_name(function: Any) -> str:
    """Return the name of a function for users.

    Parameters
    ----------
    function : callable
        A function, a method, a `functools.partial`, or any callable object.

    Returns
    -------
    str
        ``"load"``, ``"Loader.get"``, ``"<lambda>"``; for other objects, the name of their class.
    """
    # Without the functions that enclose its definition.
    return printable(_qualified_name(innermost(function)).rpartition("<locals>.")[2])


def innermost(function: Any) -> Any:
    """Return the function inside wrappers and partial calls."""
    for _ in range(_MOST_WRAPPED):  # some objects have every attribute
        if isinstance(function, functools.partial) and "stands_for" in vars(function):
            function = vars(function)["stands_for"]  # the user's object in penstock's own partial
        elif isinstance(function, functools.partial):
            function = function.func
        elif (inner := getattr(function, "__wrapped__", None)) is not None:
            function = inner
        else:
            break
    return function


def _qualified_name(function: Any) -> str:
    name = getattr(function, "__qualname__", None) or getattr(function, "__name__", None)
    return str(name or type(function).__qualname__)


def is_internal(function: Any) -> bool:
    """Return whether a function is one of penstock's that users cannot name."""
    function = innermost(function)
    if not str(getattr(function, "__module__", None)).startswith("penstock."):
        return False
    if getattr(function, "__qualname__", None) is None:  # a callable object
        return not hasattr(function, "__name__")
    name = _qualified_name(function)
    return "<locals>" in name or any(part.startswith("_") for part in name.split("."))


def label_args(kind: str, args: Mapping[str, Any], name: Any) -> dict[str, str]:
    """Return the labels that the engine shows in errors, statistics and traces.

    Raises
    ------
    TypeError
        If `name` is not a str.
    """
    if name is not None and not isinstance(name, str):
        raise TypeError(f"{kind}: name must be a str, got {name!r}")
    label: dict[str, str] = {} if not name else {"name": name}
    names = [
        function_name(value)
        for argument, value in args.items()
        if callable(value)
        and (argument.endswith("_func") or argument in _FUNCTIONS)
        and not is_internal(value)
    ]
    known = [each for each in names if not each.startswith("<")]
    if names:
        label["function"] = ", ".join(dict.fromkeys(known or names))
    return label


def stage_label(kind: str, function: str | None, name: str | None) -> str:
    """Return the label in notes and traces: ``"map(load, name='decode')"``; StageLabel in C++."""
    inside = [] if function is None or function.startswith("<") else [function]
    if name is not None:
        inside.append(f"name='{name}'")
    return f"{kind}({', '.join(inside)})" if inside else kind
