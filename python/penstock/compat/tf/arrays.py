"""tf's array functions that penstock lacks: NumPy's, with TensorFlow's names and types."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NoReturn

import numpy as np

from penstock.compat.calling import ported
from penstock.compat.dtypes import as_dtype, zero_of
from penstock.compat.errors import InvalidArgumentError, raise_translated
from penstock.compat.listing import listing
from penstock.compat.tensor import Tensor, given, in_one_type, tensor
from penstock.ops import array as _array

_clip_by_value = ported(_array.clip_by_value)
_ones_like = ported(_array.ones_like)
_transpose = ported(_array.transpose)
_where = ported(_array.where)
_zeros_like = ported(_array.zeros_like)


def constant(value: Any, dtype: Any = None, shape: Any = None, name: str | None = None) -> Any:
    """Return a value as a tensor.

    Parameters
    ----------
    value : array_like
        The value. Python numbers become int32 and float32, text becomes bytes.
    dtype : dtype-like, optional
        The type of the tensor.
    shape : sequence of int, optional
        The shape of the tensor; a single value is repeated.
    name : str, optional
        A label without effect.

    Returns
    -------
    Tensor
        A tensor.

    Examples
    --------
    >>> import penstock.compat.tf as tf
    >>> tf.constant([1.5, 2.5]).dtype == tf.float32
    True
    """
    made = given(value, dtype, TypeError)
    if shape is not None:
        made = np.broadcast_to(made, shape) if made.size == 1 else made.reshape(shape)
    return tensor(made)


def convert_to_tensor(
    value: Any, dtype: Any = None, dtype_hint: Any = None, name: str | None = None
) -> Any:
    """Return a value as a tensor; see `constant`."""
    return given(value, dtype)


def identity(input: Any, name: str | None = None) -> Any:
    """Return a value as a tensor."""
    return given(input)


def ensure_shape(x: Any, shape: Any, name: str | None = None) -> Any:
    """Return `x` after checking its shape.

    Raises
    ------
    InvalidArgumentError
        If `x` has another shape.
    """
    try:
        tensor(x).set_shape(shape)
    except ValueError as error:
        raise InvalidArgumentError(None, None, f"ensure_shape: {error}") from None
    return tensor(x)


def range(
    start: Any, limit: Any = None, delta: Any = 1, dtype: Any = None, name: str = "range"
) -> Any:
    """Count from `start` (0 by default) up to, but excluding, `limit` in steps of `delta`.

    Examples
    --------
    >>> import penstock.compat.tf as tf
    >>> tf.range(3)
    <tf.Tensor: shape=(3,), dtype=int32, numpy=array([0, 1, 2], dtype=int32)>
    """
    parts = (0, start, delta) if limit is None else (start, limit, delta)
    typed = [part for part in parts if isinstance(part, (np.ndarray, np.generic))]
    made = np.arange(*(np.asarray(part).item() for part in parts))
    if dtype is None and typed:
        dtype = np.result_type(*typed)
    return tensor(made.tolist() if dtype is None else made, dtype)


def shape(input: Any, out_type: Any = np.int32, name: str | None = None) -> Any:
    """Return the sizes of the axes."""
    return tensor(np.array(np.shape(tensor(input)), np.int64), out_type)


def fill(dims: Any, value: Any, name: str | None = None, layout: Any = None) -> Any:
    """Return an array filled with one value."""
    return tensor(np.full([int(size) for size in np.ravel(dims)], tensor(value)))


def zeros(shape: Any, dtype: Any = np.float32, name: str | None = None, layout: Any = None) -> Any:
    """Return an array of zeros, or of empty strings."""
    return fill(shape, tensor(zero_of(as_dtype(dtype)), dtype))


def ones(shape: Any, dtype: Any = np.float32, name: str | None = None, layout: Any = None) -> Any:
    """Return an array of ones."""
    return fill(shape, tensor(1, dtype))


def zeros_like(input: Any, dtype: Any = None, name: str | None = None, layout: Any = None) -> Any:
    """Return zeros, or empty strings, with the shape and type of an array."""
    input = tensor(input)
    if dtype is None and type(input) is Tensor and input.dtype.kind == "O":
        return zeros(np.shape(input), "string")
    return _zeros_like(input, dtype)


def ones_like(input: Any, dtype: Any = None, name: str | None = None, layout: Any = None) -> Any:
    """Return ones with the shape and type of an array."""
    return _ones_like(input, dtype)


def transpose(a: Any, perm: Any = None, conjugate: bool = False, name: str | None = None) -> Any:
    """Permute the axes; with `conjugate`, also return complex conjugates."""
    made = _transpose(a, perm)
    return tensor(np.conj(made)) if conjugate else made


def linspace(start: Any, stop: Any, num: int, name: str | None = None, axis: int = 0) -> Any:
    """Return `num` equally spaced values from `start` to `stop`."""
    kind = np.result_type(tensor(start), np.float16)
    return tensor(np.linspace(start, stop, num, axis=axis).astype(kind))


def eye(
    num_rows: Any,
    num_columns: Any = None,
    batch_shape: Any = None,
    dtype: Any = np.float32,
    name: str | None = None,
) -> Any:
    """Return an identity matrix, or a batch of them with shape `batch_shape`."""
    made = np.eye(int(num_rows), None if num_columns is None else int(num_columns))
    shape = (*np.ravel([] if batch_shape is None else batch_shape).astype(int), *made.shape)
    return tensor(np.broadcast_to(made, shape).copy(), dtype)


def size(input: Any, out_type: Any = np.int32, name: str | None = None) -> Any:
    """Return the number of values."""
    return tensor(np.size(input), out_type)


def rank(input: Any, name: str | None = None) -> Any:
    """Return the number of axes."""
    return tensor(np.ndim(input), np.int32)


def argmax(
    input: Any, axis: int | None = None, output_type: Any = np.int64, name: str | None = None
) -> Any:
    """Return the index of the maximum along an axis (the first by default)."""
    return _first(np.argmax, input, axis, output_type)


def argmin(
    input: Any, axis: int | None = None, output_type: Any = np.int64, name: str | None = None
) -> Any:
    """Return the index of the minimum along an axis (the first by default)."""
    return _first(np.argmin, input, axis, output_type)


def _first(function: Any, input: Any, axis: Any, output_type: Any) -> Any:
    try:
        return tensor(function(tensor(input), axis=axis or 0), output_type)
    except ValueError as error:  # there is no value
        raise_translated(error)


def split(
    value: Any,
    num_or_size_splits: Any,
    axis: int = 0,
    num: int | None = None,
    name: str | None = None,
) -> Any:
    """Split an array into parts along an axis.

    Parameters
    ----------
    value : array_like
        The array.
    num_or_size_splits : int or sequence of int
        The number of equal parts, or the sizes of the parts; -1 for the remaining size.
    axis : int
        The axis to split.
    num : int, optional
        Ignored: the number of sizes is known.
    name : str, optional
        A label without effect.

    Returns
    -------
    list of Tensor
        The parts.

    Raises
    ------
    InvalidArgumentError
        If the sizes do not add up to the size of the axis.
    """
    array = tensor(value)
    length = array.shape[axis]
    if np.ndim(num_or_size_splits) == 0:
        sizes = [length // int(num_or_size_splits)] * int(num_or_size_splits)
    else:
        sizes = [int(size) for size in num_or_size_splits]
        sizes = [length - (sum(sizes) + 1) if size == -1 else size for size in sizes]
    if sum(sizes) != length:
        raise InvalidArgumentError(None, None, f"split: {length} rows cannot be cut into {sizes}")
    return list(map(tensor, np.split(array, np.cumsum(sizes)[:-1], axis)))


def unstack(value: Any, num: int | None = None, axis: int = 0, name: str | None = None) -> Any:
    """Return the rows along an axis as a list."""
    return list(tensor(np.moveaxis(tensor(value), axis, 0)))


def slice(input_: Any, begin: Any, size: Any, name: str | None = None) -> Any:
    """Return `size` values from `begin` on, along each axis; -1 for all remaining values."""
    array = tensor(input_)
    ends = [n if s == -1 else b + s for b, s, n in zip(begin, size, array.shape, strict=True)]
    return array[tuple(np.s_[int(b) : int(e)] for b, e in zip(begin, ends, strict=True))]


def boolean_mask(
    tensor: Any, mask: Any, axis: int | None = None, name: str = "boolean_mask"
) -> Any:
    """Return the values or rows where `mask` is True; it covers axes from `axis` (the first) on.

    Raises
    ------
    ValueError
        If the mask is 0-d, or its sizes do not match these axes.
    """
    values, kept, first = np.asarray(_tensor(tensor)), np.asarray(_tensor(mask)), int(axis or 0)
    spanned = values.shape[first : first + kept.ndim]
    if not kept.ndim or kept.shape != spanned:
        raise ValueError(f"boolean_mask: a mask of shape {spanned} was expected, got {kept.shape}")
    return _tensor(values[(np.s_[:],) * first + (kept,)])


def where(condition: Any, x: Any = None, y: Any = None, name: str | None = None) -> Any:
    """Return `x` where the condition is true, else `y`; or the indices of true values."""
    if x is None and y is None:
        return _where(condition)
    return _where(condition, *in_one_type([x, y]))


def clip_by_value(t: Any, clip_value_min: Any, clip_value_max: Any, name: Any = None) -> Any:
    """Clip values to a minimum and maximum."""
    return _clip_by_value(*in_one_type([t, clip_value_min, clip_value_max]))


def sequence_mask(
    lengths: Any, maxlen: int | None = None, dtype: Any = np.bool_, name: str | None = None
) -> Any:
    """Return rows that start with the number of True values given by `lengths`."""
    counts = tensor(lengths)
    width = int(counts.max(initial=0)) if maxlen is None else int(maxlen)
    return tensor(np.arange(width) < np.asarray(counts)[..., None], dtype)


def repeat(input: Any, repeats: Any, axis: int | None = None, name: str | None = None) -> Any:
    """Repeat each value, or each row along an axis."""
    return tensor(np.repeat(tensor(input), repeats, axis))


def reverse(tensor: Any, axis: Sequence[int], name: str | None = None) -> Any:
    """Return an array reversed along some axes."""
    return _tensor(np.flip(_tensor(tensor), tuple(axis)))


def roll(input: Any, shift: Any, axis: Any, name: str | None = None) -> Any:
    """Shift an array along an axis; values beyond the end reappear at the start."""
    return tensor(np.roll(tensor(input), shift, axis))


def sort(values: Any, axis: int = -1, direction: str = "ASCENDING", name: str | None = None) -> Any:
    """Sort the values along an axis, ASCENDING or DESCENDING."""
    if direction not in ("ASCENDING", "DESCENDING"):
        raise ValueError(f"sort: ASCENDING or DESCENDING was expected, got {direction!r}")
    ordered = np.sort(tensor(values), axis)
    return tensor(np.flip(ordered, axis) if direction == "DESCENDING" else ordered)


def broadcast_to(input: Any, shape: Any, name: str | None = None) -> Any:
    """Broadcast an array to a shape."""
    return tensor(np.broadcast_to(tensor(input), tuple(shape)).copy())


def is_tensor(x: Any) -> bool:
    """Return whether a value is a tensor, or a variable."""
    return isinstance(x, Tensor) or hasattr(x, "__tf_tensor__")


_tensor = tensor  # for functions with a parameter of the same name


def _misshapen(error: Exception, tensor: Any, shape: Any, **ignored: Any) -> NoReturn:
    """Raise the error of `reshape`, with the requested shape."""
    if isinstance(error, ValueError) and "as many items" in str(error):
        written = np.ravel(np.asarray(_tensor(shape))).tolist()
        size = np.size(_tensor(tensor))
        message = f"reshape: a tensor of {size} values cannot have the shape {written}"
        raise InvalidArgumentError(None, None, message) from None
    raise_translated(error)


reshape = ported(_array.reshape, refused=_misshapen)

NAMES = [
    name
    for name, thing in list(globals().items())
    if callable(thing) and getattr(thing, "__module__", "") == __name__ and name[0] != "_"
]

NAMES.append("reshape")

__dir__ = listing(globals())
