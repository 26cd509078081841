"""Calls of operations: immediate for values, recorded for symbols."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from operator import index
from typing import Any

import numpy as np

from penstock import _core
from penstock.errors import TraceError
from penstock.ops.python_values import ShapeSymbol
from penstock.ops.symbol import Symbol, current_trace, weakness_of

# Operations whose first input is bytes, which may be a buffer. For others a buffer is an array.
_OF_BYTES = (
    *("image.decode_", "image.extract_jpeg_shape", "image.is_jpeg"),
    *("io.decode_", "io.parse_", "io.tar_", "strings."),
)


def call(name: str, inputs: Sequence[Any], attributes: Mapping[str, Any] | None = None) -> Any:
    """Call the native operation `name`.

    Parameters
    ----------
    name : str
        The registered name.
    inputs : sequence
        Values, symbols, or flat sequences of numbers and symbols (such as a size). Everything that
        may depend on an element must be an input.
    attributes : mapping, optional
        Values that must be known when a function is traced.

    Returns
    -------
    array, or tuple of arrays
        One for each output; symbols while a function is traced.
    """
    attributes = attributes or {}
    trace = current_trace()
    if trace is None:
        values = list(inputs)
        if name.startswith(_OF_BYTES) and isinstance(values[0], (bytearray, memoryview)):
            values[0] = bytes(values[0])
        return _core.call_op(name, values, attributes)
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


def apply(op: _core.Op, inputs: Sequence[Any]) -> Any:
    """Call an unnamed operation: immediately for values, or record it for symbols."""
    trace = current_trace()
    if trace is None or not any(map(is_symbolic, inputs)):
        return op(list(inputs))
    return trace.call(op, [_stacked(value) if is_symbolic(value) else value for value in inputs])


def integers(value: Any) -> Any:
    """Return one or more integers as an array with one axis, for an operation."""
    if isinstance(value, Symbol):
        return value.sizes() if isinstance(value, ShapeSymbol) else value
    if not isinstance(value, (list, tuple, np.ndarray)):
        value = [value]
    if is_symbolic(value):
        return value
    if isinstance(value, np.ndarray) and value.ndim != 1:
        raise ValueError(f"whole numbers, one or a list of them, were expected, got {value!r}")
    return np.array([index(number) for number in value], np.int64)


def weakness(values: Sequence[Any]) -> list[int]:
    """Return which values are plain numbers, which take the type of the others."""
    return [weakness_of(value) for value in values]


def _stacked(value: Any) -> Any:
    if isinstance(value, Symbol):
        return value
    items = [_stacked(item) if is_symbolic(item) else np.asarray(item) for item in value]
    return call("stack", items, {"axis": 0})
