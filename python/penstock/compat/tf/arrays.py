"""tf's functions of arrays that are not penstock's: NumPy's, by TensorFlow's names and types."""

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
        Python's numbers become int32 and float32, text becomes bytes.
    dtype : dtype-like, optional
        The type wanted.
    shape : sequence of int, optional
        What it is arranged to; a single value fills it.
    name : str, optional
        A label without further meaning.

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
    """Return a value as a tensor: `constant`."""
    return given(value, dtype)


def identity(input: Any, name: str | None = None) -> Any:
    """Return a value as a tensor."""
    return given(input)


def ensure_shape(x: Any, shape: Any, name: str | None = None) -> Any:
    """Return `x`, whose shape is checked.

    Raises
    ------
    InvalidArgumentError
        If it has another shape.
    """
    try:
        tensor(x).set_shape(shape)
    except ValueError as error:
        raise InvalidArgumentError(None, None, f"ensure_shape: {error}") from None
    return tensor(x)


def range(
    start: Any, limit: Any = None, delta: Any = 1, dtype: Any = None, name: str = "range"
) -> Any:
    """Count from `start` (0) to `limit`, which is left out, by `delta`.

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
    """Return an array of one value."""
    return tensor(np.full([int(size) for size in np.ravel(dims)], tensor(value)))


def zeros(shape: Any, dtype: Any = np.float32, name: str | None = None, layout: Any = None) -> Any:
    """Return an array of zeros, or of empty strings."""
    return fill(shape, tensor(zero_of(as_dtype(dtype)), dtype))


def ones(shape: Any, dtype: Any = np.float32, name: str | None = None, layout: Any = None) -> Any:
    """Return an array of ones."""
    return fill(shape, tensor(1, dtype))


def zeros_like(input: Any, dtype: Any = None, name: str | None = None, layout: Any = None) -> Any:
    """Return zeros, or empty strings, of the shape and type of an array."""
    input = tensor(input)
    if dtype is None and type(input) is Tensor and input.dtype.kind == "O":
        return zeros(np.shape(input), "string")
    return _zeros_like(input, dtype)


def ones_like(input: Any, dtype: Any = None, name: str | None = None, layout: Any = None) -> Any:
    """Return ones of the shape and type of an array."""
    return _ones_like(input, dtype)


def transpose(a: Any, perm: Any = None, conjugate: bool = False, name: str | None = None) -> Any:
    """Put the axes in another order; `conjugate` changes the sign of imaginary parts, too."""
    made = _transpose(a, perm)
    return tensor(np.conj(made)) if conjugate else made


def linspace(start: Any, stop: Any, num: int, name: str | None = None, axis: int = 0) -> Any:
    """Return `num` values from `start` to `stop`, at equal distances."""
    kind = np.result_type(tensor(start), np.float16)
    return tensor(np.linspace(start, stop, num, axis=axis).astype(kind))


def eye(
    num_rows: Any,
    num_columns: Any = None,
    batch_shape: Any = None,
    dtype: Any = np.float32,
    name: str | None = None,
) -> Any:
    """Return a matrix with ones on its diagonal, or as many as `batch_shape` says."""
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
    """Return where the greatest value along an axis (the first) is."""
    return _first(np.argmax, input, axis, output_type)


def argmin(
    input: Any, axis: int | None = None, output_type: Any = np.int64, name: str | None = None
) -> Any:
    """Return where the least value along an axis (the first) is."""
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
    """Cut an array into parts along an axis.

    Parameters
    ----------
    value : array_like
        What is cut.
    num_or_size_splits : int or sequence of int
        The number of equal parts, or their sizes; -1 is the rest.
    axis : int
        Along which axis.
    num : int, optional
        Ignored: the number of sizes is known.
    name : str, optional
        A label without further meaning.

    Returns
    -------
    list of Tensor
        The parts.

    Raises
    ------
    InvalidArgumentError
        If the parts do not make up the whole.
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
    """Return `size` values from `begin` on, along each axis; -1 is all that there are."""
    array = tensor(input_)
    ends = [n if s == -1 else b + s for b, s, n in zip(begin, size, array.shape, strict=True)]
    return array[tuple(np.s_[int(b) : int(e)] for b, e in zip(begin, ends, strict=True))]


def boolean_mask(
    tensor: Any, mask: Any, axis: int | None = None, name: str = "boolean_mask"
) -> Any:
    """Return the values, or rows, where `mask` is True: it spans axes from `axis` (the first) on.

    Raises
    ------
    ValueError
        If the mask has no axes, or other sizes than these.
    """
    values, kept, first = np.asarray(_tensor(tensor)), np.asarray(_tensor(mask)), int(axis or 0)
    spanned = values.shape[first : first + kept.ndim]
    if not kept.ndim or kept.shape != spanned:
        raise ValueError(f"boolean_mask: a mask of shape {spanned} was expected, got {kept.shape}")
    return _tensor(values[(np.s_[:],) * first + (kept,)])


def where(condition: Any, x: Any = None, y: Any = None, name: str | None = None) -> Any:
    """Return `x` where the condition holds and `y` elsewhere; alone, the indices where it holds."""
    if x is None and y is None:
        return _where(condition)
    return _where(condition, *in_one_type([x, y]))


def clip_by_value(t: Any, clip_value_min: Any, clip_value_max: Any, name: Any = None) -> Any:
    """Return values, those below a least and above a greatest value replaced by it."""
    return _clip_by_value(*in_one_type([t, clip_value_min, clip_value_max]))


def sequence_mask(
    lengths: Any, maxlen: int | None = None, dtype: Any = np.bool_, name: str | None = None
) -> Any:
    """Return rows that begin with as many True as `lengths` says."""
    counts = tensor(lengths)
    width = int(counts.max(initial=0)) if maxlen is None else int(maxlen)
    return tensor(np.arange(width) < np.asarray(counts)[..., None], dtype)


def repeat(input: Any, repeats: Any, axis: int | None = None, name: str | None = None) -> Any:
    """Return each value, or row along an axis, several times."""
    return tensor(np.repeat(tensor(input), repeats, axis))


def reverse(tensor: Any, axis: Sequence[int], name: str | None = None) -> Any:
    """Return an array with the order along some axes reversed."""
    return _tensor(np.flip(_tensor(tensor), tuple(axis)))


def roll(input: Any, shift: Any, axis: Any, name: str | None = None) -> Any:
    """Return an array moved along an axis, its end at the beginning."""
    return tensor(np.roll(tensor(input), shift, axis))


def sort(values: Any, axis: int = -1, direction: str = "ASCENDING", name: str | None = None) -> Any:
    """Return the values along an axis in order, ASCENDING or DESCENDING."""
    if direction not in ("ASCENDING", "DESCENDING"):
        raise ValueError(f"sort: ASCENDING or DESCENDING was expected, got {direction!r}")
    ordered = np.sort(tensor(values), axis)
    return tensor(np.flip(ordered, axis) if direction == "DESCENDING" else ordered)


def broadcast_to(input: Any, shape: Any, name: str | None = None) -> Any:
    """Return an array repeated along axes of size 1, and new ones, up to a shape."""
    return tensor(np.broadcast_to(tensor(input), tuple(shape)).copy())


def is_tensor(x: Any) -> bool:
    """Return whether a value is a tensor, or a variable."""
    return isinstance(x, Tensor) or hasattr(x, "__tf_tensor__")


_tensor = tensor  # also where a parameter has its name


def _misshapen(error: Exception, tensor: Any, shape: Any, **ignored: Any) -> NoReturn:
    """Raise what `reshape` has found, with the shape that was asked for."""
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
