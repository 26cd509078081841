"""Images at another size."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from penstock.arguments.checked import checked
from penstock.ops.call import call


class ResizeMethod:
    """Names of the methods of `resize`."""

    BILINEAR = "bilinear"
    NEAREST_NEIGHBOR = "nearest"
    BICUBIC = "bicubic"
    AREA = "area"
    LANCZOS3 = "lanczos3"
    LANCZOS5 = "lanczos5"
    GAUSSIAN = "gaussian"
    MITCHELLCUBIC = "mitchellcubic"


@checked
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
        One of the names in `ResizeMethod`: ``"bilinear"``, ``"nearest"``, ``"bicubic"`` (Keys'
        cubic, a = -1/2), ``"area"`` (mean of what a new pixel covers), ``"lanczos3"``,
        ``"lanczos5"``, ``"gaussian"`` (radius 1.5, standard deviation 0.5 pixels) or
        ``"mitchellcubic"``.
    preserve_aspect_ratio : bool
        Take the largest size within `size` that has the proportions of the images.
    antialias : bool
        When shrinking, widen the filter until every pixel is weighed in, as Pillow does, instead
        of looking at the nearest ones alone. Nothing changes for ``"nearest"`` and ``"area"``.
    name : str, optional
        Ignored; TensorFlow's functions have it.

    Returns
    -------
    numpy.ndarray
        Shape as `images` with the new height and width; the dtype of `images` for ``"nearest"``,
        float32 for the others: in the range of the values of `images`, or somewhat beyond it by
        the methods with negative weights (the cubic ones and Lanczos'); not rounded.

    Raises
    ------
    ValueError
        If `images` has another rank or no pixels, or `size` or `method` is not as above.
    TypeError
        If `images` is not of such a type.

    Notes
    -----
    Pixel ``i`` has its center at ``i + 0.5``. The arithmetic is that of TensorFlow's kernels in
    float32, step by step: of ``ResizeBilinear`` and ``ResizeBicubic``; and of
    ``ScaleAndTranslate`` for the other filters, and for all of them with `antialias`. It agrees
    with Pillow to within 1 of 255. Lanczos' and Gaussian weights are rounded once only, so results
    differ from TensorFlow's by about 1e-6 of the values; those of ``"area"`` by up to 1e-5.

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


@checked
def resize_with_pad(
    image: npt.ArrayLike,
    target_height: int,
    target_width: int,
    method: str = ResizeMethod.BILINEAR,
    antialias: bool = False,
) -> npt.NDArray[Any]:
    """Scale images to fit into a size with their proportions, with zeros around them.

    Parameters
    ----------
    image : array_like
        Shape ``(height, width, channels)`` or ``(batch, height, width, channels)``, of a type that
        `resize` takes.
    target_height : int
        Rows of the result, >= 1.
    target_width : int
        Columns of the result, >= 1.
    method : str
        As in `resize`.
    antialias : bool
        As in `resize`.

    Returns
    -------
    numpy.ndarray
        Shape as `image` with the new height and width; the dtype is that of `resize`. The image is
        in the middle, an odd row or column of zeros below or to the right.

    Raises
    ------
    ValueError
        If `image` has another rank or no pixels, a target is below 1, or for another `method`.
    TypeError
        If a target is not an integer, or `image` is not of such a type.

    Notes
    -----
    The size is rounded down in float32, as TensorFlow's, and at least 1.

    Examples
    --------
    >>> ps.image.resize_with_pad(np.full((1, 2, 1), 5, np.uint8), 3, 4, "nearest")[..., 0]
    array([[5, 5, 5, 5],
           [5, 5, 5, 5],
           [0, 0, 0, 0]], dtype=uint8)
    """
    box = call("image.fitted_box", [image, target_height, target_width])
    resized = resize(image, box[2:], method, antialias=antialias)
    return call("image.pad_to_bounding_box", [resized, box[:2], target_height, target_width])


@checked
def crop_and_resize(
    image: npt.ArrayLike,
    boxes: npt.ArrayLike,
    box_indices: npt.ArrayLike,
    crop_size: Sequence[int] | npt.NDArray[np.integer],
    method: str = ResizeMethod.BILINEAR,
    extrapolation_value: float = 0.0,
    name: str | None = None,
) -> npt.NDArray[np.float32]:
    """Cut boxes out of a batch of images, and scale them to one size.

    Parameters
    ----------
    image : array_like
        Shape ``(batch, height, width, channels)``, of an integer or float type.
    boxes : array_like
        Shape ``(count, 4)``: top, left, bottom and right of each box, where 0 is the center of the
        first pixel and 1 that of the last. They may lie outside; a box whose top is below its
        bottom, or left is right of its right, gives a mirrored crop.
    box_indices : array_like
        Shape ``(count,)``: the number of the image that each box is of.
    crop_size : sequence of int
        Height and width of the results, pixels.
    method : str
        ``"bilinear"`` or ``"nearest"``.
    extrapolation_value : float
        What stands for pixels outside of the image.
    name : str, optional
        Ignored; TensorFlow's functions have it.

    Returns
    -------
    numpy.ndarray
        Shape ``(count, *crop_size, channels)``, float32.

    Raises
    ------
    ValueError
        If an argument has another shape, `box_indices` are not numbers of images, or for another
        `crop_size` or `method`.
    TypeError
        If an argument is of another type.

    Notes
    -----
    The corners of a box become the centers of the corner pixels, which differs from `resize`. The
    arithmetic is that of TensorFlow's ``CropAndResize``, in float32.

    Examples
    --------
    >>> image = np.arange(9.0).reshape(1, 3, 3, 1)
    >>> ps.image.crop_and_resize(image, [[0, 0.5, 1, 1]], [0], (2, 3))[0, ..., 0]
    array([[1. , 1.5, 2. ],
           [7. , 7.5, 8. ]], dtype=float32)
    """
    inputs = [image, boxes, box_indices, crop_size, extrapolation_value]
    return call("image.crop_and_resize", inputs, {"method": method})
