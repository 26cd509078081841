"""How functions are called: arguments that do not fit, and calls that are awaited."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import Any

from penstock.exclusions import Ignored
from penstock.traits import folds


def arity_note(function: Callable[..., Any], stage: str, count: int, rng: bool) -> str:
    """Return a note for the TypeError of a call whose arguments do not fit.

    Parameters
    ----------
    function : callable
        The function.
    stage : str
        The stage that called it.
    count : int
        Number of positional arguments.
    rng : bool
        Whether a random generator was also passed.

    Returns
    -------
    str
        Empty if the function accepts such arguments, or its signature is unknown.
    """
    try:
        signature = inspect.signature(function)
    except (TypeError, ValueError):
        return ""
    try:
        signature.bind(*range(count), **({"rng": None} if rng else {}))
    except TypeError:
        pass
    else:
        return ""
    if folds(stage):
        return f"penstock: {stage} calls this function with {count} arguments"
    if count == 1:
        return (
            f"penstock: {stage} calls the function with one argument, the element; only elements "
            "that are tuples are spread over several"
        )
    names = ", ".join("abcdefgh"[:count]) if count <= 8 else "*parts"
    return (
        f"penstock: {stage} calls the function with {count} arguments, because an element is a "
        f"tuple of {count}: write it as lambda {names}: ..., or with one *argument for all of them"
    )


def is_coroutine_function(function: Callable[..., Any]) -> bool:
    """Return whether calls of a function, or of an object's __call__, return coroutines."""
    if isinstance(function, Ignored):
        function = function.value
    return inspect.iscoroutinefunction(function) or inspect.iscoroutinefunction(
        type(function).__call__
    )
