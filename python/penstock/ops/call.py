"""Calling an operation: on values at once, on symbols by noting it down."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from penstock import _core
from penstock.errors import TraceError
from penstock.ops.symbol import Symbol, current_trace


def call(name: str, inputs: Sequence[Any], attributes: Mapping[str, Any] | None = None) -> Any:
    """Call the native operation `name`.

    Parameters
    ----------
    name : str
        The name it is registered under.
    inputs : sequence
        Values, or symbols, or flat sequences of numbers with symbols among them (a size for
        example). Whatever may depend on an element is an input.
    attributes : mapping, optional
        What must be known beforehand.

    Returns
    -------
    array, or tuple of arrays
        One for each output; symbols while a function is traced.
    """
    attributes = attributes or {}
    trace = current_trace()
    if trace is None:
        return _core.call_op(name, list(inputs), attributes)
    for attribute, value in attributes.items():
        if is_symbolic(value):
            raise TraceError(
                f"{name.split('.')[-1]}: {attribute} must be known when the function is traced; "
                "drop @ps.native to run it as Python"
            )
    if not any(map(is_symbolic, inputs)):
        op = _core.Op(name, attributes)
        if not op.random:
            return _core.call_op(name, list(inputs), attributes)
    else:
        op = _core.Op(name, attributes)
    values = [_stacked(value) if is_symbolic(value) else value for value in inputs]
    return trace.call(op, values, attributes.get("seed"))


def is_symbolic(value: Any) -> bool:
    """Return whether a value is a symbol, or a sequence with symbols among its items."""
    if isinstance(value, (tuple, list)):
        return any(map(is_symbolic, value))
    return isinstance(value, Symbol)


def _stacked(value: Any) -> Any:
    if isinstance(value, Symbol):
        return value
    items = [_stacked(item) if is_symbolic(item) else np.asarray(item) for item in value]
    return call("stack", items, {"axis": 0})
