"""What pixels hold: their type and range."""

from typing import Any

import numpy as np
import numpy.typing as npt

from penstock.ops.call import call


def convert_image_dtype(
    image: npt.ArrayLike, dtype: npt.DTypeLike, saturate: bool = False, name: str | None = None
) -> npt.NDArray[Any]:
    """Convert images to another type, and scale their values to its range.

    Floats span [0, 1], integers from 0 to their largest value.

    Parameters
    ----------
    image : array_like
        Integers or floats of any shape.
    dtype : dtype_like
        An integer or float type.
    saturate : bool
        Clip values beyond the range of an integer `dtype`, instead of letting them wrap.
    name : str, optional
        Ignored; TensorFlow's functions have it.

    Returns
    -------
    numpy.ndarray
        The same shape, of type `dtype`.

    Raises
    ------
    TypeError
        If a type is neither integer nor float.

    Notes
    -----
    TensorFlow's rules: integer to float multiplies by ``1 / max``; float to integer multiplies by
    ``max + 0.5`` and cuts; between integers, values are shifted, so that 255 of uint8 becomes 65280
    of uint16 and comes back as 255; float to float is a cast.

    Examples
    --------
    >>> ps.image.convert_image_dtype(np.array([0, 255], np.uint8), np.float32)
    array([0., 1.], dtype=float32)
    >>> ps.image.convert_image_dtype([-0.5, 0.5, 2.0], np.uint8, saturate=True)
    array([  0, 127, 255], dtype=uint8)
    """
    attributes = {"dtype": np.dtype(dtype).name, "saturate": bool(saturate)}
    return call("image.convert_image_dtype", [image], attributes)
