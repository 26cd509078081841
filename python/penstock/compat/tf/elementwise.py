"""Element-wise functions of tensors, based on NumPy functions."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from penstock.compat.errors import raise_translated
from penstock.compat.listing import listing
from penstock.compat.tensor import Tensor, array, in_one_type, tensor

_array = np.ndarray
_dtype = vars(np.ndarray)["dtype"].__get__


def of_one(name: str, function: Any, module: str) -> Callable[..., Any]:
    """Return a unary function of tensors."""

    def call(x: Any, name: str | None = None) -> Any:
        if type(x) is Tensor:
            made = function(x.view(_array))
            return made.view(Tensor) if type(made) is _array else tensor(made)
        return tensor(function(tensor(x)))

    return _named(call, name, module, f"Return NumPy's `{function.__name__}` of each value.")


def of_two(name: str, operator: str, module: str) -> Callable[..., Any]:
    """Return a binary function of tensors for an operator, given its method name."""

    def call(x: Any, y: Any, name: str | None = None) -> Any:
        # A Python number takes the type of the other operand, which must therefore be on the left.
        x, y = in_one_type([x, y])
        try:
            return tensor(getattr(tensor(x, getattr(y, "dtype", None)), operator)(y))
        except ValueError as error:  # shapes that do not match
            raise_translated(error)

    return _named(call, name, module, f"Return ``x.{operator}(y)`` for each pair of values.")


def of_two_ufunc(name: str, function: Any, module: str) -> Callable[..., Any]:
    """Return a binary function of tensors for a NumPy function."""

    def call(x: Any, y: Any, name: str | None = None) -> Any:
        try:
            if type(x) is Tensor and _keeps_type(x, y):
                made = function(x.view(_array), y.view(_array) if type(y) is Tensor else y)
            else:
                made = function(*in_one_type([x, y]))
            return made.view(Tensor) if type(made) is _array else tensor(made)
        except ValueError as error:  # shapes that do not match
            raise_translated(error)

    return _named(
        call, name, module, f"Return NumPy's `{function.__name__}` of each pair of values."
    )


def _keeps_type(x: Tensor, y: Any) -> bool:
    """Return whether NumPy automatically gives `y` the type of `x`, as for Python floats."""
    return type(y) is Tensor or (type(y) is float and _dtype(x).kind == "f")


def of_strings(strings: Any, function: Callable[[bytes], bytes]) -> Any:
    """Apply a function to each string."""
    texts = array(strings)
    made = np.empty(texts.shape, object)
    made.reshape(-1)[:] = [function(each) for each in texts.ravel().tolist()]
    return tensor(made)


def _named(call: Callable[..., Any], name: str, module: str, doc: str) -> Callable[..., Any]:
    call.__name__ = call.__qualname__ = name
    call.__module__ = module  # where pickle looks it up
    call.__doc__ = doc
    return call


__dir__ = listing(globals())
