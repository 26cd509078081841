"""Operations on arrays of numbers."""

from typing import Any

import numpy as np
import numpy.typing as npt

from penstock.ops.call import call

__all__ = ["cast", "shape"]


def cast(x: npt.ArrayLike, dtype: npt.DTypeLike, name: str | None = None) -> npt.NDArray[Any]:
    """Convert numbers to another type.

    Parameters
    ----------
    x : array_like
        Numbers or booleans of any shape.
    dtype : dtype_like
        A boolean, integer, float or complex type.
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
    As NumPy's ``astype``: integers wrap around, floats are cut towards zero, an imaginary part is
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
