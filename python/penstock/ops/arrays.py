"""Operations on arrays of numbers."""

from typing import Any

import numpy as np
import numpy.typing as npt

from penstock import _core

__all__ = ["cast"]


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
    return _core.call_op("cast", [x], {"dtype": np.dtype(dtype).name})
