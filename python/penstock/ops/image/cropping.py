"""Crops of images, fixed, drawn or central, and images on larger canvases."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from penstock.arguments.checked import checked
from penstock.ops.array import cast
from penstock.ops.call import call
from penstock.ops.image.resizing import ResizeMethod, resize

_PIXEL_TYPES = ("uint8", "uint16", "float16", "float32", "float64")


@checked
def crop_to_bounding_box(
    image: npt.ArrayLike,
    offset_height: int,
    offset_width: int,
    target_height: int,
    target_width: int,
) -> npt.NDArray[Any]:
    """Cut a box out of images.

    Parameters
    ----------
    image : array_like
        Shape ``(height, width, channels)`` or ``(batch, height, width, channels)``.
    offset_height : int
        The first row of the box, pixels from the top, >= 0.
    offset_width : int
        The first column of the box, pixels from the left, >= 0.
    target_height : int
        Rows of the box, >= 1.
    target_width : int
        Columns of the box, >= 1.

    Returns
    -------
    numpy.ndarray
        Shape as `image` with the height and width of the box, the dtype of `image`; a copy.

    Raises
    ------
    ValueError
        If `image` has another rank, or the box does not lie within it; names both.
    TypeError
        If one of the four numbers is not an integer.

    Notes
    -----
    In a native program a decoder whose image is only cropped decodes the box alone.

    Examples
    --------
    >>> image = np.arange(12).reshape(3, 4, 1)
    >>> ps.image.crop_to_bounding_box(image, 1, 2, 2, 2)[..., 0]
    array([[ 6,  7],
           [10, 11]])
    """
    box = [offset_height, offset_width, target_height, target_width]
    return call("image.crop_to_bounding_box", [image, *box])


@checked
def central_crop(image: npt.ArrayLike, central_fraction: float) -> npt.NDArray[Any]:
    """Cut the middle out of images.

    Parameters
    ----------
    image : array_like
        Shape ``(height, width, channels)`` or ``(batch, height, width, channels)``.
    central_fraction : float
        How much of the height and of the width is kept, above 0 and at most 1. The margins are
        rounded down to whole pixels.

    Returns
    -------
    numpy.ndarray
        The middle of each image, the dtype of `image`; a copy.

    Raises
    ------
    ValueError
        If `image` has another rank, or `central_fraction` is not as above.

    Examples
    --------
    >>> ps.image.central_crop(np.zeros((10, 20, 3)), 0.5).shape
    (6, 10, 3)
    """
    return call("image.central_crop", [image, central_fraction])


@checked
def pad_to_bounding_box(
    image: npt.ArrayLike,
    offset_height: int,
    offset_width: int,
    target_height: int,
    target_width: int,
) -> npt.NDArray[Any]:
    """Put images on a larger canvas of zeros.

    Parameters
    ----------
    image : array_like
        Shape ``(height, width, channels)`` or ``(batch, height, width, channels)``.
    offset_height : int
        Rows of zeros above the image, >= 0.
    offset_width : int
        Columns of zeros to its left, >= 0.
    target_height : int
        Rows of the result, at least those of the image and the offset.
    target_width : int
        Columns of the result, likewise.

    Returns
    -------
    numpy.ndarray
        Shape as `image` with the new height and width, the dtype of `image`.

    Raises
    ------
    ValueError
        If `image` has another rank, or does not lie within the canvas; names both.
    TypeError
        If one of the four numbers is not an integer.

    Examples
    --------
    >>> ps.image.pad_to_bounding_box(np.ones((1, 2, 1), np.uint8), 1, 0, 2, 3)[..., 0]
    array([[0, 0, 0],
           [1, 1, 0]], dtype=uint8)
    """
    box = [offset_height, offset_width, target_height, target_width]
    return call("image.pad_to_bounding_box", [image, *box])


@checked
def resize_with_crop_or_pad(
    image: npt.ArrayLike, target_height: int, target_width: int
) -> npt.NDArray[Any]:
    """Bring images to a size by cutting their middle out, or by zeros around them.

    Parameters
    ----------
    image : array_like
        Shape ``(height, width, channels)`` or ``(batch, height, width, channels)``.
    target_height : int
        Rows of the result, >= 1. Where the image has more, the middle ones are kept; where it has
        fewer, rows of zeros are added above and below. The odd one is cut, or added, below.
    target_width : int
        Columns of the result, likewise.

    Returns
    -------
    numpy.ndarray
        Shape as `image` with the new height and width, the dtype of `image`; not scaled.

    Raises
    ------
    ValueError
        If `image` has another rank, or a target is below 1.
    TypeError
        If a target is not an integer.

    Examples
    --------
    >>> image = np.arange(1, 9).reshape(2, 4, 1)
    >>> ps.image.resize_with_crop_or_pad(image, 3, 2)[..., 0]
    array([[2, 3],
           [6, 7],
           [0, 0]])
    """
    return call("image.resize_with_crop_or_pad", [image, target_height, target_width])


@checked
def random_crop(
    value: npt.ArrayLike,
    size: Sequence[int] | npt.NDArray[np.integer],
    seed: int | None = None,
    name: str | None = None,
) -> npt.NDArray[Any]:
    """Crop an array to a given size, at a uniformly drawn position.

    Parameters
    ----------
    value : array_like
        Numbers of any shape.
    size : sequence of int
        Size of the crop along each axis of `value`; -1 keeps the axis whole.
    seed : int, optional
        Makes the draw repeatable; see the notes.
    name : str, optional
        Ignored; TensorFlow's functions have it.

    Returns
    -------
    numpy.ndarray
        Shape `size`, the dtype of `value`; a copy.

    Raises
    ------
    ValueError
        If `size` has another number of axes than `value`, or exceeds it; names the axis.

    Notes
    -----
    Randomness: without a seed, a function that `Dataset.map` calls draws from the key of its
    element, so neither threads nor order change the result; elsewhere, the draws follow
    `penstock.random.set_seed`. With a seed, the draws depend on seed, epoch and element: an
    image and its mask that are cropped with the same seed are cropped alike.

    Examples
    --------
    >>> image = np.zeros((10, 8, 3), np.uint8)
    >>> ps.image.random_crop(image, (6, 6, -1)).shape
    (6, 6, 3)
    """
    return call("image.random_crop", [value, size], {"seed": seed})


@checked
def random_resized_crop(
    image: npt.ArrayLike,
    size: Sequence[int] | npt.NDArray[np.integer],
    scale: Sequence[float] = (0.08, 1),
    ratio: Sequence[float] = (3 / 4, 4 / 3),
    method: str = ResizeMethod.BILINEAR,
    antialias: bool = False,
    seed: int | None = None,
    *,
    dtype: npt.DTypeLike | None = None,
) -> npt.NDArray[Any]:
    """Crop an image to a drawn size, ratio and position, and resize the crop.

    Parameters
    ----------
    image : array_like
        Shape ``(height, width, channels)``, of a type that `resize` takes.
    size : sequence of int
        Height and width of the result, pixels.
    scale : (float, float)
        Least and greatest share of the image's area that is cut out, before rounding to pixels.
    ratio : (float, float)
        Least and greatest width divided by height of the crop.
    method : str
        As in `resize`.
    antialias : bool
        As in `resize`.
    seed : int, optional
        As in `random_crop`.
    dtype : dtype_like, optional
        The type of the result: uint8, uint16 or a float type. Integers are rounded to the nearest,
        and limited to the range of the type, as torchvision does for uint8. None is the type that
        `resize` returns: float32, or for ``"nearest"`` that of `image`.

    Returns
    -------
    numpy.ndarray
        Shape ``(*size, channels)``, of type `dtype`.

    Raises
    ------
    ValueError
        If `image` has another rank or no pixels; if `scale` or `ratio` is not (low, high) with
        0 < low <= high; or for a wrong `size` or `method`.
    TypeError
        If `dtype` is another type.

    Notes
    -----
    The draws are those of torchvision's ``RandomResizedCrop``: an area uniform in `scale` and a
    ratio whose logarithm is uniform, up to ten times until the crop fits into the image, then a
    uniform position. Else it is the largest crop in the middle whose ratio is allowed. For
    ``sample_distorted_bounding_box`` of TensorFlow without boxes, give its ``area_range`` as
    `scale` and ``aspect_ratio_range`` as `ratio`.

    Randomness: as in `random_crop`. In a native program a decoder before it decodes only the crop.

    Examples
    --------
    >>> image = np.zeros((50, 80, 3), np.uint8)
    >>> ps.image.random_resized_crop(image, (32, 32)).shape
    (32, 32, 3)
    >>> ps.image.random_resized_crop(image, (32, 32), dtype=np.uint8).dtype
    dtype('uint8')
    """
    if dtype is not None and np.dtype(dtype).name not in _PIXEL_TYPES:
        raise TypeError(
            f"random_resized_crop: dtype must be uint8, uint16 or a float type, got {dtype!r}"
        )
    window = call("image.random_window", [image, scale, ratio], {"seed": seed})
    part = call("image.crop_to_bounding_box", [image, window])
    resized = resize(part, size, method, antialias=antialias)
    if dtype is None:
        return resized
    if np.dtype(dtype).kind == "u":
        resized = np.clip(np.rint(resized), 0, np.iinfo(dtype).max)
    return cast(resized, dtype)
