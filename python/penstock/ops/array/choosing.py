"""Selecting items by index or condition, and clipping values."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from penstock.arguments.checked import checked
from penstock.ops.call import call, weakness

__all__ = ["clip_by_value", "gather", "where"]


@checked
def gather(
    params: npt.ArrayLike,
    indices: npt.ArrayLike,
    validate_indices: bool | None = None,
    axis: int | None = None,
    batch_dims: int = 0,
    name: str | None = None,
) -> npt.NDArray[Any]:
    """Gather slices of an array by index.

    Parameters
    ----------
    params : array_like
        Numbers or strings, with at least one axis.
    indices : array_like
        Integers of any shape, in ``[0, params.shape[axis])``.
    validate_indices : bool, optional
        Ignored: indices are always validated. Accepted for compatibility with TensorFlow.
    axis : int, optional
        The axis of `params` to index. ``None`` is the axis after `batch_dims` axes.
    batch_dims : int
        Number of leading axes that both arrays have in common. Each item of `indices` then selects
        slices of the corresponding item of `params`.
    name : str, optional
        Ignored; accepted for compatibility with TensorFlow.

    Returns
    -------
    numpy.ndarray
        The shape of `params`, with that axis replaced by the axes of `indices` after `batch_dims`.

    Raises
    ------
    ValueError
        If an index is out of range, or the shapes do not match. Negative indices do not count from
        the end, unlike in `numpy.take`.

    Examples
    --------
    >>> ps.gather([10, 20, 30], [2, 0, 0])
    array([30, 10, 10])
    >>> ps.gather([[1, 2], [3, 4]], [[0], [1]], batch_dims=1)
    array([[1],
           [4]])
    """
    attributes = {"axis": axis, "batch_dims": batch_dims, "from_end": False}
    return call("gather", [params, indices], attributes)


@checked
def where(
    condition: npt.ArrayLike, x: Any = None, y: Any = None, name: str | None = None
) -> npt.NDArray[Any]:
    """Select items from two arrays by a condition.

    Parameters
    ----------
    condition : array_like
        Booleans, or numbers, where zero is False.
    x, y : array_like, optional
        Numbers or strings: the items where the condition is true, and where it is false. The three
        arrays are broadcast against each other.
    name : str, optional
        Ignored; accepted for compatibility with TensorFlow.

    Returns
    -------
    numpy.ndarray
        With `x` and `y`, their items. The dtype follows NumPy's promotion rules; a plain Python
        number takes the dtype of the other argument. Without them, the indices where the condition
        is true, with shape ``(n, rank)`` and dtype int64.

    Raises
    ------
    ValueError
        If only one of `x` and `y` is given, or the shapes do not match.
    OverflowError
        If a plain integer does not fit the dtype of the other argument.

    Examples
    --------
    >>> ps.where([True, False], np.float32([1, 2]), 0.0)
    array([1., 0.], dtype=float32)
    >>> ps.where([[0, 3], [4, 0]])
    array([[0, 1],
           [1, 0]])
    """
    if (x is None) != (y is None):
        raise ValueError("where: both of x and y, or none of them, must be given")
    if x is None:
        return call("nonzero", [condition])
    return call("where", [x, y, condition], {"weak": weakness([x, y])})


@checked
def clip_by_value(
    t: npt.ArrayLike, clip_value_min: Any, clip_value_max: Any, name: str | None = None
) -> npt.NDArray[Any]:
    """Limit values to a range.

    Parameters
    ----------
    t : array_like
        Numbers of any shape.
    clip_value_min, clip_value_max : array_like
        The limits, broadcast to `t`.
    name : str, optional
        Ignored; accepted for compatibility with TensorFlow.

    Returns
    -------
    numpy.ndarray
        ``minimum(maximum(t, clip_value_min), clip_value_max)``, with NumPy's result dtype. Plain
        Python numbers take the dtype of `t`. NaN stays NaN.

    Examples
    --------
    >>> ps.clip_by_value(np.float32([-1, 0.5, 3]), 0, 1)
    array([0. , 0.5, 1. ], dtype=float32)
    """
    try:
        clipped: npt.NDArray[Any] = np.minimum(np.maximum(t, clip_value_min), clip_value_max)
    except ValueError as error:
        if "broadcast" not in str(error):
            raise
        raise ValueError(
            f"clip_by_value: clip_value_min and clip_value_max must broadcast to t: {error}"
        ) from None
    return clipped
