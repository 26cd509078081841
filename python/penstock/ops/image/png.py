"""PNG files."""

from __future__ import annotations

from operator import index
from typing import Any

import numpy as np
import numpy.typing as npt

from penstock.arguments.checked import checked
from penstock.ops.image import pillow


@checked
def decode_png(
    contents: bytes,
    channels: int = 0,
    dtype: npt.DTypeLike = np.uint8,
    name: str | None = None,
    max_pixels: int | None = None,
) -> npt.NDArray[Any]:
    """Decode a PNG file.

    Parameters
    ----------
    contents : bytes
        The content of a PNG file: gray, RGB or palette, with 1 to 16 bits, interlaced or not.
    channels : int
        1 for gray, 2 for gray and alpha, 3 for RGB, 4 for RGB and alpha, 0 for the channels of the
        file. A palette counts as RGB, or as RGBA if it has transparent colours.
    dtype : dtype_like
        uint8 (the upper 8 of 16 bits), or uint16 (8 bits are scaled to 0 to 65535).
    name : str, optional
        Ignored; accepted for compatibility with TensorFlow.
    max_pixels : int, optional
        Maximum number of pixels. ``None`` means 178,956,970.

    Returns
    -------
    numpy.ndarray
        Shape ``(height, width, channels)``, of type `dtype`.

    Raises
    ------
    penstock.DataError
        If `contents` is not a PNG file, or is truncated, corrupt or too large.
    ValueError
        If `channels` has another value.
    TypeError
        If `contents` is not bytes, or `dtype` is another type.
    RuntimeError
        If penstock was built without libpng, and Pillow is missing or the function is native.

    Notes
    -----
    An alpha channel that is not requested is dropped. One that is requested but missing is opaque.
    Gamma and colour profiles are not applied. For an animated PNG, the first image is decoded.

    Examples
    --------
    >>> file = ps.image.encode_png(np.array([[[1, 2, 3]]], np.uint8))
    >>> ps.image.decode_png(file)
    array([[[1, 2, 3]]], dtype=uint8)
    >>> ps.image.decode_png(file, channels=4, dtype=np.uint16)
    array([[[  257,   514,   771, 65535]]], dtype=uint16)
    """
    attributes = {
        "channels": index(channels),
        "dtype": np.dtype(dtype).name,
        "max_pixels": max_pixels,
    }
    return pillow.call_codec(
        "png",
        "image.decode_png",
        [contents],
        attributes,
        lambda: pillow.decode("decode_png", contents, channels, dtype, max_pixels),
    )


@checked
def encode_png(image: npt.ArrayLike, compression: int = -1, name: str | None = None) -> bytes:
    r"""Encode images as PNG files.

    Parameters
    ----------
    image : array_like
        uint8 or uint16, shape ``(..., height, width, channels)`` with 1 to 4 channels: gray, gray
        and alpha, RGB, RGB and alpha.
    compression : int
        From 0 (none) to 9 (smallest); -1 is zlib's default.
    name : str, optional
        Ignored; accepted for compatibility with TensorFlow.

    Returns
    -------
    bytes
        The content of a PNG file, or an array of them if there are leading axes.

    Raises
    ------
    TypeError
        If `image` is of another type.
    ValueError
        If `image` has another shape or no pixels, or `compression` another value.
    RuntimeError
        As in `decode_png`.

    Examples
    --------
    >>> ps.image.encode_png(np.zeros((2, 2, 1), np.uint8))[:8]
    b'\x89PNG\r\n\x1a\n'
    """
    return pillow.call_codec(
        "png",
        "image.encode_png",
        [image],
        {"compression": index(compression)},
        lambda: pillow.encode(np.asarray(image), "PNG", compress_level=compression % 10),
    )
