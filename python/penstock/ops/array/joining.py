"""Larger arrays made of smaller ones."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from penstock.arguments.checked import checked
from penstock.ops.call import call, integers, is_symbolic, weakness
from penstock.ops.symbol import Symbol

__all__ = ["concat", "pad", "stack", "tile"]


@checked
def concat(values: Sequence[npt.ArrayLike], axis: int, name: str | None = None) -> npt.NDArray[Any]:
    """Put arrays one after the other.

    Parameters
    ----------
    values : sequence of array_like
        Numbers or strings; the shapes are the same except along `axis`.
    axis : int
        The axis; negative from the end.
    name : str, optional
        Ignored; TensorFlow's functions have it.

    Returns
    -------
    numpy.ndarray
        A copy. The dtype is the one NumPy promotes those of the values to.

    Raises
    ------
    ValueError
        If there are no values, or their shapes do not fit.
    TypeError
        If they are of different kinds, as strings and numbers.

    Examples
    --------
    >>> ps.concat([[1, 2], [3]], axis=0)
    array([1, 2, 3])
    >>> ps.concat([np.zeros((2, 1)), np.ones((2, 2))], axis=1).shape
    (2, 3)
    """
    return call("concat", _parts(values), {"axis": axis})


@checked
def stack(
    values: Sequence[npt.ArrayLike], axis: int = 0, name: str | None = "stack"
) -> npt.NDArray[Any]:
    """Put arrays of one shape side by side along a new axis.

    Parameters
    ----------
    values : sequence of array_like
        Numbers or strings of one shape.
    axis : int
        Position of the new axis in the result; negative from the end.
    name : str, optional
        Ignored; TensorFlow's functions have it.

    Returns
    -------
    numpy.ndarray
        A copy. The dtype is the one NumPy promotes those of the values to.

    Raises
    ------
    ValueError
        If there are no values, or their shapes differ.

    Examples
    --------
    >>> ps.stack([[1, 2], [3, 4]], axis=1)
    array([[1, 3],
           [2, 4]])
    """
    values = _parts(values)
    return call("stack", values, {"axis": axis, "weak": weakness(values)})


def _parts(values: Any) -> list[Any]:
    if isinstance(values, (Symbol, list, tuple)):
        return list(values)
    return list(np.asarray(values))


@checked
def tile(
    input: npt.ArrayLike, multiples: int | Sequence[int] | npt.ArrayLike, name: str | None = None
) -> npt.NDArray[Any]:
    """Repeat an array along its axes.

    Parameters
    ----------
    input : array_like
        Numbers or strings.
    multiples : sequence of int
        How often, for each axis of `input`.
    name : str, optional
        Ignored; TensorFlow's functions have it.

    Returns
    -------
    numpy.ndarray
        A copy.

    Raises
    ------
    ValueError
        If `multiples` does not hold a number >= 0 for each axis.

    Examples
    --------
    >>> ps.tile([[1, 2]], (2, 2))
    array([[1, 2, 1, 2],
           [1, 2, 1, 2]])
    """
    return call("tile", [input, integers(multiples)], {"any_rank": False})


@checked
def pad(
    tensor: npt.ArrayLike,
    paddings: Any,
    mode: str = "CONSTANT",
    constant_values: Any = 0,
    name: str | None = None,
) -> npt.NDArray[Any]:
    """Add room around an array.

    Parameters
    ----------
    tensor : array_like
        Numbers or strings.
    paddings : array_like
        Shape ``(rank, 2)``: items before and after along each axis.
    mode : str
        What the room holds: "CONSTANT"; "REFLECT", the array mirrored without its edge;
        "SYMMETRIC", mirrored with it; "EDGE", the edge again (TensorFlow has no such mode). Upper
        or lower case.
    constant_values : number or string
        The constant, converted to the type of `tensor`.
    name : str, optional
        Ignored; TensorFlow's functions have it.

    Returns
    -------
    numpy.ndarray
        A copy.

    Raises
    ------
    ValueError
        If `paddings` has another shape, holds a negative number, or asks a mirror for more than
        there is.
    OverflowError
        If `tensor` holds signed integers of a type that does not hold the constant.
    TypeError
        If the constant is of another kind than `tensor`. Times take numbers: counts of their unit.

    Examples
    --------
    >>> ps.pad([1, 2, 3], [[1, 2]])
    array([0, 1, 2, 3, 0, 0])
    >>> ps.pad([1, 2, 3], [[2, 0]], mode="REFLECT")
    array([3, 2, 1, 2, 3])
    """
    attributes = {"mode": mode.upper(), "any_rank": False}
    return call("pad", [tensor, constant_values, _whole(paddings)], attributes)


def _whole(numbers: Any) -> Any:
    """Return nested whole numbers as an array of integers; nothing is none of them."""
    if is_symbolic(numbers):
        return numbers
    array = np.asarray(numbers)
    return array.astype(np.int64) if array.size == 0 else array
