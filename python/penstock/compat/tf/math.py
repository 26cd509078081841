"""tf.math: element-wise functions and reductions, with NumPy and penstock."""

from __future__ import annotations

import functools
from typing import Any

import numpy as np

from penstock.compat.calling import port_all, ported
from penstock.compat.errors import InvalidArgumentError, raise_translated
from penstock.compat.listing import listing
from penstock.compat.tensor import array, in_one_type, tensor
from penstock.compat.tf import elementwise, segments, special
from penstock.compat.tf.arrays import argmax, argmin
from penstock.compat.tf.counting import bincount, confusion_matrix, in_top_k, top_k
from penstock.ops import array as _array

_ONE = {
    "abs": np.abs,
    "acos": np.arccos,
    "acosh": np.arccosh,
    "asin": np.arcsin,
    "asinh": np.arcsinh,
    "atan": np.arctan,
    "atanh": np.arctanh,
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
    "logical_and": np.logical_and,
    "logical_or": np.logical_or,
    "logical_xor": np.logical_xor,
    "maximum": np.maximum,
    "minimum": np.minimum,
}


for _name, _function in _ONE.items():
    globals()[_name] = elementwise.of_one(_name, _function, __name__)
for _name, _operator in _TWO.items():
    globals()[_name] = elementwise.of_two(_name, _operator, __name__)
for _name, _ufunc in _TWO_UFUNCS.items():
    globals()[_name] = elementwise.of_two_ufunc(_name, _ufunc, __name__)
_atan2 = elementwise.of_two_ufunc("atan2", np.arctan2, __name__)
_nextafter = elementwise.of_two_ufunc("nextafter", np.nextafter, __name__)
port_all(globals(), _array, [name for name in _array.__all__ if name.startswith("reduce_")])


def _of_none(greatest: bool, error: Exception, *args: Any, **kwargs: Any) -> Any:
    """Return the minimum or maximum of a type, as the result for an empty reduction."""
    given = dict(zip(("input_tensor", "axis", "keepdims"), args, strict=False)) | kwargs
    x = array(given["input_tensor"])
    if x.size or x.dtype.kind not in "iuf":
        raise_translated(error)
    if x.dtype.kind == "f":
        first = -np.inf if greatest else np.inf
    else:
        limits = np.iinfo(x.dtype)
        first = limits.min if greatest else limits.max
    ufunc = np.maximum if greatest else np.minimum
    axes = _axes(given.get("axis"))
    return tensor(ufunc.reduce(x, axes, keepdims=given.get("keepdims", False), initial=first))


reduce_max = ported(_array.reduce_max, refused=functools.partial(_of_none, True))
reduce_min = ported(_array.reduce_min, refused=functools.partial(_of_none, False))
globals().update({name: getattr(segments, name) for name in segments.NAMES})
globals().update({name: getattr(special, name) for name in special.NAMES})

# Names that tf also has: tf.add is tf.math.add.
NAMES = [
    *("abs", "acos", "acosh", "asin", "asinh", "atan", "atanh", "cos", "cosh", "exp", "floor"),
    *("logical_not", "negative", "round", "sign", "sin", "sinh", "sqrt", "square", "tan", "tanh"),
    *("add", "add_n", "atan2", "cumsum", "divide", "equal", "greater", "greater_equal", "less"),
    *("less_equal", "logical_and", "logical_or", "maximum", "minimum", "multiply", "not_equal"),
    *("pow", "reduce_logsumexp", "reduce_max", "reduce_min", "reduce_prod", "scalar_mul"),
    *("sigmoid", "subtract", "truediv"),
]


def angle(input: Any, name: str | None = None) -> Any:
    """Return the angle of each complex number, in radians."""
    return tensor(np.angle(array(input)))


def atan2(y: Any, x: Any, name: str | None = None) -> Any:
    """Return the angle of each point ``(x, y)``, in radians."""
    return _atan2(y, x)


def imag(input: Any, name: str | None = None) -> Any:
    """Return the imaginary part of each complex number."""
    return tensor(np.imag(array(input)))


def nextafter(x1: Any, x2: Any, name: str | None = None) -> Any:
    """Return the next representable number after each value, in the direction of another."""
    return _nextafter(x1, x2)


def real(input: Any, name: str | None = None) -> Any:
    """Return the real part of each complex number."""
    return tensor(np.real(array(input)))


def rsqrt(x: Any, name: str | None = None) -> Any:
    """Return the reciprocal square root of each value."""
    x = tensor(x)
    return x.dtype.type(1) / np.sqrt(x)


def sigmoid(x: Any, name: str | None = None) -> Any:
    """Return ``1 / (1 + exp(-x))`` for each value."""
    x = tensor(x)
    return x.dtype.type(1) / (x.dtype.type(1) + np.exp(-x))


def squared_difference(x: Any, y: Any, name: str | None = None) -> Any:
    """Return the squared difference of each pair of values."""
    x, y = in_one_type([x, y])
    return tensor(np.square(np.subtract(x, y)))


def divide_no_nan(x: Any, y: Any, name: str | None = None) -> Any:
    """Return quotients, with 0 where the divisor is 0."""
    x, y = map(tensor, in_one_type([x, y]))
    quotient = np.zeros(np.broadcast_shapes(np.shape(x), np.shape(y)), np.result_type(x, y))
    return tensor(np.divide(x, y, out=quotient, where=np.asarray(y) != 0))


def add_n(inputs: Any, name: str | None = None) -> Any:
    """Return the sum of several arrays."""
    first, *others = map(tensor, inputs)
    for other in others:
        first = first + other
    return first


def cumsum(
    x: Any, axis: int = 0, exclusive: bool = False, reverse: bool = False, name: str | None = None
) -> Any:
    """Return cumulative sums along an axis.

    Parameters
    ----------
    x : array_like
        The values.
    axis : int
        The axis.
    exclusive : bool
        Whether to exclude the value itself, so that the first sum is 0.
    reverse : bool
        Whether to start at the end.
    name : str, optional
        A label without effect.
    """
    return _cumulated(np.add, x, axis, exclusive, reverse)


def cumprod(
    x: Any, axis: int = 0, exclusive: bool = False, reverse: bool = False, name: str | None = None
) -> Any:
    """Return cumulative products along an axis; parameters as in `cumsum`."""
    return _cumulated(np.multiply, x, axis, exclusive, reverse)


def cumulative_logsumexp(
    x: Any, axis: int = 0, exclusive: bool = False, reverse: bool = False, name: str | None = None
) -> Any:
    """Return the logarithms of cumulative sums of ``exp(x)``; parameters as in `cumsum`."""
    return _cumulated(np.logaddexp, x, axis, exclusive, reverse)


def _cumulated(ufunc: np.ufunc, x: Any, axis: Any, exclusive: bool, reverse: bool) -> Any:
    if ufunc is np.add and not (exclusive or reverse):
        x = tensor(x)
        return tensor(np.cumsum(x, int(axis), dtype=x.dtype))
    values = np.moveaxis(array(x), int(axis), 0)
    values = values[::-1] if reverse else values
    made = ufunc.accumulate(values, 0, values.dtype)
    if exclusive and len(made):
        first = -np.inf if ufunc.identity is None else ufunc.identity
        made = np.concatenate([np.full_like(made[:1], first), made[:-1]])
    return tensor(np.moveaxis(made[::-1] if reverse else made, 0, int(axis)))


def reduce_prod(
    input_tensor: Any, axis: Any = None, keepdims: bool = False, name: str | None = None
) -> Any:
    """Return the product of the values along axes, or of all values."""
    x = tensor(input_tensor)
    return tensor(np.prod(x, _axes(axis), x.dtype, keepdims=keepdims))


def reduce_std(
    input_tensor: Any, axis: Any = None, keepdims: bool = False, name: str | None = None
) -> Any:
    """Return the standard deviation of the values along axes, or of all values."""
    return tensor(np.std(tensor(input_tensor), _axes(axis), keepdims=keepdims))


def reduce_variance(
    input_tensor: Any, axis: Any = None, keepdims: bool = False, name: str | None = None
) -> Any:
    """Return the variance of the values along axes, or of all values."""
    return tensor(np.var(tensor(input_tensor), _axes(axis), keepdims=keepdims))


def count_nonzero(
    input: Any,
    axis: Any = None,
    keepdims: bool = False,
    dtype: Any = np.int64,
    name: str | None = None,
) -> Any:
    """Return the number of non-zero values along axes, or of all values."""
    return tensor(np.count_nonzero(tensor(input), _axes(axis), keepdims=keepdims), dtype)


def l2_normalize(
    x: Any, axis: Any = None, epsilon: float = 1e-12, name: str | None = None, dim: Any = None
) -> Any:
    """Return values divided by their Euclidean norm along axes.

    `dim` is an older name of `axis`.
    """
    x = tensor(x)
    squares = np.sum(np.square(x), _axes(dim if axis is None else axis), keepdims=True)
    return x / np.sqrt(np.maximum(squares, x.dtype.type(epsilon)))


def reduce_logsumexp(
    input_tensor: Any, axis: Any = None, keepdims: bool = False, name: str | None = None
) -> Any:
    """Return the logarithm of the sum of ``exp(x)`` along axes, or of all values."""
    x = array(input_tensor)
    kept: Any = bool(keepdims)
    return tensor(np.logaddexp.reduce(x, _axes(axis), x.dtype, keepdims=kept))


def reduce_euclidean_norm(
    input_tensor: Any, axis: Any = None, keepdims: bool = False, name: str | None = None
) -> Any:
    """Return the Euclidean norm along axes, or of all values."""
    x = array(input_tensor)
    squares = np.sum(np.square(np.abs(x)), _axes(axis), x.dtype, keepdims=keepdims)
    return tensor(np.sqrt(squares).astype(x.dtype))


def multiply_no_nan(x: Any, y: Any, name: str | None = None) -> Any:
    """Return products, with 0 where `y` is 0."""
    return _unless_zero(in_one_type([x, y])[1], np.multiply, x, y)


def xlogy(x: Any, y: Any, name: str | None = None) -> Any:
    """Return ``x * log(y)``, with 0 where `x` is 0."""
    return _unless_zero(x, lambda x, y: x * np.log(y), x, y)


def xlog1py(x: Any, y: Any, name: str | None = None) -> Any:
    """Return ``x * log(1 + y)``, with 0 where `x` is 0."""
    return _unless_zero(x, lambda x, y: x * np.log1p(y), x, y)


def xdivy(x: Any, y: Any, name: str | None = None) -> Any:
    """Return ``x / y``, with 0 where `x` is 0."""
    return _unless_zero(x, np.divide, x, y)


def reciprocal_no_nan(x: Any, name: str | None = None) -> Any:
    """Return reciprocals, with 0 where the value is 0."""
    return divide_no_nan(tensor(x).dtype.type(1), x)


def _unless_zero(tested: Any, function: Any, x: Any, y: Any) -> Any:
    """Return a function of pairs, with 0 where `tested` is 0."""
    x, y = (np.asarray(each) for each in in_one_type([x, y]))
    with np.errstate(all="ignore"):
        made = function(x, y)
    return tensor(np.where(array(tested) == 0, made.dtype.type(0), made))


def scalar_mul(scalar: Any, x: Any, name: str | None = None) -> Any:
    """Multiply an array by a number."""
    return tensor(x) * tensor(scalar, tensor(x).dtype)


def accumulate_n(
    inputs: Any, shape: Any = None, tensor_dtype: Any = None, name: str | None = None
) -> Any:
    """Return the sum of several arrays; see `add_n`."""
    return add_n(inputs)


def log_sigmoid(x: Any, name: str | None = None) -> Any:
    """Return the logarithm of the `sigmoid` of each value."""
    x = array(x)
    return tensor(-np.logaddexp(-x, x.dtype.type(0)))


def polyval(coeffs: Any, x: Any, name: str | None = None) -> Any:
    """Evaluate a polynomial, given its coefficients starting with the highest power."""
    if not isinstance(coeffs, list):
        raise ValueError(f"polyval: a list of coefficients was expected, got {type(coeffs)}")
    x = tensor(x)
    total = x * x.dtype.type(0)
    for coefficient in coeffs:
        total = total * x + coefficient
    return total


def zero_fraction(value: Any, name: str | None = None) -> Any:
    """Return the share of zeros as float32; NaN for an empty array."""
    values = array(value)
    return tensor(np.mean(values == 0) if values.size else np.nan, np.float32)


def invert_permutation(x: Any, name: str | None = None) -> Any:
    """Return the inverse of a permutation.

    Raises
    ------
    InvalidArgumentError
        If a number is missing.
    """
    x = array(x)
    if not np.array_equal(np.sort(x), np.arange(len(x))):
        raise InvalidArgumentError(None, None, f"invert_permutation: {x} is no permutation")
    return tensor(np.argsort(x).astype(x.dtype))


def is_non_decreasing(x: Any, name: str | None = None) -> Any:
    """Return whether no value is less than its predecessor."""
    x = np.ravel(array(x))
    return tensor(np.all(x[1:] >= x[:-1]))


def is_strictly_increasing(x: Any, name: str | None = None) -> Any:
    """Return whether every value is greater than its predecessor."""
    x = np.ravel(array(x))
    return tensor(np.all(x[1:] > x[:-1]))


def _axes(axis: Any) -> Any:
    return tuple(int(a) for a in axis) if np.ndim(axis) else axis


__all__ = ["argmax", "argmin", "bincount", "confusion_matrix", "in_top_k", "top_k"]

__dir__ = listing(globals())
