"""Where pixels are: size, parts and mirror images."""

from collections.abc import Sequence
from operator import index
from typing import Any

import numpy as np
import numpy.typing as npt

from penstock.ops.call import call, is_symbolic


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
        "size": [index(n) for n in size],
        "method": method,
        "preserve_aspect_ratio": bool(preserve_aspect_ratio),
        "antialias": bool(antialias),
    }
    return call("image.resize", [images], attributes)


def random_crop(
    value: npt.ArrayLike,
    size: Sequence[int] | npt.NDArray[np.integer],
    seed: int | None = None,
    name: str | None = None,
) -> npt.NDArray[Any]:
    """Cut a part of a given size out of an array, at a uniformly drawn place.

    Parameters
    ----------
    value : array_like
        Numbers of any shape.
    size : sequence of int
        Size of the part along each axis of `value`; -1 keeps the axis whole.
    seed : int, optional
        What the place is drawn from; ``None`` is explained in the notes.
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
    `penstock.random.set_seed`.

    Examples
    --------
    >>> image = np.zeros((10, 8, 3), np.uint8)
    >>> ps.image.random_crop(image, (6, 6, -1)).shape
    (6, 6, 3)
    """
    return call("image.random_crop", [value, _whole(size)], {"seed": seed})


def _whole(numbers: Any) -> Any:
    """Return numbers that must be whole as an operation takes them."""
    return numbers if is_symbolic(numbers) else np.array([index(n) for n in numbers], np.int64)


def flip_left_right(image: npt.ArrayLike) -> npt.NDArray[Any]:
    """Mirror images along their width.

    Parameters
    ----------
    image : array_like
        Shape ``(height, width, channels)`` or ``(batch, height, width, channels)``.

    Returns
    -------
    numpy.ndarray
        The same shape and dtype; a copy.

    Raises
    ------
    ValueError
        If `image` has another rank.

    Examples
    --------
    >>> ps.image.flip_left_right(np.array([[[1], [2], [3]]]))[..., 0]
    array([[3, 2, 1]])
    """
    return call("image.flip_left_right", [image])


def random_flip_left_right(image: npt.ArrayLike, seed: int | None = None) -> npt.NDArray[Any]:
    """Mirror images along their width, each with a probability of one half.

    Parameters
    ----------
    image : array_like
        Shape ``(height, width, channels)``, or ``(batch, height, width, channels)``, of which each
        image has a draw of its own.
    seed : int, optional
        As in `random_crop`.

    Returns
    -------
    numpy.ndarray
        The same shape and dtype; a copy.

    Raises
    ------
    ValueError
        If `image` has another rank.

    Examples
    --------
    >>> image = np.array([[[1], [2], [3]]])
    >>> ps.image.random_flip_left_right(image)[0, 1, 0]
    np.int64(2)
    """
    return call("image.random_flip_left_right", [image], {"seed": seed})
