"""Dtypes and shapes of arrays."""

from __future__ import annotations

from collections.abc import Sequence
from operator import index
from typing import Any

import numpy as np
import numpy.typing as npt

from penstock.arguments.checked import checked
from penstock.ops.call import call, integers

__all__ = ["axes_of", "cast", "expand_dims", "reshape", "shape", "squeeze", "transpose"]


@checked
def cast(x: npt.ArrayLike, dtype: npt.DTypeLike, name: str | None = None) -> npt.NDArray[Any]:
    """Convert numbers to another dtype.

    Parameters
    ----------
    x : array_like
        Numbers or booleans of any shape.
    dtype : dtype_like
        A boolean, integer, float or complex type, or ``ml_dtypes.bfloat16``.
    name : str, optional
        Ignored; accepted for compatibility with TensorFlow.

    Returns
    -------
    numpy.ndarray
        The values as `dtype`, with the same shape.

    Raises
    ------
    TypeError
        If `x` or `dtype` is not numeric.

    Notes
    -----
    As in NumPy's ``astype``, integers wrap around, floats are truncated, an imaginary part is
    dropped without a warning, and NaN becomes True. A float beyond the range of an integer type has
    the same result on every CPU as on x86-64: the minimum of int32 or int64, truncated to the bits
    of the type.

    Examples
    --------
    >>> ps.cast([0.9, -1.5, 2.0], np.int32)
    array([ 0, -1,  2], dtype=int32)
    >>> ps.cast(np.array([255, 256], np.int64), "uint8")
    array([255,   0], dtype=uint8)
    """
    return call("cast", [x], {"dtype": np.dtype(dtype).name})


@checked
def shape(
    input: npt.ArrayLike, out_type: npt.DTypeLike = np.int64, name: str | None = None
) -> npt.NDArray[Any]:
    """Return the sizes of the axes.

    Parameters
    ----------
    input : array_like
        Numbers or strings of any shape.
    out_type : dtype_like
        int64 or int32.
    name : str, optional
        Ignored; accepted for compatibility with TensorFlow.

    Returns
    -------
    numpy.ndarray
        Shape ``(rank,)``.

    Examples
    --------
    >>> ps.shape(np.zeros((2, 3)))
    array([2, 3])
    """
    found = call("shape", [input])
    return found if np.dtype(out_type) == np.int64 else cast(found, out_type)


@checked
def reshape(
    tensor: npt.ArrayLike, shape: int | Sequence[int] | npt.ArrayLike, name: str | None = None
) -> npt.NDArray[Any]:
    """Change the shape of an array.

    Parameters
    ----------
    tensor : array_like
        Numbers or strings of any shape.
    shape : int, or sequence of int
        The sizes of the axes. One of them may be -1, and is then inferred.
    name : str, optional
        Ignored; accepted for compatibility with TensorFlow.

    Returns
    -------
    numpy.ndarray
        The items in the same order (C order); a view where NumPy returns one.

    Raises
    ------
    ValueError
        If the number of items differs.

    Examples
    --------
    >>> ps.reshape([1, 2, 3, 4], (2, -1))
    array([[1, 2],
           [3, 4]])
    """
    return call("reshape", [tensor, integers(shape)])


@checked
def expand_dims(
    input: npt.ArrayLike, axis: int | Sequence[int], name: str | None = None
) -> npt.NDArray[Any]:
    """Add axes of size 1.

    Parameters
    ----------
    input : array_like
        Numbers or strings of any shape.
    axis : int, or sequence of int
        Position of the new axis in the result; negative values count from the end.
    name : str, optional
        Ignored; accepted for compatibility with TensorFlow.

    Returns
    -------
    numpy.ndarray
        The same items.

    Raises
    ------
    ValueError
        If the result cannot have such an axis.

    Examples
    --------
    >>> ps.expand_dims([1, 2], -1).shape
    (2, 1)
    """
    return call("expand_dims", [input], {"axis": axes_of(axis)})


@checked
def squeeze(
    input: npt.ArrayLike, axis: int | Sequence[int] | None = None, name: str | None = None
) -> npt.NDArray[Any]:
    """Remove axes of size 1.

    Parameters
    ----------
    input : array_like
        Numbers or strings of any shape.
    axis : int, or sequence of int, optional
        The axes to remove. ``None`` removes all axes of size 1.
    name : str, optional
        Ignored; accepted for compatibility with TensorFlow.

    Returns
    -------
    numpy.ndarray
        The same items.

    Raises
    ------
    ValueError
        If an axis does not exist, or has another size.

    Examples
    --------
    >>> ps.squeeze([[[1], [2]]]).shape
    (2,)
    >>> ps.squeeze([[[1], [2]]], 0).shape
    (2, 1)
    """
    return call("squeeze", [input], {"axis": axes_of(axis), "of_scalars": False})


@checked
def transpose(
    a: npt.ArrayLike, perm: Sequence[int] | None = None, name: str | None = None
) -> npt.NDArray[Any]:
    """Permute the axes of an array.

    Parameters
    ----------
    a : array_like
        Numbers or strings of any shape.
    perm : sequence of int, optional
        The axis of `a` that becomes each axis of the result. ``None`` reverses the axes.
    name : str, optional
        Ignored; accepted for compatibility with TensorFlow.

    Returns
    -------
    numpy.ndarray
        A copy with permuted axes.

    Raises
    ------
    ValueError
        If `perm` does not contain each axis once.

    Examples
    --------
    >>> ps.transpose([[1, 2], [3, 4]])
    array([[1, 3],
           [2, 4]])
    >>> ps.transpose(np.zeros((4, 5, 3)), (2, 0, 1)).shape
    (3, 4, 5)
    """
    return call("transpose", [a], {"perm": axes_of(perm)})


def axes_of(axis: int | Sequence[int] | None) -> list[int] | None:
    """Return one or more axes as a list for operations."""
    if axis is None:
        return None
    if isinstance(axis, (list, tuple, np.ndarray)) and np.ndim(axis):
        return [index(one) for one in axis]
    return [index(axis)]  # type: ignore[arg-type]
