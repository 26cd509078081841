"""Files of images that Pillow decodes: BMP, GIF and WebP."""

from __future__ import annotations

from typing import Any

import numpy as np

from penstock.compat.calling import ported
from penstock.compat.dtypes import as_dtype
from penstock.compat.errors import InvalidArgumentError
from penstock.compat.listing import listing
from penstock.compat.tensor import tensor
from penstock.ops import image as _image

_decode_image = ported(_image.decode_image)


def _decoded(name: str, is_one: bool, contents: Any, *options: Any, **more: Any) -> Any:
    if not is_one:
        raise InvalidArgumentError(None, None, f"{name}: contents are of another kind")
    return _decode_image(contents, *options, **more)


def _bytes(contents: Any) -> bytes:
    return bytes(tensor(contents).item())


def decode_bmp(contents: Any, channels: int = 0, name: str | None = None) -> Any:
    """Decode a BMP: uint8, shape ``(height, width, channels)``. It needs Pillow.

    Parameters
    ----------
    contents : bytes
        The content of a file.
    channels : int
        0 as the file has it, 1 gray, 3 RGB, 4 RGB and alpha.
    name : str, optional
        A label without further meaning.
    """
    return _decoded("decode_bmp", _bytes(contents).startswith(b"BM"), contents, channels)


def decode_gif(contents: Any, name: str | None = None) -> Any:
    """Decode all frames of a GIF: uint8, shape ``(frames, height, width, 3)``. It needs Pillow."""
    return _decoded("decode_gif", _bytes(contents).startswith(b"GIF8"), contents, 3)


def decode_webp(
    contents: Any, channels: int = 0, dtype: Any = np.uint8, name: str | None = None
) -> Any:
    """Decode all frames of a WebP: shape ``(frames, height, width, channels)``. It needs Pillow.

    Parameters
    ----------
    contents : bytes
        The content of a file.
    channels : int
        0 as the file has it, 3 RGB, 4 RGB and alpha.
    dtype : dtype-like
        uint8.
    name : str, optional
        A label without further meaning.
    """
    if as_dtype(dtype).name != "uint8":
        raise InvalidArgumentError(None, None, f"decode_webp: dtype must be uint8, got {dtype}")
    is_one = _bytes(contents)[8:12] == b"WEBP"
    return _decoded("decode_webp", is_one, contents, channels)


__dir__ = listing(globals())
