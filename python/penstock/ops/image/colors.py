"""Colours: saturation, hue and colour spaces."""

from __future__ import annotations

from typing import Any

import numpy.typing as npt

from penstock.arguments.checked import checked
from penstock.ops.call import call
from penstock.ops.image.values import around, between


@checked
def adjust_saturation(
    image: npt.ArrayLike, saturation_factor: float, name: str | None = None
) -> npt.NDArray[Any]:
    """Adjust the saturation of images.

    Parameters
    ----------
    image : array_like
        Integers or floats, shape ``(..., height, width, 3)``, RGB.
    saturation_factor : float
        Factor for the saturation; 0 yields gray. The product is clipped to [0, 1].
    name : str, optional
        Ignored; accepted for compatibility with TensorFlow.

    Returns
    -------
    numpy.ndarray
        The same shape and dtype. Hue and value (the maximum of the three colours) do not change.

    Raises
    ------
    TypeError
        If `image` has neither integers nor floats.
    ValueError
        If `image` has another shape, or `saturation_factor` is not one number.

    Examples
    --------
    >>> image = np.array([[[200, 150, 100]]], np.uint8)
    >>> ps.image.adjust_saturation(image, 0.5)
    array([[[200, 175, 150]]], dtype=uint8)
    """
    return call("image.adjust_saturation", [image, saturation_factor])


@checked
def adjust_hue(image: npt.ArrayLike, delta: float, name: str | None = None) -> npt.NDArray[Any]:
    """Adjust the hue of images.

    Parameters
    ----------
    image : array_like
        Integers or floats, shape ``(..., height, width, 3)``, RGB.
    delta : float
        Number of turns to add to the hue, from -1 to 1: 1/3 changes red to green.
    name : str, optional
        Ignored; accepted for compatibility with TensorFlow.

    Returns
    -------
    numpy.ndarray
        The same shape and dtype. The maximum and minimum of the three colours do not change.

    Raises
    ------
    TypeError
        If `image` has neither integers nor floats.
    ValueError
        If `image` has another shape, or `delta` is not one number from -1 to 1.

    Examples
    --------
    >>> image = np.array([[[255, 0, 0]]], np.uint8)
    >>> ps.image.adjust_hue(image, 0.5)
    array([[[  0, 255, 255]]], dtype=uint8)
    """
    return call("image.adjust_hue", [image, delta])


@checked
def random_saturation(
    image: npt.ArrayLike, lower: float, upper: float, seed: int | None = None
) -> npt.NDArray[Any]:
    """Adjust the saturation of images by a random factor.

    Parameters
    ----------
    image : array_like
        As for `adjust_saturation`.
    lower, upper : float
        The factor is drawn from [lower, upper).
    seed : int, optional
        As in `random_crop`.

    Returns
    -------
    numpy.ndarray
        The result of `adjust_saturation`. One factor is used for a whole batch.

    Raises
    ------
    ValueError
        If `lower` is negative or not less than `upper`.

    Examples
    --------
    >>> image = np.array([[[200, 150, 100]]], np.uint8)
    >>> ps.image.random_saturation(image, 0.5, 1.5)[0, 0, 0]
    np.uint8(200)
    """
    return call(
        "image.random_saturation", [image], between("random_saturation", lower, upper, seed)
    )


@checked
def random_hue(image: npt.ArrayLike, max_delta: float, seed: int | None = None) -> npt.NDArray[Any]:
    """Adjust the hue of images by a random angle.

    Parameters
    ----------
    image : array_like
        As for `adjust_hue`.
    max_delta : float
        The angle is drawn from [-max_delta, max_delta), in turns; from 0 to 0.5.
    seed : int, optional
        As in `random_crop`.

    Returns
    -------
    numpy.ndarray
        The result of `adjust_hue`. One angle is used for a whole batch.

    Raises
    ------
    ValueError
        If `max_delta` is negative or above 0.5.

    Examples
    --------
    >>> image = np.array([[[200, 150, 100]]], np.uint8)
    >>> ps.image.random_hue(image, 0.5).max()
    np.uint8(200)
    """
    attributes = around("random_hue", max_delta, seed)
    if attributes["upper"] > 0.5:
        raise ValueError(f"random_hue: max_delta must be <= 0.5, got {max_delta}")
    return call("image.random_hue", [image], attributes)


@checked
def rgb_to_grayscale(images: npt.ArrayLike, name: str | None = None) -> npt.NDArray[Any]:
    """Convert RGB images to grayscale.

    Parameters
    ----------
    images : array_like
        Integers or floats, shape ``(..., 3)``.
    name : str, optional
        Ignored; accepted for compatibility with TensorFlow.

    Returns
    -------
    numpy.ndarray
        Shape ``(..., 1)``, the same dtype: ``0.2989 r + 0.587 g + 0.114 b`` in float32.

    Raises
    ------
    TypeError
        If `images` has neither integers nor floats.
    ValueError
        If there are not three channels.

    Examples
    --------
    >>> ps.image.rgb_to_grayscale(np.array([[[255, 0, 0], [0, 255, 0]]], np.uint8))[..., 0]
    array([[ 76, 149]], dtype=uint8)
    """
    return call("image.rgb_to_grayscale", [images])


@checked
def grayscale_to_rgb(images: npt.ArrayLike, name: str | None = None) -> npt.NDArray[Any]:
    """Convert grayscale images to RGB by repeating their channel.

    Parameters
    ----------
    images : array_like
        Shape ``(..., 1)``.
    name : str, optional
        Ignored; accepted for compatibility with TensorFlow.

    Returns
    -------
    numpy.ndarray
        Shape ``(..., 3)``, the same dtype.

    Raises
    ------
    ValueError
        If there is more than one channel.

    Examples
    --------
    >>> ps.image.grayscale_to_rgb(np.array([[[1], [2]]]))
    array([[[1, 1, 1],
            [2, 2, 2]]])
    """
    return call("image.grayscale_to_rgb", [images])


@checked
def rgb_to_hsv(images: npt.ArrayLike, name: str | None = None) -> npt.NDArray[Any]:
    """Convert RGB images to hue, saturation and value.

    Parameters
    ----------
    images : array_like
        Floats in [0, 1], shape ``(..., 3)``.
    name : str, optional
        Ignored; accepted for compatibility with TensorFlow.

    Returns
    -------
    numpy.ndarray
        The same shape and dtype. Hue is in turns, in [0, 1); value is the maximum of the three
        colours. Computed in float32.

    Raises
    ------
    TypeError
        If `images` does not have floats.
    ValueError
        If there are not three channels.

    Examples
    --------
    >>> ps.image.rgb_to_hsv([[[0.0, 0.5, 0.0]]]).round(3)
    array([[[0.333, 1.   , 0.5  ]]])
    """
    return call("image.rgb_to_hsv", [images])


@checked
def hsv_to_rgb(images: npt.ArrayLike, name: str | None = None) -> npt.NDArray[Any]:
    """Convert hue, saturation and value to RGB images.

    Parameters
    ----------
    images : array_like
        Floats in [0, 1], shape ``(..., 3)``, as returned by `rgb_to_hsv`.
    name : str, optional
        Ignored; accepted for compatibility with TensorFlow.

    Returns
    -------
    numpy.ndarray
        The same shape and dtype. Computed in float32.

    Raises
    ------
    TypeError
        If `images` does not have floats.
    ValueError
        If there are not three channels.

    Examples
    --------
    >>> ps.image.hsv_to_rgb([[[0.5, 1.0, 0.75]]])
    array([[[0.  , 0.75, 0.75]]])
    """
    return call("image.hsv_to_rgb", [images])
