"""Resizing images."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from penstock.arguments.checked import checked
from penstock.ops.call import call


class ResizeMethod:
    """Names of the methods for `resize`."""

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
    """Resize images.

    Parameters
    ----------
    images : array_like
        Shape ``(height, width, channels)`` or ``(batch, height, width, channels)``, of an integer
        or float type; any type for ``"nearest"``.
    size : sequence of int
        New height and width in pixels.
    method : str
        One of the names in `ResizeMethod`: ``"bilinear"``, ``"nearest"``, ``"bicubic"`` (Keys'
        cubic, a = -1/2), ``"area"`` (mean of the area that a new pixel covers), ``"lanczos3"``,
        ``"lanczos5"``, ``"gaussian"`` (radius 1.5, standard deviation 0.5 pixels) or
        ``"mitchellcubic"``.
    preserve_aspect_ratio : bool
        Use the largest size within `size` that has the aspect ratio of the images.
    antialias : bool
        When shrinking, widen the filter until every pixel contributes, as Pillow does, instead of
        using only the nearest pixels. This does not affect ``"nearest"`` and ``"area"``.
    name : str, optional
        Ignored; accepted for compatibility with TensorFlow.

    Returns
    -------
    numpy.ndarray
        The new height and width, with the dtype of `images` for ``"nearest"`` and float32 for the
        other methods. Values are not rounded. They are in the range of the input, or slightly
        beyond it for methods with negative weights (the cubic ones and Lanczos).

    Raises
    ------
    ValueError
        If `images` has another rank or no pixels, or `size` or `method` is invalid.
    TypeError
        If `images` is of another type.

    Notes
    -----
    The centre of pixel ``i`` is at ``i + 0.5``. The arithmetic follows TensorFlow's float32 kernels
    step by step: ``ResizeBilinear`` and ``ResizeBicubic``, and ``ScaleAndTranslate`` for the other
    filters and for all filters with `antialias`. It agrees with Pillow to within 1 of 255. Lanczos
    and Gaussian weights are rounded only once, so these results differ from TensorFlow's by about
    1e-6 of the values; results of ``"area"`` differ by up to 1e-5.

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
    """Resize images to fit a size without distortion, and pad them with zeros.

    Parameters
    ----------
    image : array_like
        Shape ``(height, width, channels)`` or ``(batch, height, width, channels)``, of a type that
        `resize` accepts.
    target_height : int
        Height of the result, >= 1.
    target_width : int
        Width of the result, >= 1.
    method : str
        As in `resize`.
    antialias : bool
        As in `resize`.

    Returns
    -------
    numpy.ndarray
        The new height and width, with the dtype that `resize` returns. The image is centred; an odd
        row or column of zeros is below or to the right.

    Raises
    ------
    ValueError
        If `image` has another rank or no pixels, a target is below 1, or `method` is invalid.
    TypeError
        If a target is not an integer, or `image` is of another type.

    Notes
    -----
    The size of the image is rounded down in float32, as in TensorFlow, and is at least 1.

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
    """Crop boxes from a batch of images, and resize them to one size.

    Parameters
    ----------
    image : array_like
        Shape ``(batch, height, width, channels)``, of an integer or float type.
    boxes : array_like
        Top, left, bottom and right of each box, shape ``(count, 4)``, where 0 is the centre of the
        first pixel and 1 the centre of the last. Boxes may extend beyond the image. If top is below
        bottom, or left is to the right of right, the crop is mirrored.
    box_indices : array_like
        Index of the image for each box, shape ``(count,)``.
    crop_size : sequence of int
        Height and width of the results in pixels.
    method : str
        ``"bilinear"`` or ``"nearest"``.
    extrapolation_value : float
        Value of pixels outside of the image.
    name : str, optional
        Ignored; accepted for compatibility with TensorFlow.

    Returns
    -------
    numpy.ndarray
        Shape ``(count, *crop_size, channels)``, float32.

    Raises
    ------
    ValueError
        If an argument has another shape, `box_indices` has an invalid index, or `crop_size` or
        `method` is invalid.
    TypeError
        If an argument has another type.

    Notes
    -----
    The corners of a box become the centres of the corner pixels, unlike in `resize`. The arithmetic
    follows TensorFlow's ``CropAndResize``, in float32.

    Examples
    --------
    >>> image = np.arange(9.0).reshape(1, 3, 3, 1)
    >>> ps.image.crop_and_resize(image, [[0, 0.5, 1, 1]], [0], (2, 3))[0, ..., 0]
    array([[1. , 1.5, 2. ],
           [7. , 7.5, 8. ]], dtype=float32)
    """
    inputs = [image, boxes, box_indices, crop_size, extrapolation_value]
    return call("image.crop_and_resize", inputs, {"method": method})
