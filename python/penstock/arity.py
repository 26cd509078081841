"""How functions are called: what a TypeError of a call is about, and which calls are awaited."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import Any

from penstock.exclusions import Ignored
from penstock.traits import folds


def arity_note(function: Callable[..., Any], stage: str, count: int, rng: bool) -> str:
    """Return what to add to the TypeError of a call that could not begin.

    Parameters
    ----------
    function : callable
        What was called.
    stage : str
        Who called it.
    count : int
        With how many arguments.
    rng : bool
        Whether there was a generator beside them.

    Returns
    -------
    str
        Empty when the function takes such arguments, or does not say what it takes.
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
    """Return whether calls of a function return coroutines: an object may have such a __call__."""
    if isinstance(function, Ignored):
        function = function.value
    return inspect.iscoroutinefunction(function) or inspect.iscoroutinefunction(
        type(function).__call__
    )
