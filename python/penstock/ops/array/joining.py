"""Combining, repeating and padding arrays."""

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
    """Concatenate arrays along an axis.

    Parameters
    ----------
    values : sequence of array_like
        Numbers or strings. The shapes must be equal except along `axis`.
    axis : int
        The axis; negative values count from the end.
    name : str, optional
        Ignored; accepted for compatibility with TensorFlow.

    Returns
    -------
    numpy.ndarray
        A copy. The dtype follows NumPy's promotion rules.

    Raises
    ------
    ValueError
        If there are no values, or their shapes do not match.
    TypeError
        If the values are of different kinds, such as strings and numbers.

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
    """Stack arrays of one shape along a new axis.

    Parameters
    ----------
    values : sequence of array_like
        Numbers or strings of equal shape.
    axis : int
        Position of the new axis in the result; negative values count from the end.
    name : str, optional
        Ignored; accepted for compatibility with TensorFlow.

    Returns
    -------
    numpy.ndarray
        A copy. The dtype follows NumPy's promotion rules.

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
        Number of repetitions along each axis of `input`.
    name : str, optional
        Ignored; accepted for compatibility with TensorFlow.

    Returns
    -------
    numpy.ndarray
        A copy.

    Raises
    ------
    ValueError
        If `multiples` does not have a number >= 0 for each axis.

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
    """Pad an array along its axes.

    Parameters
    ----------
    tensor : array_like
        Numbers or strings.
    paddings : array_like
        Number of items to add before and after each axis, shape ``(rank, 2)``.
    mode : str
        The added items. "CONSTANT": `constant_values`. "REFLECT": the array mirrored without its
        edge. "SYMMETRIC": the array mirrored with its edge. "EDGE": the edge repeated (not in
        TensorFlow). Case is ignored.
    constant_values : number or string
        The constant, converted to the type of `tensor`.
    name : str, optional
        Ignored; accepted for compatibility with TensorFlow.

    Returns
    -------
    numpy.ndarray
        A copy.

    Raises
    ------
    ValueError
        If `paddings` has another shape or a negative number, or a mirror mode needs more items than
        there are.
    OverflowError
        If `tensor` has a signed integer type that cannot represent the constant.
    TypeError
        If the constant is of another kind than `tensor`. For times, it is a number in their unit.

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
    """Return nested integers as an integer array; an empty one becomes int64."""
    if is_symbolic(numbers):
        return numbers
    array = np.asarray(numbers)
    return array.astype(np.int64) if array.size == 0 else array
