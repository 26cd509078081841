"""Functions of neighbouring pixels: differences, edges and patches."""

from __future__ import annotations

from typing import Any

import numpy as np

from penstock.compat.errors import InvalidArgumentError, raise_translated
from penstock.compat.listing import listing
from penstock.compat.tensor import tensor
from penstock.compat.windows import pair, windows

_SOBEL = ((-1, -2, -1), (0, 0, 0), (1, 2, 1))


def total_variation(images: Any, name: str | None = None) -> Any:
    """Return the sum of absolute differences of neighbouring pixels, for each image."""
    images = tensor(images)
    if images.ndim not in (3, 4):
        raise ValueError("'images' must be either 3 or 4-dimensional.")
    if images.dtype.kind not in "if":
        message = f"signed numbers were expected, got {images.dtype.name}"
        raise InvalidArgumentError(None, None, message)
    sums = [
        np.sum(np.abs(np.diff(images, axis=axis)), axis=(-3, -2, -1), dtype=images.dtype)
        for axis in (-3, -2)
    ]
    return tensor(sums[0] + sums[1])


def image_gradients(image: Any) -> Any:
    """Return the differences to the next pixels below and to the right; 0 at the edges.

    Parameters
    ----------
    image : array, shape ``(N, H, W, C)``
        The images.

    Returns
    -------
    (Tensor, Tensor)
        The differences along height and width, with the shape and type of the images.
    """
    image = tensor(image)
    if image.ndim != 4:
        shape = image.shape
        raise ValueError(f"image_gradients expects a 4D tensor [batch_size, h, w, d], not {shape}.")
    return tuple(
        tensor(np.diff(image, axis=axis, append=np.take(image, [-1], axis))) for axis in (1, 2)
    )


def sobel_edges(image: Any) -> Any:
    """Apply Sobel filters, with mirrored image edges.

    Parameters
    ----------
    image : array, shape ``(N, H, W, C)``
        The images, as floats.

    Returns
    -------
    Tensor, shape ``(N, H, W, C, 2)``
        Vertical and horizontal differences.
    """
    image = tensor(image)
    filters = np.array([_SOBEL, np.transpose(_SOBEL)], image.dtype)
    padded = np.pad(image, [(0, 0), (1, 1), (1, 1), (0, 0)], "reflect")
    shown = windows(padded, 3, 1, 1, "VALID")
    return tensor(np.einsum("nhwcij,kij->nhwck", shown, filters, optimize=True))


def extract_patches(
    images: Any, sizes: Any, strides: Any, rates: Any, padding: str, name: str | None = None
) -> Any:
    """Extract patches of images, each flattened to the last axis.

    Parameters
    ----------
    images : array, shape ``(N, H, W, C)``
        The images.
    sizes, strides, rates : sequence of four int
        ``[1, rows, columns, 1]``: the size of a patch, the distance between patches, and the
        distance between the pixels of a patch.
    padding : str
        "VALID" for patches within the image, or "SAME".
    name : str, optional
        A label without effect.

    Returns
    -------
    Tensor, shape ``(N, rows, columns, height * width * C)``
        The patches.
    """
    try:
        shown = windows(tensor(images), sizes, strides, rates, padding)
    except ValueError as error:
        raise_translated(error)
    height, width = pair(sizes)
    values = np.moveaxis(shown, 3, -1)
    return tensor(values.reshape(*values.shape[:3], height * width * values.shape[-1]))


__dir__ = listing(globals())
