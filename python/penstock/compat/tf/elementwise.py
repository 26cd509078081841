"""Functions of tensors made of NumPy's functions of arrays, value by value."""

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
    """Return a function of one tensor."""

    def call(x: Any, name: str | None = None) -> Any:
        if type(x) is Tensor:
            made = function(x.view(_array))
            return made.view(Tensor) if type(made) is _array else tensor(made)
        return tensor(function(tensor(x)))

    return _named(call, name, module, f"Return NumPy's `{function.__name__}` of each value.")


def of_two(name: str, operator: str, module: str) -> Callable[..., Any]:
    """Return a function of two tensors: an operator, by the name of its method."""

    def call(x: Any, y: Any, name: str | None = None) -> Any:
        # A number of Python takes the type of the other one, so that one must be on the left.
        x, y = in_one_type([x, y])
        try:
            return tensor(getattr(tensor(x, getattr(y, "dtype", None)), operator)(y))
        except ValueError as error:  # shapes that do not fit
            raise_translated(error)

    return _named(call, name, module, f"Return ``x.{operator}(y)`` for each pair of values.")


def of_two_ufunc(name: str, function: Any, module: str) -> Callable[..., Any]:
    """Return a function of two tensors: one of NumPy's."""

    def call(x: Any, y: Any, name: str | None = None) -> Any:
        try:
            if type(x) is Tensor and _keeps_type(x, y):
                made = function(x.view(_array), y.view(_array) if type(y) is Tensor else y)
            else:
                made = function(*in_one_type([x, y]))
            return made.view(Tensor) if type(made) is _array else tensor(made)
        except ValueError as error:  # shapes that do not fit
            raise_translated(error)

    return _named(
        call, name, module, f"Return NumPy's `{function.__name__}` of each pair of values."
    )


def _keeps_type(x: Tensor, y: Any) -> bool:
    """Return whether NumPy gives `y` the type of `x` by itself, as it does with Python's floats."""
    return type(y) is Tensor or (type(y) is float and _dtype(x).kind == "f")


def of_strings(strings: Any, function: Callable[[bytes], bytes]) -> Any:
    """Return what a function makes of each string."""
    texts = array(strings)
    made = np.empty(texts.shape, object)
    made.reshape(-1)[:] = [function(each) for each in texts.ravel().tolist()]
    return tensor(made)


def _named(call: Callable[..., Any], name: str, module: str, doc: str) -> Callable[..., Any]:
    call.__name__ = call.__qualname__ = name
    call.__module__ = module  # where pickle finds it
    call.__doc__ = doc
    return call


__dir__ = listing(globals())
