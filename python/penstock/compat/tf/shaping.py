"""Rearranging arrays, and functions of shapes and types."""

from __future__ import annotations

import time
from typing import Any

import numpy as np

from penstock.compat.dtypes import as_dtype
from penstock.compat.errors import InvalidArgumentError
from penstock.compat.listing import listing
from penstock.compat.shape import TensorShape
from penstock.compat.tensor import array, in_one_type, tensor
from penstock.compat.tf import elementwise, linalg


def meshgrid(*args: Any, indexing: Any = "xy", name: str | None = None) -> list[Any]:
    """Return the coordinates of the points of a grid, as one array for each vector."""
    if indexing not in ("xy", "ij"):
        raise ValueError(f"meshgrid: xy or ij was expected, got {indexing!r}")
    vectors = map(np.asarray, in_one_type(args)) if args else ()
    return [tensor(each) for each in np.meshgrid(*vectors, indexing=indexing)]


def complex(real: Any, imag: Any, name: str | None = None) -> Any:
    """Return complex numbers, given their real and imaginary parts."""
    x, y = in_one_type([real, imag])
    if x.dtype.name not in ("float32", "float64"):
        raise TypeError(f"complex: float32 or float64 was expected, got {x.dtype.name}")
    return tensor(x + np.asarray(y) * x.dtype.type(1) * np.complex64(1j))


def truncatediv(x: Any, y: Any, name: str | None = None) -> Any:
    """Return quotients of integers, rounded towards zero."""
    x, y = (np.asarray(each) for each in in_one_type([x, y]))
    if x.dtype.kind == "f":
        return tensor(np.trunc(x / y))
    return tensor((x - np.fmod(x, y)) // y)


realdiv = elementwise.of_two("realdiv", "__truediv__", __name__)
truncatemod = elementwise.of_two_ufunc("truncatemod", np.fmod, __name__)


def saturate_cast(value: Any, dtype: Any, name: str | None = None) -> Any:
    """Convert values to another type, clipping them to its limits.

    Examples
    --------
    >>> import penstock.compat.tf as tf
    >>> tf.saturate_cast([-1, 300], tf.uint8).numpy().tolist()
    [0, 255]
    """
    x, wanted = array(value), as_dtype(dtype)
    if x.dtype.kind == "b" or wanted.is_bool or x.dtype == wanted.dtype:
        return tensor(x, wanted)
    least, most = (_nearest(limit, x.dtype) for limit in (wanted.min, wanted.max))
    return tensor(np.clip(x, least, most), wanted)


def _nearest(limit: Any, dtype: np.dtype[Any]) -> Any:
    """Return the value of a type that is nearest to a limit of another type, towards 0."""
    own: Any = np.iinfo(dtype) if dtype.kind in "iu" else np.finfo(dtype)
    if dtype.kind in "iu":
        return dtype.type(min(max(int(limit), own.min), own.max))
    made = dtype.type(min(max(float(limit), float(own.min)), float(own.max)))
    return np.nextafter(made, dtype.type(0)) if abs(float(made)) > abs(float(limit)) else made


def bitcast(input: Any, type: Any, name: str | None = None) -> Any:
    """Reinterpret the bytes of values as values of another type.

    Parameters
    ----------
    input : array_like
        The values.
    type : dtype-like
        The new type. A smaller type adds a last axis; a larger one removes it.
    name : str, optional
        A label without effect.
    """
    x, wanted = np.ascontiguousarray(array(input)).reshape(np.shape(input)), as_dtype(type).dtype
    if wanted.itemsize < x.dtype.itemsize:
        return tensor(x[..., None].view(wanted))
    if wanted.itemsize > x.dtype.itemsize:
        return tensor(x.view(wanted)[..., 0])
    return tensor(x.view(wanted))


def shape_n(input: Any, out_type: Any = np.int32, name: str | None = None) -> list[Any]:
    """Return the shape of each of several arrays."""
    return [tensor(np.array(np.shape(tensor(each)), np.int64), out_type) for each in input]


def identity_n(input: Any, name: str | None = None) -> list[Any]:
    """Return several values as tensors."""
    return [tensor(each) for each in input]


def tuple(tensors: Any, control_inputs: Any = None, name: str | None = None) -> list[Any]:
    """Return several values as a list."""
    return list(tensors)


def stop_gradient(input: Any, name: str | None = None) -> Any:
    """Return a value as a tensor: there are no gradients."""
    return tensor(input)


def guarantee_const(input: Any, name: str | None = None) -> Any:
    """Return a value as a tensor."""
    return tensor(input)


def get_static_value(tensor: Any, partial: bool = False) -> Any:
    """Return the value of a tensor in NumPy's form; None for other objects."""
    return tensor.numpy() if hasattr(tensor, "numpy") else None


def broadcast_static_shape(shape_x: Any, shape_y: Any) -> TensorShape:
    """Return the broadcast shape of two shapes.

    Raises
    ------
    ValueError
        If the shapes are not compatible.
    """
    return TensorShape(np.broadcast_shapes(TensorShape(shape_x), TensorShape(shape_y)))


def broadcast_dynamic_shape(shape_x: Any, shape_y: Any) -> Any:
    """Return the broadcast shape of two shapes, as a tensor."""
    x, y = (np.asarray(each) for each in in_one_type([shape_x, shape_y]))
    try:
        return tensor(np.array(np.broadcast_shapes(_sizes(x), _sizes(y)), x.dtype))
    except ValueError as error:
        raise InvalidArgumentError(None, None, str(error)) from None


def _sizes(sizes: Any) -> Any:
    """Return sizes in the form that NumPy's functions accept."""
    return TensorShape(np.asarray(sizes).tolist())


def space_to_batch_nd(input: Any, block_shape: Any, paddings: Any, name: str | None = None) -> Any:
    """Move the values within each block to the first axis, which grows by the block size.

    Parameters
    ----------
    input : array_like, shape ``(batch, ..., rest)``
        The array.
    block_shape : int or sequence of int
        The size of a block along each axis after the first.
    paddings : array_like, shape ``(axes, 2)``
        Numbers of zeros to add before and after each axis.
    name : str, optional
        A label without effect.
    """
    x, blocks = array(input), _blocks(block_shape, paddings)
    rest = x.ndim - 1 - len(blocks)
    x = np.pad(x, [(0, 0), *np.asarray(paddings).tolist(), *[(0, 0)] * rest])
    sizes = x.shape[1 : 1 + len(blocks)]
    if any(size % block for size, block in zip(sizes, blocks, strict=True)):
        raise InvalidArgumentError(
            None, None, f"space_to_batch: {sizes} cannot be divided by {blocks}"
        )
    split = [n for size, b in zip(sizes, blocks, strict=True) for n in (size // b, b)]
    cut = x.reshape(x.shape[0], *split, *x.shape[1 + len(blocks) :])
    inner = range(2, 2 * len(blocks) + 1, 2)
    outer = range(1, 2 * len(blocks), 2)
    cut = cut.transpose(*inner, 0, *outer, *range(2 * len(blocks) + 1, cut.ndim))
    return tensor(cut.reshape(-1, *split[::2], *x.shape[1 + len(blocks) :]))


space_to_batch = space_to_batch_nd


def batch_to_space(input: Any, block_shape: Any, crops: Any, name: str | None = None) -> Any:
    """Move blocks from the first axis back into an array, and crop it.

    Parameters
    ----------
    input : array_like
        A result of `space_to_batch`.
    block_shape : int or sequence of int
        The size of a block along each axis after the first.
    crops : array_like, shape ``(axes, 2)``
        Numbers of values to remove before and after each axis.
    name : str, optional
        A label without effect.
    """
    x, blocks = array(input), _blocks(block_shape, crops)
    n, sizes = len(blocks), x.shape[1 : 1 + len(blocks)]
    cut = x.reshape(*blocks, -1, *x.shape[1:])
    axes = [axis for i in range(n) for axis in (n + 1 + i, i)]
    cut = cut.transpose(n, *axes, *range(2 * n + 1, cut.ndim))
    whole = [size * block for size, block in zip(sizes, blocks, strict=True)]
    made = cut.reshape(cut.shape[0], *whole, *x.shape[1 + n :])
    margins = zip(whole, np.asarray(crops).tolist(), strict=True)
    kept = [np.s_[before : size - after] for size, (before, after) in margins]
    return tensor(made[(np.s_[:], *kept)])


def _blocks(block_shape: Any, margins: Any) -> list[int]:
    if np.ndim(block_shape) == 0:
        return [int(block_shape)] * len(np.asarray(margins))
    return [int(size) for size in np.asarray(block_shape)]


def clip_by_norm(t: Any, clip_norm: Any, axes: Any = None, name: str | None = None) -> Any:
    """Scale values so that their norm, along axes or of all values, is at most `clip_norm`."""
    x = array(t)
    axes = TensorShape(np.ravel(axes).tolist()) if axes is not None else None
    norms = np.sqrt(np.sum(np.square(x), None if axes is None else (*axes,), keepdims=True))
    limit = np.asarray(clip_norm, x.dtype)
    return tensor((x * limit / np.maximum(norms, limit)).reshape(x.shape))


def clip_by_global_norm(
    t_list: Any, clip_norm: Any, use_norm: Any = None, name: str | None = None
) -> Any:
    """Scale arrays so that their common norm is at most `clip_norm`; also return the old norm."""
    arrays = [None if each is None else array(each) for each in t_list]
    there = [each for each in arrays if each is not None]
    kind = there[0].dtype
    if use_norm is None:
        use_norm = linalg.global_norm(there)
    total, limit = np.asarray(use_norm, kind), np.asarray(clip_norm, kind)
    scale = limit * np.minimum(1 / total, 1 / limit) if np.isfinite(total) else np.asarray(np.nan)
    clipped = [None if each is None else tensor(each * scale.astype(kind)) for each in arrays]
    return clipped, tensor(total)


def timestamp(name: str | None = None) -> Any:
    """Return the seconds since 1970, as float64."""
    return tensor(time.time(), np.float64)


NAMES = [
    *("realdiv", "truncatediv", "truncatemod"),
    *("batch_to_space", "bitcast", "broadcast_dynamic_shape", "broadcast_static_shape"),
    *("clip_by_global_norm", "clip_by_norm", "complex", "get_static_value", "guarantee_const"),
    *("identity_n", "meshgrid", "saturate_cast", "shape_n", "space_to_batch"),
    *("space_to_batch_nd", "stop_gradient", "timestamp", "tuple"),
]

__dir__ = listing(globals())
