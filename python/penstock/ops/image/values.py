"""Pixel values: types, ranges, brightness, contrast and normalization."""

from __future__ import annotations

from typing import Any

import numpy as np
import numpy.typing as npt

from penstock.arguments.checked import checked
from penstock.ops.call import call


@checked
def convert_image_dtype(
    image: npt.ArrayLike, dtype: npt.DTypeLike, saturate: bool = False, name: str | None = None
) -> npt.NDArray[Any]:
    """Convert images to another dtype, and scale their values to its range.

    Floats span [0, 1], integers from 0 to their largest value.

    Parameters
    ----------
    image : array_like
        Integers or floats of any shape.
    dtype : dtype_like
        An integer or float type.
    saturate : bool
        Clip values beyond the range of an integer `dtype` instead of wrapping around.
    name : str, optional
        Ignored; accepted for compatibility with TensorFlow.

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
    The rules are TensorFlow's. Integer to float multiplies by ``1 / max``. Float to integer
    multiplies by ``max + 0.5`` and truncates. Between integers, values are shifted, so 255 of uint8
    becomes 65280 of uint16 and converts back to 255. Float to float is a cast.

    Examples
    --------
    >>> ps.image.convert_image_dtype(np.array([0, 255], np.uint8), np.float32)
    array([0., 1.], dtype=float32)
    >>> ps.image.convert_image_dtype([-0.5, 0.5, 2.0], np.uint8, saturate=True)
    array([  0, 127, 255], dtype=uint8)
    """
    attributes = {"dtype": np.dtype(dtype).name, "saturate": bool(saturate)}
    return call("image.convert_image_dtype", [image], attributes)


@checked
def adjust_brightness(image: npt.ArrayLike, delta: float) -> npt.NDArray[Any]:
    """Adjust the brightness of images.

    Parameters
    ----------
    image : array_like
        Integers or floats of any shape.
    delta : float
        The number to add. For an integer type, 1 is the whole range.

    Returns
    -------
    numpy.ndarray
        The same shape and dtype. Integers are clipped to their range, floats are not.

    Raises
    ------
    TypeError
        If `image` has neither integers nor floats.
    ValueError
        If `delta` is not a single number.

    Notes
    -----
    Integers are converted to float32 and back as in `convert_image_dtype`. float64 is also computed
    in float32. The same applies to all functions that adjust images.

    Examples
    --------
    >>> ps.image.adjust_brightness(np.array([0, 100, 250], np.uint8), 0.1)
    array([ 25, 125, 255], dtype=uint8)
    """
    return call("image.adjust_brightness", [image, delta])


@checked
def adjust_contrast(images: npt.ArrayLike, contrast_factor: float) -> npt.NDArray[Any]:
    """Adjust the contrast of images.

    Parameters
    ----------
    images : array_like
        Integers or floats, shape ``(..., height, width, channels)``.
    contrast_factor : float
        Factor for the differences from the mean of each channel in each image.

    Returns
    -------
    numpy.ndarray
        The same shape and dtype. Integers are clipped to their range, floats are not.

    Raises
    ------
    TypeError
        If `images` has neither integers nor floats.
    ValueError
        If `images` has fewer than three axes, or `contrast_factor` is not a single number.

    Examples
    --------
    >>> images = np.array([[[100], [150]]], np.uint8)
    >>> ps.image.adjust_contrast(images, 2)[..., 0]
    array([[ 75, 175]], dtype=uint8)
    """
    return call("image.adjust_contrast", [images, contrast_factor])


@checked
def adjust_gamma(image: npt.ArrayLike, gamma: float = 1, gain: float = 1) -> npt.NDArray[Any]:
    """Apply gamma correction to images: ``gain * image ** gamma``.

    Parameters
    ----------
    image : array_like
        Integers or floats of any shape.
    gamma : float
        The exponent, >= 0. Values above 1 darken images, values below 1 brighten them.
    gain : float
        Factor for the result.

    Returns
    -------
    numpy.ndarray
        The same shape and dtype. Integers are clipped to their range, floats are not.

    Raises
    ------
    TypeError
        If `image` has neither integers nor floats.
    ValueError
        If `gamma` is negative, or `gamma` or `gain` is not a single number.

    Examples
    --------
    >>> ps.image.adjust_gamma(np.array([0, 64, 255], np.uint8), 0.5)
    array([  0, 128, 255], dtype=uint8)
    """
    return call("image.adjust_gamma", [image, gamma, gain])


@checked
def random_brightness(
    image: npt.ArrayLike, max_delta: float, seed: int | None = None
) -> npt.NDArray[Any]:
    """Adjust the brightness of images by a random amount.

    Parameters
    ----------
    image : array_like
        As for `adjust_brightness`.
    max_delta : float
        The amount is drawn from [-max_delta, max_delta).
    seed : int, optional
        As in `random_crop`.

    Returns
    -------
    numpy.ndarray
        The result of `adjust_brightness`. One amount is used for a whole batch.

    Raises
    ------
    ValueError
        If `max_delta` is negative.

    Examples
    --------
    >>> image = np.full((2, 2, 3), 0.5, np.float32)
    >>> changed = ps.image.random_brightness(image, 0.1)
    >>> bool((abs(changed - 0.5) <= 0.1).all())
    True
    """
    return call("image.random_brightness", [image], around("random_brightness", max_delta, seed))


@checked
def random_contrast(
    image: npt.ArrayLike, lower: float, upper: float, seed: int | None = None
) -> npt.NDArray[Any]:
    """Adjust the contrast of images by a random factor.

    Parameters
    ----------
    image : array_like
        As for `adjust_contrast`.
    lower, upper : float
        The factor is drawn from [lower, upper).
    seed : int, optional
        As in `random_crop`.

    Returns
    -------
    numpy.ndarray
        The result of `adjust_contrast`. One factor is used for a whole batch.

    Raises
    ------
    ValueError
        If `lower` is negative or not less than `upper`.

    Examples
    --------
    >>> image = np.array([[[0.25], [0.75]]], np.float32)
    >>> changed = ps.image.random_contrast(image, 0.5, 1.5)
    >>> bool(0.25 <= changed[0, 1, 0] - changed[0, 0, 0] <= 0.75)
    True
    """
    return call("image.random_contrast", [image], between("random_contrast", lower, upper, seed))


def around(name: str, max_delta: float, seed: int | None) -> dict[str, Any]:
    """Return the attributes of an operation with a random amount around 0."""
    most = float(max_delta)
    if not most >= 0:
        raise ValueError(f"{name}: max_delta must be >= 0, got {max_delta}")
    return {"lower": -most, "upper": most, "seed": seed}


def between(name: str, lower: float, upper: float, seed: int | None) -> dict[str, Any]:
    """Return the attributes of an operation with a random factor."""
    least, most = float(lower), float(upper)
    if not 0 <= least < most:
        raise ValueError(f"{name}: lower must be >= 0 and below upper, got {lower} and {upper}")
    return {"lower": least, "upper": most, "seed": seed}


@checked
def per_image_standardization(image: npt.ArrayLike) -> npt.NDArray[np.float32]:
    """Standardize each image to mean 0 and variance 1.

    Parameters
    ----------
    image : array_like
        Integers or floats, shape ``(..., height, width, channels)``.

    Returns
    -------
    numpy.ndarray
        The same shape, float32: ``(image - mean) / max(std, 1 / sqrt(n))``, where mean and standard
        deviation are taken over all ``n`` values of an image.

    Raises
    ------
    TypeError
        If `image` has neither integers nor floats.
    ValueError
        If `image` has fewer than three axes.

    Notes
    -----
    Sums are computed in float64, in the same order on every CPU.

    Examples
    --------
    >>> ps.image.per_image_standardization(np.array([[[1], [3]]], np.uint8))[..., 0]
    array([[-1.,  1.]], dtype=float32)
    """
    return call("image.per_image_standardization", [image])


@checked
def normalize(
    image: npt.ArrayLike, mean: npt.ArrayLike, std: npt.ArrayLike
) -> npt.NDArray[np.float32]:
    """Subtract a mean and divide by a standard deviation, for each channel.

    Parameters
    ----------
    image : array_like
        Integers or floats, shape ``(..., channels)``.
    mean, std : array_like of float
        One number for each channel, or one for all, in the units of `image`. Multiply values for
        [0, 1] by 255 for uint8.

    Returns
    -------
    numpy.ndarray
        The same shape, float32: ``(image - mean) / std``, computed in float32.

    Raises
    ------
    TypeError
        If an argument has neither integers nor floats.
    ValueError
        If the number of means or deviations differs from the number of channels, or a deviation is
        0.

    Examples
    --------
    >>> mean, std = 255 * np.array([0.485, 0.456, 0.406]), 255 * np.array([0.229, 0.224, 0.225])
    >>> image = np.full((1, 1, 3), 128, np.uint8)
    >>> ps.image.normalize(image, mean, std).round(3)
    array([[[0.074, 0.205, 0.426]]], dtype=float32)
    """
    return call("image.normalize", [image, mean, std])
