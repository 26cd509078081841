"""tf.math: elementwise functions and sums, by NumPy and penstock."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from penstock.compat.calling import port_all
from penstock.compat.listing import listing
from penstock.compat.tensor import Tensor, alike, tensor
from penstock.compat.tf.arrays import argmax, argmin
from penstock.ops import array as _array

_ONE = {
    "abs": np.abs,
    "acos": np.arccos,
    "asin": np.arcsin,
    "atan": np.arctan,
    "ceil": np.ceil,
    "conj": np.conj,
    "cos": np.cos,
    "cosh": np.cosh,
    "exp": np.exp,
    "expm1": np.expm1,
    "floor": np.floor,
    "is_finite": np.isfinite,
    "is_inf": np.isinf,
    "is_nan": np.isnan,
    "log": np.log,
    "log1p": np.log1p,
    "logical_not": np.logical_not,
    "negative": np.negative,
    "reciprocal": np.reciprocal,
    "rint": np.rint,
    "round": np.rint,
    "sign": np.sign,
    "sin": np.sin,
    "sinh": np.sinh,
    "sqrt": np.sqrt,
    "square": np.square,
    "tan": np.tan,
    "tanh": np.tanh,
}
_TWO = {
    "add": "__add__",
    "divide": "__truediv__",
    "equal": "__eq__",
    "floordiv": "__floordiv__",
    "floormod": "__mod__",
    "greater": "__gt__",
    "greater_equal": "__ge__",
    "less": "__lt__",
    "less_equal": "__le__",
    "mod": "__mod__",
    "multiply": "__mul__",
    "not_equal": "__ne__",
    "pow": "__pow__",
    "subtract": "__sub__",
    "truediv": "__truediv__",
}
_TWO_UFUNCS = {
    "atan2": np.arctan2,
    "logical_and": np.logical_and,
    "logical_or": np.logical_or,
    "logical_xor": np.logical_xor,
    "maximum": np.maximum,
    "minimum": np.minimum,
}


def _of_one(name: str, function: Any) -> Callable[..., Any]:
    def call(x: Any, name: str | None = None) -> Any:
        if type(x) is Tensor:
            made = function(x.view(np.ndarray))
            return made.view(Tensor) if type(made) is np.ndarray else tensor(made)
        return tensor(function(tensor(x)))

    call.__name__ = call.__qualname__ = name
    call.__doc__ = f"Return NumPy's `{function.__name__}` of each value."
    return call


def _of_two(name: str, operator: str) -> Callable[..., Any]:
    def call(x: Any, y: Any, name: str | None = None) -> Any:
        # A number of Python takes the type of the other one, so that one must be on the left.
        x, y = alike([x, y])
        return tensor(getattr(tensor(x, getattr(y, "dtype", None)), operator)(y))

    call.__name__ = call.__qualname__ = name
    call.__doc__ = f"Return ``x.{operator}(y)`` for each pair of values."
    return call


def _of_two_ufunc(name: str, function: np.ufunc) -> Callable[..., Any]:
    def call(x: Any, y: Any, name: str | None = None) -> Any:
        return tensor(function(*alike([x, y])))

    call.__name__ = call.__qualname__ = name
    call.__doc__ = f"Return NumPy's `{function.__name__}` of each pair of values."
    return call


for _name, _function in _ONE.items():
    globals()[_name] = _of_one(_name, _function)
for _name, _operator in _TWO.items():
    globals()[_name] = _of_two(_name, _operator)
for _name, _ufunc in _TWO_UFUNCS.items():
    globals()[_name] = _of_two_ufunc(_name, _ufunc)
port_all(globals(), _array, [name for name in _array.__all__ if name.startswith("reduce_")])

# What is also tf's own: tf.add is tf.math.add.
NAMES = [
    *(name for name in (*_ONE, *_TWO, *_TWO_UFUNCS) if name not in ("conj", "reciprocal")),
    *("add_n", "cumsum", "matmul", "reduce_prod", "sigmoid"),
]


def rsqrt(x: Any, name: str | None = None) -> Any:
    """Return one over the square root of each value."""
    x = tensor(x)
    return x.dtype.type(1) / np.sqrt(x)


def sigmoid(x: Any, name: str | None = None) -> Any:
    """Return ``1 / (1 + exp(-x))`` of each value."""
    x = tensor(x)
    return x.dtype.type(1) / (x.dtype.type(1) + np.exp(-x))


def squared_difference(x: Any, y: Any, name: str | None = None) -> Any:
    """Return the square of the difference of each pair of values."""
    x, y = alike([x, y])
    return tensor(np.square(np.subtract(x, y)))


def divide_no_nan(x: Any, y: Any, name: str | None = None) -> Any:
    """Return quotients, and 0 where the divisor is 0."""
    x, y = map(tensor, alike([x, y]))
    quotient = np.zeros(np.broadcast_shapes(np.shape(x), np.shape(y)), np.result_type(x, y))
    return tensor(np.divide(x, y, out=quotient, where=np.asarray(y) != 0))


def matmul(
    a: Any, b: Any, transpose_a: bool = False, transpose_b: bool = False, name: str | None = None
) -> Any:
    """Return the product of two matrices, or of two stacks of them."""
    x, y = map(tensor, alike([a, b]))
    if transpose_a:
        x = np.swapaxes(x, -1, -2)
    return x @ (np.swapaxes(y, -1, -2) if transpose_b else y)


def add_n(inputs: Any, name: str | None = None) -> Any:
    """Return the sum of several arrays."""
    first, *others = map(tensor, inputs)
    for other in others:
        first = first + other
    return first


def cumsum(x: Any, axis: int = 0, name: str | None = None) -> Any:
    """Return the sums up to each value along an axis."""
    x = tensor(x)
    return np.cumsum(x, axis, dtype=x.dtype)


def reduce_prod(
    input_tensor: Any, axis: Any = None, keepdims: bool = False, name: str | None = None
) -> Any:
    """Return the product of the values along axes, or of all."""
    x = tensor(input_tensor)
    return tensor(np.prod(x, _axes(axis), x.dtype, keepdims=keepdims))


def reduce_std(
    input_tensor: Any, axis: Any = None, keepdims: bool = False, name: str | None = None
) -> Any:
    """Return the standard deviation of the values along axes, or of all."""
    return tensor(np.std(tensor(input_tensor), _axes(axis), keepdims=keepdims))


def reduce_variance(
    input_tensor: Any, axis: Any = None, keepdims: bool = False, name: str | None = None
) -> Any:
    """Return the variance of the values along axes, or of all."""
    return tensor(np.var(tensor(input_tensor), _axes(axis), keepdims=keepdims))


def count_nonzero(
    input: Any, axis: Any = None, keepdims: bool = False, dtype: Any = np.int64
) -> Any:
    """Return how many values along axes, or of all, are not zero."""
    return tensor(np.count_nonzero(tensor(input), _axes(axis), keepdims=keepdims), dtype)


def l2_normalize(x: Any, axis: Any = None, epsilon: float = 1e-12, name: str | None = None) -> Any:
    """Return values divided by the root of the sum of their squares along axes."""
    x = tensor(x)
    squares = np.sum(np.square(x), _axes(axis), keepdims=True)
    return x / np.sqrt(np.maximum(squares, x.dtype.type(epsilon)))


def _axes(axis: Any) -> Any:
    return tuple(int(a) for a in axis) if np.ndim(axis) else axis


__all__ = ["argmax", "argmin"]

__dir__ = listing(globals())
