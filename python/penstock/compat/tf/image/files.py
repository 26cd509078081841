"""Decoding of image files: JPEG and PNG by content, and BMP, GIF and WebP with Pillow."""

from __future__ import annotations

from typing import Any

import numpy as np

from penstock.arguments.checks import SYMBOLS
from penstock.compat.calling import ported
from penstock.compat.dtypes import as_dtype
from penstock.compat.errors import InvalidArgumentError
from penstock.compat.listing import listing
from penstock.compat.tensor import tensor
from penstock.ops import image as _image

_decode_image = ported(_image.decode_image)
_decode_jpeg = ported(_image.decode_jpeg)
_decode_png = ported(_image.decode_png)
_START = {"jpeg": b"\xff\xd8\xff", "png": b"\x89PNG", "gif": b"GIF8"}


def _decoded(name: str, is_one: bool, contents: Any, *options: Any, **more: Any) -> Any:
    if not is_one:
        raise InvalidArgumentError(None, None, f"{name}: contents are of another kind")
    return _decode_image(contents, *options, **more)


def _bytes(contents: Any) -> bytes:
    return bytes(tensor(contents).item())


def decode_jpeg(
    contents: Any,
    channels: int = 0,
    ratio: int = 1,
    fancy_upscaling: bool = True,
    try_recover_truncated: bool = False,
    acceptable_fraction: float = 1,
    dct_method: str = "",
    name: str | None = None,
) -> Any:
    """Decode a JPEG: uint8, shape ``(height, width, channels)``.

    As in TensorFlow, PNGs and GIFs with a single frame are also decoded.

    Parameters
    ----------
    contents : bytes
        The contents of a file.
    channels, ratio, fancy_upscaling, try_recover_truncated, acceptable_fraction, dct_method
        As in `penstock.image.decode_jpeg`.
    name : str, optional
        A label without effect.
    """
    if (kind := _kind_of(contents)) in ("png", "gif"):
        return _of_another_name(kind, contents, channels)
    return _decode_jpeg(
        contents,
        channels,
        ratio,
        fancy_upscaling,
        try_recover_truncated,
        acceptable_fraction,
        dct_method,
    )


def decode_png(
    contents: Any, channels: int = 0, dtype: Any = np.uint8, name: str | None = None
) -> Any:
    """Decode a PNG: uint8 or uint16, shape ``(height, width, channels)``.

    As in TensorFlow, JPEGs and GIFs with a single frame are also decoded.

    Parameters
    ----------
    contents : bytes
        The contents of a file.
    channels, dtype
        As in `penstock.image.decode_png`.
    name : str, optional
        A label without effect.
    """
    if as_dtype(dtype).name == "uint8" and (kind := _kind_of(contents)) in ("jpeg", "gif"):
        return _of_another_name(kind, contents, channels)
    return _decode_png(contents, channels, dtype)


def _kind_of(contents: Any) -> str:
    if type(contents) in SYMBOLS:
        return ""
    data = contents if type(contents) is bytes else np.asarray(tensor(contents))
    if isinstance(data, np.ndarray):
        data = data.item() if data.ndim == 0 else b""
    return next((kind for kind, start in _START.items() if data.startswith(start)), "")


def _of_another_name(kind: str, contents: Any, channels: int) -> Any:
    if kind != "gif":
        return (_decode_png if kind == "png" else _decode_jpeg)(contents, channels)
    frames = _decode_image(contents, 3)
    if len(frames) > 1:
        raise InvalidArgumentError(
            None,
            None,
            f"Got {len(frames)} frames, but animated gifs can only be decoded by tf.io.decode_gif "
            "or tf.io.decode_image",
        )
    return frames[0]


def decode_bmp(contents: Any, channels: int = 0, name: str | None = None) -> Any:
    """Decode a BMP: uint8, shape ``(height, width, channels)``. Requires Pillow.

    Parameters
    ----------
    contents : bytes
        The contents of a file.
    channels : int
        0 for the file's channels, 1 for grayscale, 3 for RGB, 4 for RGBA.
    name : str, optional
        A label without effect.
    """
    return _decoded("decode_bmp", _bytes(contents).startswith(b"BM"), contents, channels)


def decode_gif(contents: Any, name: str | None = None) -> Any:
    """Decode all frames of a GIF: uint8, shape ``(frames, height, width, 3)``. Requires Pillow."""
    return _decoded("decode_gif", _bytes(contents).startswith(b"GIF8"), contents, 3)


def decode_webp(
    contents: Any, channels: int = 0, dtype: Any = np.uint8, name: str | None = None
) -> Any:
    """Decode all frames of a WebP: shape ``(frames, height, width, channels)``. Requires Pillow.

    Parameters
    ----------
    contents : bytes
        The contents of a file.
    channels : int
        0 for the file's channels, 3 for RGB, 4 for RGBA.
    dtype : dtype-like
        uint8.
    name : str, optional
        A label without effect.
    """
    if as_dtype(dtype).name != "uint8":
        raise InvalidArgumentError(None, None, f"decode_webp: dtype must be uint8, got {dtype}")
    is_one = _bytes(contents)[8:12] == b"WEBP"
    return _decoded("decode_webp", is_one, contents, channels)


__dir__ = listing(globals())
