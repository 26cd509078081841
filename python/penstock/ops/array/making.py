"""Constant arrays and one-hot vectors."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from penstock.arguments.checked import checked
from penstock.ops.call import call, integers, weakness

__all__ = ["fill", "one_hot", "ones", "ones_like", "zeros", "zeros_like"]

Sizes = int | Sequence[int] | npt.ArrayLike


@checked
def fill(dims: Sizes, value: npt.ArrayLike, name: str | None = None) -> npt.NDArray[Any]:
    """Return an array filled with one value.

    Parameters
    ----------
    dims : int, or sequence of int
        The sizes of the axes.
    value : number
        The value; the array has its dtype.
    name : str, optional
        Ignored; accepted for compatibility with TensorFlow.

    Returns
    -------
    numpy.ndarray
        Shape `dims`.

    Raises
    ------
    ValueError
        If a size is negative.

    Examples
    --------
    >>> ps.fill((2, 3), np.uint8(7))
    array([[7, 7, 7],
           [7, 7, 7]], dtype=uint8)
    """
    return call("fill", [integers(dims), value])


@checked
def zeros(
    shape: Sizes, dtype: npt.DTypeLike = np.float32, name: str | None = None
) -> npt.NDArray[Any]:
    """Return an array of zeros.

    Parameters
    ----------
    shape : int, or sequence of int
        The sizes of the axes.
    dtype : dtype_like
        A boolean, integer, float or complex type.
    name : str, optional
        Ignored; accepted for compatibility with TensorFlow.

    Returns
    -------
    numpy.ndarray
        Shape `shape`. The default is float32, not float64 as in NumPy.

    Raises
    ------
    ValueError
        If a size is negative.

    Examples
    --------
    >>> ps.zeros((2, 2))
    array([[0., 0.],
           [0., 0.]], dtype=float32)
    """
    return fill(shape, np.zeros((), dtype))


@checked
def ones(
    shape: Sizes, dtype: npt.DTypeLike = np.float32, name: str | None = None
) -> npt.NDArray[Any]:
    """Return an array of ones.

    Parameters
    ----------
    shape : int, or sequence of int
        The sizes of the axes.
    dtype : dtype_like
        A boolean, integer, float or complex type.
    name : str, optional
        Ignored; accepted for compatibility with TensorFlow.

    Returns
    -------
    numpy.ndarray
        Shape `shape`. The default is float32, not float64 as in NumPy.

    Raises
    ------
    ValueError
        If a size is negative.

    Examples
    --------
    >>> ps.ones(3, np.int64)
    array([1, 1, 1])
    """
    return fill(shape, np.ones((), dtype))


@checked
def zeros_like(
    input: npt.ArrayLike, dtype: npt.DTypeLike | None = None, name: str | None = None
) -> npt.NDArray[Any]:
    """Return an array of zeros with the shape of another array.

    Parameters
    ----------
    input : array_like
        Numbers of any shape.
    dtype : dtype_like, optional
        The type of the result. ``None`` is the dtype of `input`.
    name : str, optional
        Ignored; accepted for compatibility with TensorFlow.

    Returns
    -------
    numpy.ndarray
        The shape of `input`.

    Examples
    --------
    >>> ps.zeros_like(np.array([1.5, 2.5]))
    array([0., 0.])
    """
    return _fill_like(input, dtype, 0)


@checked
def ones_like(
    input: npt.ArrayLike, dtype: npt.DTypeLike | None = None, name: str | None = None
) -> npt.NDArray[Any]:
    """Return an array of ones with the shape of another array.

    Parameters
    ----------
    input : array_like
        Numbers of any shape.
    dtype : dtype_like, optional
        The type of the result. ``None`` is the dtype of `input`.
    name : str, optional
        Ignored; accepted for compatibility with TensorFlow.

    Returns
    -------
    numpy.ndarray
        The shape of `input`.

    Examples
    --------
    >>> ps.ones_like([[5, 6]], np.float32)
    array([[1., 1.]], dtype=float32)
    """
    return _fill_like(input, dtype, 1)


def _fill_like(input: Any, dtype: Any, value: int) -> Any:
    name = None if dtype is None else np.dtype(dtype).name
    return call("fill_like", [input], {"value": value, "dtype": name})


@checked
def one_hot(
    indices: npt.ArrayLike,
    depth: int | npt.ArrayLike,
    on_value: Any = None,
    off_value: Any = None,
    axis: int | None = None,
    dtype: npt.DTypeLike | None = None,
    name: str | None = None,
) -> npt.NDArray[Any]:
    """Return a one-hot vector for each index.

    Parameters
    ----------
    indices : array_like
        Integers of any shape. An index outside of ``[0, depth)`` yields a vector of `off_value`.
    depth : int
        The length of the vectors.
    on_value, off_value : number, optional
        The value at the index, and elsewhere. The defaults are 1 and 0.
    axis : int, optional
        Position of the new axis in the result. None or -1 is the last axis.
    dtype : dtype_like, optional
        ``None`` is the type of `on_value` and `off_value`, or float32 if neither is given.
    name : str, optional
        Ignored; accepted for compatibility with TensorFlow.

    Returns
    -------
    numpy.ndarray
        The shape of `indices` with the new axis.

    Raises
    ------
    TypeError
        If `indices` or `depth` are not integers.
    ValueError
        If `depth` is negative, or the axis does not exist.

    Examples
    --------
    >>> ps.one_hot([0, 2, -1], 3)
    array([[1., 0., 0.],
           [0., 0., 1.],
           [0., 0., 0.]], dtype=float32)
    >>> ps.one_hot(1, 3, on_value=5, off_value=-1)
    array([-1,  5, -1])
    """
    if dtype is None and on_value is None and off_value is None:
        dtype = np.float32
    for place, value in (("on_value", on_value), ("off_value", off_value)):
        if type(value) is int and not -(2**63) <= value < 2**63:
            raise ValueError(
                f"one_hot: {place}: an int of 64 bits was expected, got {value}; give it as a "
                "NumPy number of the type that it should have"
            )
    values = [1 if on_value is None else on_value, 0 if off_value is None else off_value]
    attributes = {
        "weak": weakness(values),
        "axis": -1 if axis is None else axis,
        "dtype": None if dtype is None else np.dtype(dtype).name,
    }
    return call("one_hot", [*values, indices, depth], attributes)
