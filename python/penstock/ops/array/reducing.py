"""Reductions along axes."""

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
    """Reduce the items along axes with a binary ufunc.

    Parameters
    ----------
    name : str
        The name in errors. If it ends in "mean", the result is divided by the number of items.
    ufunc : numpy.ufunc
        The ufunc, such as ``add``.
    x : array_like
        Numbers.
    axis : int, or sequence of int, optional
        The axes to reduce; None means all.
    keepdims : bool
        Keep the axes, with size 1.
    dtypes : int
        How the dtypes of the result and of intermediate sums are chosen: `AS_INPUT`, `AS_SUM`,
        `AS_MEAN` or `MEAN_AS_INPUT`.
    of_scalars : bool
        Whether axis 0 or -1 is accepted, and ignored, for a number without axes.
    """
    divide = np.divide if name.endswith("mean") else None
    op = _core.Op.reduce(name, ufunc, divide, axes_of(axis), bool(keepdims), of_scalars, dtypes)
    return apply(op, [x])


@checked
def reduce_sum(
    input_tensor: npt.ArrayLike, axis: Axis = None, keepdims: bool = False, name: str | None = None
) -> npt.NDArray[Any]:
    """Sum items along axes.

    Parameters
    ----------
    input_tensor : array_like
        Numbers.
    axis : int, or sequence of int, optional
        The axes to reduce; None means all.
    keepdims : bool
        Keep these axes, with size 1.
    name : str, optional
        Ignored; accepted for compatibility with TensorFlow.

    Returns
    -------
    numpy.ndarray
        The dtype of the input, as in TensorFlow. A sum that exceeds its range wraps around. For
        64-bit sums as in `numpy.sum`, apply `cast` first.

    Raises
    ------
    ValueError
        If an axis does not exist.
    TypeError
        If the input has booleans or strings.

    Notes
    -----
    Floats are added as in `numpy.sum`, in their own dtype: pairwise along trailing axes,
    sequentially along leading ones.

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
    """Average items along axes.

    Parameters
    ----------
    input_tensor : array_like
        Numbers.
    axis : int, or sequence of int, optional
        The axes to reduce; None means all.
    keepdims : bool
        Keep these axes, with size 1.
    name : str, optional
        Ignored; accepted for compatibility with TensorFlow.

    Returns
    -------
    numpy.ndarray
        The dtype of the input, as in TensorFlow: the mean of integers is truncated towards zero,
        whereas `numpy.mean` returns float64. The mean of zero floats is NaN.

    Raises
    ------
    ValueError
        If an axis does not exist, or there are no integers to average.
    TypeError
        If the input has booleans or strings.

    Notes
    -----
    The intermediate sum does not overflow. Integers are added in 64 bits, or more if needed, and
    float16 is added in float32. Other floats are added as in `reduce_sum`.

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
    """Return the maximum of items along axes.

    Parameters
    ----------
    input_tensor : array_like
        Numbers.
    axis : int, or sequence of int, optional
        The axes to reduce; None means all.
    keepdims : bool
        Keep these axes, with size 1.
    name : str, optional
        Ignored; accepted for compatibility with TensorFlow.

    Returns
    -------
    numpy.ndarray
        The dtype of the input. NaN if any of the items is NaN.

    Raises
    ------
    ValueError
        If an axis does not exist, or has no items.

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
    """Return the minimum of items along axes.

    Parameters
    ----------
    input_tensor : array_like
        Numbers.
    axis : int, or sequence of int, optional
        The axes to reduce; None means all.
    keepdims : bool
        Keep these axes, with size 1.
    name : str, optional
        Ignored; accepted for compatibility with TensorFlow.

    Returns
    -------
    numpy.ndarray
        The dtype of the input. NaN if any of the items is NaN.

    Raises
    ------
    ValueError
        If an axis does not exist, or has no items.

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
    """Test whether any item along axes is true.

    Parameters
    ----------
    input_tensor : array_like
        Booleans, or numbers, where zero is False.
    axis : int, or sequence of int, optional
        The axes to reduce; None means all.
    keepdims : bool
        Keep these axes, with size 1.
    name : str, optional
        Ignored; accepted for compatibility with TensorFlow.

    Returns
    -------
    numpy.ndarray
        Booleans; False if there are no items.

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
    """Test whether all items along axes are true.

    Parameters
    ----------
    input_tensor : array_like
        Booleans, or numbers, where zero is False.
    axis : int, or sequence of int, optional
        The axes to reduce; None means all.
    keepdims : bool
        Keep these axes, with size 1.
    name : str, optional
        Ignored; accepted for compatibility with TensorFlow.

    Returns
    -------
    numpy.ndarray
        Booleans; True if there are no items.

    Examples
    --------
    >>> ps.reduce_all([[True, False], [True, True]], axis=1)
    array([False,  True])
    """
    return reduce("reduce_all", np.logical_and, input_tensor, axis, keepdims)
