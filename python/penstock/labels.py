"""What a stage is called beside its kind: by the user, and by its functions."""

from __future__ import annotations

import functools
from collections.abc import Mapping
from typing import Any

from penstock.printable import printable

# Arguments that are functions, besides those that say so.
_FUNCTIONS = ("generator", "handler", "predicate")
_MOST_WRAPPED = 8


def function_name(function: Any) -> str:
    """Return the name of a function as users know it.

    Parameters
    ----------
    function : callable
        A function, a method, a `functools.partial`, an object that can be called.

    Returns
    -------
    str
        ``"load"``, ``"Loader.get"``, ``"<lambda>"``; of other objects the name of their class.
    """
    # Where it was defined is of no interest.
    return printable(_qualified_name(innermost(function)).rpartition("<locals>.")[2])


def innermost(function: Any) -> Any:
    """Return the function that wrappers and partial calls are made of."""
    for _ in range(_MOST_WRAPPED):  # some objects have every attribute
        if isinstance(function, functools.partial) and "stands_for" in vars(function):
            function = vars(function)["stands_for"]  # of which penstock makes the call
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
    """Return whether a function is penstock's own, and none that users can write down."""
    function = innermost(function)
    if not str(getattr(function, "__module__", None)).startswith("penstock."):
        return False
    if getattr(function, "__qualname__", None) is None:  # an object of a class that can be called
        return not hasattr(function, "__name__")
    name = _qualified_name(function)
    return "<locals>" in name or any(part.startswith("_") for part in name.split("."))


def label_args(kind: str, args: Mapping[str, Any], name: Any) -> dict[str, str]:
    """Return the labels that the engine shows in errors, statistics and traces.

    Raises
    ------
    TypeError
        If `name` is no str.
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
    """Return what notes and traces show: ``"map(load, name='decode')"``; StageLabel in C++."""
    inside = [] if function is None or function.startswith("<") else [function]
    if name is not None:
        inside.append(f"name='{name}'")
    return f"{kind}({', '.join(inside)})" if inside else kind
