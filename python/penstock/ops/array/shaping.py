"""Types and shapes of arrays."""

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
    """Convert numbers to another type.

    Parameters
    ----------
    x : array_like
        Numbers or booleans of any shape.
    dtype : dtype_like
        A boolean, integer, float or complex type, or ``ml_dtypes.bfloat16``.
    name : str, optional
        Ignored; TensorFlow's functions have it.

    Returns
    -------
    numpy.ndarray
        The values as `dtype`, same shape.

    Raises
    ------
    TypeError
        If `x` or `dtype` is not of a number type.

    Notes
    -----
    As NumPy's ``astype``: integers wrap around, floats are truncated, an imaginary part is
    dropped without a warning, NaN is True. A float beyond the range of an integer type becomes what
    it does on x86-64, on every processor: the smallest int32 or int64, cut to the type's bits.

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
        Ignored; TensorFlow's functions have it.

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
    """Give the items of an array another shape.

    Parameters
    ----------
    tensor : array_like
        Numbers or strings of any shape.
    shape : int, or sequence of int
        The sizes of the axes; one of them may be -1, which is then found out.
    name : str, optional
        Ignored; TensorFlow's functions have it.

    Returns
    -------
    numpy.ndarray
        The items in the same order (C order); a view where NumPy makes one.

    Raises
    ------
    ValueError
        If the shape has another number of items.

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
        Position of the new axis in the result; negative from the end.
    name : str, optional
        Ignored; TensorFlow's functions have it.

    Returns
    -------
    numpy.ndarray
        The same items.

    Raises
    ------
    ValueError
        If there is no such axis in the result.

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
    """Drop axes of size 1.

    Parameters
    ----------
    input : array_like
        Numbers or strings of any shape.
    axis : int, or sequence of int, optional
        Which axes; ``None`` is all that have size 1.
    name : str, optional
        Ignored; TensorFlow's functions have it.

    Returns
    -------
    numpy.ndarray
        The same items.

    Raises
    ------
    ValueError
        If there is no such axis, or it has another size.

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
    """Put the axes in another order.

    Parameters
    ----------
    a : array_like
        Numbers or strings of any shape.
    perm : sequence of int, optional
        The axis of `a` that becomes each axis of the result; ``None`` is all in reverse.
    name : str, optional
        Ignored; TensorFlow's functions have it.

    Returns
    -------
    numpy.ndarray
        The items, moved; a copy.

    Raises
    ------
    ValueError
        If `perm` does not name each axis once.

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
    """Return one axis or many as operations take them."""
    if axis is None:
        return None
    if isinstance(axis, (list, tuple, np.ndarray)) and np.ndim(axis):
        return [index(one) for one in axis]
    return [index(axis)]  # type: ignore[arg-type]
