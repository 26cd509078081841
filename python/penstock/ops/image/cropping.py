"""Cropping and padding images."""

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
    """Crop images to a box.

    Parameters
    ----------
    image : array_like
        Shape ``(height, width, channels)`` or ``(batch, height, width, channels)``.
    offset_height : int
        First row of the box, >= 0.
    offset_width : int
        First column of the box, >= 0.
    target_height : int
        Height of the box in pixels, >= 1.
    target_width : int
        Width of the box in pixels, >= 1.

    Returns
    -------
    numpy.ndarray
        A copy with the height and width of the box, and the dtype of `image`.

    Raises
    ------
    ValueError
        If `image` has another rank, or the box does not lie within it. The message names both.
    TypeError
        If one of the four numbers is not an integer.

    Notes
    -----
    If a native function decodes an image only to crop it, only the box is decoded.

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
    """Crop images to their central part.

    Parameters
    ----------
    image : array_like
        Shape ``(height, width, channels)`` or ``(batch, height, width, channels)``.
    central_fraction : float
        Fraction of the height and of the width to keep, above 0 and at most 1. The margins are
        rounded down to whole pixels.

    Returns
    -------
    numpy.ndarray
        A copy of the central part of each image, with the dtype of `image`.

    Raises
    ------
    ValueError
        If `image` has another rank, or `central_fraction` is out of range.

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
    """Pad images with zeros to a given size.

    Parameters
    ----------
    image : array_like
        Shape ``(height, width, channels)`` or ``(batch, height, width, channels)``.
    offset_height : int
        Rows of zeros above the image, >= 0.
    offset_width : int
        Columns of zeros to the left of the image, >= 0.
    target_height : int
        Height of the result, at least that of the image plus the offset.
    target_width : int
        Width of the result, at least that of the image plus the offset.

    Returns
    -------
    numpy.ndarray
        The dtype of `image`, with the new height and width.

    Raises
    ------
    ValueError
        If `image` has another rank, or does not fit into the result. The message names both.
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
    """Crop or pad images around their centre to a given size.

    Parameters
    ----------
    image : array_like
        Shape ``(height, width, channels)`` or ``(batch, height, width, channels)``.
    target_height : int
        Height of the result, >= 1. A larger image keeps its central rows; a smaller one is padded
        with rows of zeros above and below. An odd row is cropped or added below.
    target_width : int
        Width of the result, >= 1, in the same way.

    Returns
    -------
    numpy.ndarray
        The dtype of `image`, with the new height and width. Pixels are not scaled.

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
    """Crop an array to a given size, at a uniformly random position.

    Parameters
    ----------
    value : array_like
        Numbers of any shape.
    size : sequence of int
        Size of the crop along each axis of `value`; -1 keeps the whole axis.
    seed : int, optional
        Makes the draw repeatable; see the notes.
    name : str, optional
        Ignored; accepted for compatibility with TensorFlow.

    Returns
    -------
    numpy.ndarray
        A copy with shape `size` and the dtype of `value`.

    Raises
    ------
    ValueError
        If `size` has another number of axes than `value`, or exceeds it. The message names the
        axis.

    Notes
    -----
    Without a seed, a function called by `Dataset.map` draws from the key of its element, so neither
    threads nor order affect the result. Elsewhere, the draws are determined by
    `penstock.random.set_seed`. With a seed, the draws depend on the seed, the epoch and the
    element: an image and its mask that are cropped with the same seed have the same crop.

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
    """Crop an image to a random size, aspect ratio and position, and resize the crop.

    Parameters
    ----------
    image : array_like
        Shape ``(height, width, channels)``, of a type that `resize` takes.
    size : sequence of int
        Height and width of the result in pixels.
    scale : (float, float)
        Minimum and maximum area of the crop as a fraction of the image, before rounding to pixels.
    ratio : (float, float)
        Minimum and maximum aspect ratio (width / height) of the crop.
    method : str
        As in `resize`.
    antialias : bool
        As in `resize`.
    seed : int, optional
        As in `random_crop`.
    dtype : dtype_like, optional
        The type of the result: uint8, uint16 or a float type. Integers are rounded to the nearest
        value and clipped to the range of the type, as torchvision does for uint8. None is the type
        that `resize` returns: float32, or the dtype of `image` for ``"nearest"``.

    Returns
    -------
    numpy.ndarray
        Shape ``(*size, channels)``, of type `dtype`.

    Raises
    ------
    ValueError
        If `image` has another rank or no pixels; if `scale` or `ratio` is not (low, high) with
        0 < low <= high; or if `size` or `method` is invalid.
    TypeError
        If `dtype` is another type.

    Notes
    -----
    The draws are the same as in torchvision's ``RandomResizedCrop``: an area uniform in `scale` and
    a ratio whose logarithm is uniform, up to ten times until the crop fits into the image, then a
    uniform position. If none fits, the crop is the largest central one with an allowed ratio. To
    replace TensorFlow's ``sample_distorted_bounding_box`` without boxes, pass its ``area_range`` as
    `scale` and ``aspect_ratio_range`` as `ratio`.

    Randomness is as in `random_crop`. If a native function decodes an image only for this call,
    only the crop is decoded.

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
