"""Sliding windows over images, for convolutions, pooling and patches."""

from __future__ import annotations

from typing import Any

import numpy as np


def pair(value: Any) -> tuple[int, int]:
    """Return values for height and width, given one number or a sequence of one, two or four."""
    sizes = [int(size) for size in np.ravel(value)]
    if len(sizes) == 4:
        if sizes[0] != 1 or sizes[3] != 1:
            raise ValueError(f"1 for batches and channels was expected, got {sizes}")
        sizes = sizes[1:3]
    if len(sizes) not in (1, 2):
        raise ValueError(f"one, two or four numbers were expected, got {sizes}")
    return sizes[0], sizes[-1]


def windows(
    images: Any, size: Any, strides: Any, dilations: Any, padding: Any, filler: Any = 0
) -> np.ndarray[Any, Any]:
    """Return the contents of each window.

    Parameters
    ----------
    images : array, shape ``(N, H, W, C)``
        The images.
    size, strides, dilations : int, or one, two or four
        Size of the window in pixels, distance between windows, and distance between pixels within a
        window.
    padding : str or sequence of pairs
        "VALID" for windows within the image, "SAME" for as many windows as pixels divided by
        strides, or the numbers of pixels to add before and after each axis.
    filler : number
        The value of pixels beyond the edge.

    Returns
    -------
    array, shape ``(N, rows, columns, C, height, width)``
        Without padding, a read-only view.

    Raises
    ------
    ValueError
        If `images` has another rank, or an argument has an invalid value.
    """
    images = np.asarray(images)
    if images.ndim != 4:
        raise ValueError(f"images of shape (N, H, W, C) were expected, got {images.shape}")
    steps, gaps = pair(strides), pair(dilations)
    extent = [(each - 1) * gap + 1 for each, gap in zip(pair(size), gaps, strict=True)]
    added = _added(padding, images.shape[1:3], extent, steps)
    if np.any(added):
        images = np.pad(images, [(0, 0), *added, (0, 0)], constant_values=filler)
    if any(each > length for each, length in zip(extent, images.shape[1:3], strict=True)):
        rows, columns = (
            max((length - each) // step + 1, 0)
            for each, length, step in zip(extent, images.shape[1:3], steps, strict=True)
        )
        return np.zeros((len(images), rows, columns, images.shape[3], *pair(size)), images.dtype)
    shown = np.lib.stride_tricks.sliding_window_view(images, tuple(extent), axis=(1, 2))
    return shown[:, :: steps[0], :: steps[1], :, :: gaps[0], :: gaps[1]]


def _added(padding: Any, sizes: Any, extent: Any, steps: Any) -> list[tuple[int, int]]:
    if not isinstance(padding, (str, bytes)):
        rows = [(int(before), int(after)) for before, after in padding]
        return rows[1:3] if len(rows) == 4 else rows
    name = padding.decode() if isinstance(padding, bytes) else padding
    if name.upper() == "VALID":
        return [(0, 0), (0, 0)]
    if name.upper() != "SAME":
        raise ValueError(f'padding must be "SAME" or "VALID", got {padding!r}')
    added = []
    for size, length, step in zip(sizes, extent, steps, strict=True):
        missing = max((-(-size // step) - 1) * step + length - size, 0)
        added.append((missing // 2, missing - missing // 2))
    return added
