"""Sums and their kind: one value of many, along axes."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from penstock import _core
from penstock.arguments.checked import checked
from penstock.ops.array.shaping import axes_of
from penstock.ops.call import apply

__all__ = [
    "AS_INPUT",
    "AS_MEAN",
    "AS_SUM",
    "MEAN_AS_INPUT",
    "reduce",
    "reduce_all",
    "reduce_any",
    "reduce_max",
    "reduce_mean",
    "reduce_min",
    "reduce_sum",
]

Axis = int | Sequence[int] | None
AS_INPUT, AS_SUM, AS_MEAN, MEAN_AS_INPUT = range(4)  # cpp/compute/reduce.h


def reduce(
    name: str,
    ufunc: np.ufunc,
    x: Any,
    axis: Axis,
    keepdims: bool,
    dtypes: int = AS_INPUT,
    of_scalars: bool = False,
) -> Any:
    """Return what a ufunc of two values makes of the items along axes.

    Parameters
    ----------
    name : str
        For errors. One that ends in "mean" divides by the number of items.
    ufunc : numpy.ufunc
        ``add`` and so on.
    x : array_like
        Numbers.
    axis : int, or sequence of int, optional
        The axes to reduce; None means all.
    keepdims : bool
        Keep the axes, with size 1.
    dtypes : int
        Which type the result has, and which sums are made in.
    of_scalars : bool
        Whether the axis 0, or -1, of a number without axes is none.
    """
    divide = np.divide if name.endswith("mean") else None
    op = _core.Op.reduce(name, ufunc, divide, axes_of(axis), bool(keepdims), of_scalars, dtypes)
    return apply(op, [x])


@checked
def reduce_sum(
    input_tensor: npt.ArrayLike, axis: Axis = None, keepdims: bool = False, name: str | None = None
) -> npt.NDArray[Any]:
    """Add items along axes.

    Parameters
    ----------
    input_tensor : array_like
        Numbers.
    axis : int, or sequence of int, optional
        The axes to reduce; None means all.
    keepdims : bool
        Keep these axes, with size 1.
    name : str, optional
        Ignored; TensorFlow's functions have it.

    Returns
    -------
    numpy.ndarray
        The dtype of the input, as in TensorFlow: a sum that this type cannot hold wraps around.
        `numpy.sum` makes 64 bits of small integers; so does `cast` before.

    Raises
    ------
    ValueError
        If there is no such axis.
    TypeError
        If the input holds booleans or strings.

    Notes
    -----
    Floats are added as `numpy.sum` does, in the type itself: pairwise along axes at the end, one
    after the other along those before.

    Examples
    --------
    >>> ps.reduce_sum([[1, 2], [3, 4]], axis=0)
    array([4, 6])
    """
    return reduce("reduce_sum", np.add, input_tensor, axis, keepdims)


@checked
def reduce_mean(
    input_tensor: npt.ArrayLike, axis: Axis = None, keepdims: bool = False, name: str | None = None
) -> npt.NDArray[Any]:
    """Return the mean of items along axes.

    Parameters
    ----------
    input_tensor : array_like
        Numbers.
    axis : int, or sequence of int, optional
        The axes to reduce; None means all.
    keepdims : bool
        Keep these axes, with size 1.
    name : str, optional
        Ignored; TensorFlow's functions have it.

    Returns
    -------
    numpy.ndarray
        The dtype of the input, as in TensorFlow: the mean of integers is cut towards zero to an
        integer, where `numpy.mean` gives float64. Of no floats it is NaN.

    Raises
    ------
    ValueError
        If there is no such axis, or no integer to take the mean of.
    TypeError
        If the input holds booleans or strings.

    Notes
    -----
    The sum that it is made of does not overflow: integers are added in 64 bits (and beyond, where
    those are too few), float16 in float32. Other floats are added as in `reduce_sum`.

    Examples
    --------
    >>> ps.reduce_mean(np.full(1000, 200, np.uint8))
    np.uint8(200)
    >>> ps.reduce_mean(np.float32([[1, 2], [3, 5]]), axis=1)
    array([1.5, 4. ], dtype=float32)
    >>> int(ps.reduce_mean([1, 2]))
    1
    """
    return reduce("reduce_mean", np.add, input_tensor, axis, keepdims, MEAN_AS_INPUT)


@checked
def reduce_max(
    input_tensor: npt.ArrayLike, axis: Axis = None, keepdims: bool = False, name: str | None = None
) -> npt.NDArray[Any]:
    """Return the largest items along axes.

    Parameters
    ----------
    input_tensor : array_like
        Numbers.
    axis : int, or sequence of int, optional
        The axes to reduce; None means all.
    keepdims : bool
        Keep these axes, with size 1.
    name : str, optional
        Ignored; TensorFlow's functions have it.

    Returns
    -------
    numpy.ndarray
        The dtype of the input; NaN where one is among the items.

    Raises
    ------
    ValueError
        If there is no such axis, or no item along it.

    Examples
    --------
    >>> ps.reduce_max([[1, 2], [4, 3]], axis=1)
    array([2, 4])
    """
    return reduce("reduce_max", np.maximum, input_tensor, axis, keepdims)


@checked
def reduce_min(
    input_tensor: npt.ArrayLike, axis: Axis = None, keepdims: bool = False, name: str | None = None
) -> npt.NDArray[Any]:
    """Return the smallest items along axes.

    Parameters
    ----------
    input_tensor : array_like
        Numbers.
    axis : int, or sequence of int, optional
        The axes to reduce; None means all.
    keepdims : bool
        Keep these axes, with size 1.
    name : str, optional
        Ignored; TensorFlow's functions have it.

    Returns
    -------
    numpy.ndarray
        The dtype of the input; NaN where one is among the items.

    Raises
    ------
    ValueError
        If there is no such axis, or no item along it.

    Examples
    --------
    >>> int(ps.reduce_min([[1, 2], [4, 3]]))
    1
    """
    return reduce("reduce_min", np.minimum, input_tensor, axis, keepdims)


@checked
def reduce_any(
    input_tensor: npt.ArrayLike, axis: Axis = None, keepdims: bool = False, name: str | None = None
) -> npt.NDArray[Any]:
    """Say whether any item along axes is true.

    Parameters
    ----------
    input_tensor : array_like
        Booleans, or numbers, of which zero is False.
    axis : int, or sequence of int, optional
        The axes to reduce; None means all.
    keepdims : bool
        Keep these axes, with size 1.
    name : str, optional
        Ignored; TensorFlow's functions have it.

    Returns
    -------
    numpy.ndarray
        Booleans; False where there is no item.

    Examples
    --------
    >>> ps.reduce_any([[True, False], [False, False]], axis=1)
    array([ True, False])
    """
    return reduce("reduce_any", np.logical_or, input_tensor, axis, keepdims)


@checked
def reduce_all(
    input_tensor: npt.ArrayLike, axis: Axis = None, keepdims: bool = False, name: str | None = None
) -> npt.NDArray[Any]:
    """Say whether all items along axes are true.

    Parameters
    ----------
    input_tensor : array_like
        Booleans, or numbers, of which zero is False.
    axis : int, or sequence of int, optional
        The axes to reduce; None means all.
    keepdims : bool
        Keep these axes, with size 1.
    name : str, optional
        Ignored; TensorFlow's functions have it.

    Returns
    -------
    numpy.ndarray
        Booleans; True where there is no item.

    Examples
    --------
    >>> ps.reduce_all([[True, False], [True, True]], axis=1)
    array([False,  True])
    """
    return reduce("reduce_all", np.logical_and, input_tensor, axis, keepdims)
