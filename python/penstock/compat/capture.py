"""Capture the variables of lambdas when a dataset is defined, because TensorFlow traces then."""

from __future__ import annotations

import dis
import types
from collections.abc import Callable
from typing import Any

_STORES = frozenset({"STORE_DEREF", "DELETE_DEREF", "STORE_GLOBAL", "DELETE_GLOBAL"})


def captured(function: Callable[..., Any]) -> Callable[..., Any]:
    """Return a function whose closure variables keep their current values.

    Without it, ``for i in range(3): parts.append(ds.map(lambda x: (x, i)))`` labels all with 2.

    Parameters
    ----------
    function : callable
        The function that a program passed to a method of a dataset.

    Returns
    -------
    callable
        A copy, for a lambda or a local function that neither assigns to closure variables nor
        defines functions (`tf.py_function` calls those with the values at the time of the call).
        Other functions are returned unchanged.
    """
    if not isinstance(function, types.FunctionType) or "<l" not in function.__qualname__:
        return function
    code = function.__code__
    if any(isinstance(constant, types.CodeType) for constant in code.co_consts):
        return function
    instructions = list(dis.get_instructions(code))
    if any(each.opname in _STORES for each in instructions):
        return function
    named = {each.argval for each in instructions if each.opname == "LOAD_GLOBAL"}
    held = function.__globals__
    cells = function.__closure__
    try:
        closure = cells and tuple(types.CellType(cell.cell_contents) for cell in cells)
    except ValueError:  # a variable that is not assigned yet
        return function
    if any(name in held and not callable(held[name]) for name in named):
        held = dict(held)
    copy = types.FunctionType(code, held, function.__name__, function.__defaults__, closure)
    copy.__kwdefaults__ = function.__kwdefaults__
    copy.__qualname__ = function.__qualname__
    copy.__dict__.update(function.__dict__)
    return copy
