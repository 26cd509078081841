"""Decoding image files of any format."""

from __future__ import annotations

from operator import index
from typing import Any, Literal

import numpy as np
import numpy.typing as npt

from penstock.arguments.checked import checked
from penstock.ops.call import call


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
    """Decode a JPEG, PNG, GIF, BMP or WebP file; the format is detected.

    Parameters
    ----------
    contents : bytes
        The content of a file.
    channels : int, optional
        1 for gray, 3 for RGB, 4 for RGB and alpha, 0 or ``None`` for the channels of the file. If
        the file has no alpha channel, alpha is opaque.
    dtype : dtype_like
        An integer or float type. Values are scaled as in `convert_image_dtype`: floats lie in
        [0, 1].
    name : str, optional
        Ignored; accepted for compatibility with TensorFlow.
    expand_animations : bool
        Return all frames of a GIF or WebP. ``False`` returns the first frame only.
    max_pixels : int, optional
        Maximum number of pixels of an image. ``None`` means 178,956,970.
    ratio : 1 or "auto"
        ``"auto"``: if a native function resizes the image afterwards, a JPEG is decoded at a lower
        resolution, as by `decode_jpeg`.

    Returns
    -------
    numpy.ndarray
        Shape ``(height, width, channels)``, of type `dtype`. With `expand_animations`, a GIF or
        WebP has shape ``(frames, height, width, channels)``, even with a single frame.

    Raises
    ------
    penstock.DataError
        If `contents` is not in one of these formats, or is truncated, corrupt or too large.
    ValueError
        If `channels` or `ratio` has another value.
    RuntimeError
        If there is no codec for the format: GIF, BMP and WebP need Pillow (``pip install pillow``).

    Notes
    -----
    The format is detected from the first bytes, not from the extension of the file name. JPEG and
    PNG are decoded without the GIL. Pillow decodes the other formats, also in native functions,
    which acquire the GIL only for that call. With `expand_animations`, the rank of the image is
    unknown until a native function runs.

    For types other than uint8, uint16, float16 and float32, values are converted through uint16, as
    in TensorFlow; a 16-bit PNG keeps all its bits for every type except uint8. TensorFlow also
    converts float16 through uint16, which turns white into infinity.

    Examples
    --------
    >>> image = np.arange(12, dtype=np.uint8).reshape(2, 2, 3)
    >>> np.array_equal(ps.image.decode_image(ps.image.encode_png(image)), image)
    True
    >>> ps.image.decode_image(ps.image.encode_jpeg(image), dtype=np.float32).dtype
    dtype('float32')
    """
    attributes = {
        "channels": 0 if channels is None else index(channels),
        "dtype": np.dtype(dtype).name,
        "expand_animations": bool(expand_animations),
        "max_pixels": max_pixels,
        "ratio": ratio if isinstance(ratio, str) else index(ratio),
    }
    return call("image.decode_image", [contents], attributes)
