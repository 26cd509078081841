"""Flipping, rotating and transposing images."""

from __future__ import annotations

from typing import Any

import numpy.typing as npt

from penstock.arguments.checked import checked
from penstock.ops.call import call


@checked
def flip_left_right(image: npt.ArrayLike) -> npt.NDArray[Any]:
    """Flip images horizontally.

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


@checked
def flip_up_down(image: npt.ArrayLike) -> npt.NDArray[Any]:
    """Flip images vertically.

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
    >>> ps.image.flip_up_down(np.array([[[1]], [[2]], [[3]]]))[..., 0]
    array([[3],
           [2],
           [1]])
    """
    return call("image.flip_up_down", [image])


@checked
def random_flip_left_right(image: npt.ArrayLike, seed: int | None = None) -> npt.NDArray[Any]:
    """Flip images horizontally with a probability of one half.

    Parameters
    ----------
    image : array_like
        Shape ``(height, width, channels)`` or ``(batch, height, width, channels)``. Each image of a
        batch has a separate draw.
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


@checked
def random_flip_up_down(image: npt.ArrayLike, seed: int | None = None) -> npt.NDArray[Any]:
    """Flip images vertically with a probability of one half.

    Parameters
    ----------
    image : array_like
        Shape ``(height, width, channels)`` or ``(batch, height, width, channels)``. Each image of a
        batch has a separate draw.
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
    >>> image = np.array([[[1]], [[2]], [[3]]])
    >>> ps.image.random_flip_up_down(image)[1, 0, 0]
    np.int64(2)
    """
    return call("image.random_flip_up_down", [image], {"seed": seed})


@checked
def rot90(image: npt.ArrayLike, k: int = 1, name: str | None = None) -> npt.NDArray[Any]:
    """Rotate images counterclockwise by quarter turns.

    Parameters
    ----------
    image : array_like
        Shape ``(height, width, channels)`` or ``(batch, height, width, channels)``.
    k : int
        Number of quarter turns; negative numbers rotate clockwise.
    name : str, optional
        Ignored; accepted for compatibility with TensorFlow.

    Returns
    -------
    numpy.ndarray
        A copy with the dtype of `image`. Height and width are swapped if `k` is odd.

    Raises
    ------
    ValueError
        If `image` has another rank.
    TypeError
        If `k` is not an integer.

    Examples
    --------
    >>> image = np.array([[[1], [2]], [[3], [4]]])
    >>> ps.image.rot90(image)[..., 0]
    array([[2, 4],
           [1, 3]])
    """
    return call("image.rot90", [image, k])


@checked
def transpose(image: npt.ArrayLike, name: str | None = None) -> npt.NDArray[Any]:
    """Transpose the height and width of images.

    Parameters
    ----------
    image : array_like
        Shape ``(height, width, channels)`` or ``(batch, height, width, channels)``.
    name : str, optional
        Ignored; accepted for compatibility with TensorFlow.

    Returns
    -------
    numpy.ndarray
        A copy with the dtype of `image`. Row ``i`` is column ``i`` of the image.

    Raises
    ------
    ValueError
        If `image` has another rank.

    Examples
    --------
    >>> ps.image.transpose(np.array([[[1], [2]], [[3], [4]]]))[..., 0]
    array([[1, 3],
           [2, 4]])
    """
    return call("image.transpose", [image])
