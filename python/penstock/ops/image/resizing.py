"""Images at another size."""

from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from penstock.ops.call import call


class ResizeMethod:
    """Names of the methods of `resize`."""

    BILINEAR = "bilinear"
    NEAREST_NEIGHBOR = "nearest"


def resize(
    images: npt.ArrayLike,
    size: Sequence[int] | npt.NDArray[np.integer],
    method: str = ResizeMethod.BILINEAR,
    preserve_aspect_ratio: bool = False,
    antialias: bool = False,
    name: str | None = None,
) -> npt.NDArray[Any]:
    """Scale images to another size.

    Parameters
    ----------
    images : array_like
        Shape ``(height, width, channels)`` or ``(batch, height, width, channels)``, of an integer
        or float type; any type for ``"nearest"``.
    size : sequence of int
        New height and width, pixels.
    method : str
        ``"bilinear"`` or ``"nearest"``.
    preserve_aspect_ratio : bool
        Take the largest size within `size` that has the proportions of the images.
    antialias : bool
        When shrinking by ``"bilinear"``, weigh in every pixel (a triangle filter, as Pillow's)
        instead of the four nearest ones.
    name : str, optional
        Ignored; TensorFlow's functions have it.

    Returns
    -------
    numpy.ndarray
        Shape as `images` with the new height and width; float32 for ``"bilinear"`` (same range of
        values, not rounded), the dtype of `images` for ``"nearest"``.

    Raises
    ------
    ValueError
        If `images` has another rank or no pixels, or `size` or `method` is not as above.
    TypeError
        If `images` is not of such a type.

    Notes
    -----
    Pixel ``i`` has its center at ``i + 0.5``. Without `antialias` the arithmetic is that of
    TensorFlow's ``ResizeBilinear`` kernel in float32, step by step; with it, that of
    ``ScaleAndTranslate``, which agrees with Pillow to within 1 of 255.

    Examples
    --------
    >>> image = np.array([[[0], [4]]], np.uint8)
    >>> ps.image.resize(image, (1, 4))[..., 0]
    array([[0., 1., 3., 4.]], dtype=float32)
    >>> ps.image.resize(image, (1, 4), "nearest")[..., 0]
    array([[0, 0, 4, 4]], dtype=uint8)
    """
    attributes = {
        "method": method,
        "preserve_aspect_ratio": bool(preserve_aspect_ratio),
        "antialias": bool(antialias),
    }
    return call("image.resize", [images, size], attributes)
