"""Files of images of whatever kind."""

from __future__ import annotations

from operator import index
from typing import Any, Literal

import numpy as np
import numpy.typing as npt

from penstock.arguments.checked import checked
from penstock.ops.call import call
from penstock.ops.image import pillow
from penstock.ops.image.values import convert_image_dtype
from penstock.ops.symbol import current_trace

_JPEG, _PNG = b"\xff\xd8\xff", b"\x89PNG\r\n\x1a\n"


@checked
def decode_image(
    contents: bytes,
    channels: int | None = None,
    dtype: npt.DTypeLike = np.uint8,
    name: str | None = None,
    expand_animations: bool = True,
    max_pixels: int | None = None,
    ratio: Literal[1, "auto"] = 1,
) -> npt.NDArray[Any]:
    """Decode a JPEG, PNG, GIF, BMP or WebP, whichever it is.

    Parameters
    ----------
    contents : bytes
        The content of a file.
    channels : int, optional
        0 or ``None`` as the file has it, 1 gray, 3 RGB, 4 RGB and alpha (not of a JPEG).
    dtype : dtype_like
        An integer or float type. Values are scaled as `convert_image_dtype` does: floats lie in
        [0, 1].
    name : str, optional
        Ignored; TensorFlow's functions have it.
    expand_animations : bool
        Return all frames of a GIF or WebP; ``False``: the first one.
    max_pixels : int, optional
        The most pixels of an image that are decoded; ``None`` is 178,956,970.
    ratio : 1 or "auto"
        ``"auto"``: a JPEG that is resized afterwards in a native function is decoded at a lower
        resolution, as by `decode_jpeg`.

    Returns
    -------
    numpy.ndarray
        Shape ``(height, width, channels)``, of type `dtype`; a GIF or WebP with
        `expand_animations` has shape ``(frames, height, width, channels)``, also with one frame.

    Raises
    ------
    penstock.DataError
        If `contents` is no such file, or a truncated, corrupt or too large one.
    ValueError
        If `channels` or `ratio` has no such value.
    RuntimeError
        If there is no codec for it: GIF, BMP and WebP need Pillow (``pip install pillow``).

    Notes
    -----
    A native function decodes JPEG and PNG; other files are a DataError there. Without
    ``@ps.native`` they work in any pipeline. For types other than uint8, uint16, float16 and
    float32 values go through uint16, as in TensorFlow; a PNG of 16 bits keeps them for all types
    but uint8. TensorFlow takes float16 through uint16 too, and makes infinity of white.

    Examples
    --------
    >>> image = np.arange(12, dtype=np.uint8).reshape(2, 2, 3)
    >>> np.array_equal(ps.image.decode_image(ps.image.encode_png(image)), image)
    True
    >>> ps.image.decode_image(ps.image.encode_jpeg(image), dtype=np.float32).dtype
    dtype('float32')
    """
    wanted = 0 if channels is None else index(channels)
    attributes = {
        "channels": wanted,
        "dtype": np.dtype(dtype).name,
        "max_pixels": max_pixels,
        "ratio": ratio if isinstance(ratio, str) else index(ratio),
    }
    if current_trace() is not None or not isinstance(contents, bytes):
        return call("image.decode_image", [contents], attributes)
    base = np.dtype(np.uint8 if np.dtype(dtype) == np.uint8 else np.uint16)

    def instead(frames: bool = False) -> npt.NDArray[Any]:
        pixels = pillow.decode("decode_image", contents, wanted, base, max_pixels, frames)
        if np.dtype(dtype) == np.float16:  # it has no 65535
            pixels = convert_image_dtype(pixels, np.float32)
        return convert_image_dtype(pixels, dtype)

    if contents.startswith(_JPEG):
        return pillow.call_codec("jpeg", "image.decode_image", [contents], attributes, instead)
    if contents.startswith(_PNG):
        return pillow.call_codec("png", "image.decode_image", [contents], attributes, instead)
    is_webp = contents.startswith(b"RIFF") and contents[8:12] == b"WEBP"
    if not is_webp and not contents.startswith((b"GIF8", b"BM")):
        return call("image.decode_image", [contents], attributes)
    if wanted not in (0, 1, 3, 4):
        raise ValueError(f"decode_image: channels must be 0, 1, 3 or 4, got {wanted}")
    if not pillow.is_installed():
        raise RuntimeError("decode_image: GIF, BMP and WebP need Pillow; run: pip install pillow")
    if contents.startswith(b"GIF8"):
        wanted = wanted or 3
    return instead(expand_animations and not contents.startswith(b"BM"))
