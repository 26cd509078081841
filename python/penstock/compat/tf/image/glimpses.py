"""tf.image.extract_glimpse: windows of images around given points."""

from __future__ import annotations

from typing import Any

import numpy as np

from penstock.compat.errors import InvalidArgumentError
from penstock.compat.listing import listing
from penstock.compat.tensor import array, tensor
from penstock.compat.tf import draws

_NOISES = ("gaussian", "uniform", "zero")


def extract_glimpse(
    input: Any,
    size: Any,
    offsets: Any,
    centered: bool = True,
    normalized: bool = True,
    noise: str = "uniform",
    name: str | None = None,
) -> Any:
    """Extract a window from each image; pixels outside of the image are noise.

    Parameters
    ----------
    input : array_like, shape ``(batch, height, width, channels)``
        The images.
    size : (int, int)
        Height and width of the windows.
    offsets : array_like of float, shape ``(batch, 2)``
        The positions of the windows: y and x.
    centered : bool
        Whether offsets are relative to the image centre and refer to the window centre.
    normalized : bool
        Whether offsets are in units of the image size, or of half the size if `centered`.
    noise : str
        "uniform", "gaussian" (with the distribution of the image's values) or "zero".
    name : str, optional
        A label without effect.
    """
    if noise not in _NOISES:
        raise InvalidArgumentError(None, None, f"noise must be one of {_NOISES}, got {noise!r}")
    images, points = array(input, "float32"), array(offsets, "float32")
    window = np.ravel(array(size)).astype(int)
    sizes = np.array(images.shape[1:3])
    points = points * sizes if normalized else points
    points = points / 2 + sizes / 2 - window / 2 if centered else points
    made = np.stack([_filling(image, window, noise) for image in images])
    for glimpse, image, (top, left) in zip(made, images, points.astype(int), strict=True):
        rows = slice(max(top, 0), max(min(top + window[0], sizes[0]), 0))
        columns = slice(max(left, 0), max(min(left + window[1], sizes[1]), 0))
        there = image[rows, columns]
        y, x = rows.start - top, columns.start - left
        glimpse[y : y + there.shape[0], x : x + there.shape[1]] = there
    return tensor(made)


def _filling(image: Any, window: Any, noise: str) -> Any:
    shape = (*window, image.shape[2])
    if noise == "zero":
        return np.zeros(shape, np.float32)
    rng = draws.generator(None)
    if noise == "uniform":
        return rng.uniform(image.min(), image.max(), shape).astype(np.float32)
    return rng.normal(image.mean(), image.std(), shape).astype(np.float32)


__dir__ = listing(globals())
