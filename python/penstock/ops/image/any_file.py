"""Image files of any kind."""

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
    """Decode a JPEG, PNG, GIF, BMP or WebP, whichever it is.

    Parameters
    ----------
    contents : bytes
        The content of a file.
    channels : int, optional
        0 or ``None`` as the file has it, 1 gray, 3 RGB, 4 RGB and alpha. A file
        without alpha is opaque.
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
    The kind of file is known by its first bytes, so the extension of its name does not matter.
    JPEG and PNG are decoded without the GIL. Other formats are decoded by Pillow, also in native
    functions, which acquire the GIL for that call alone. With `expand_animations` a native
    function does not know the rank of the image before it runs.

    For types other than uint8, uint16, float16 and float32 values go through uint16, as in
    TensorFlow; a PNG of 16 bits keeps them for all types but uint8. TensorFlow takes float16
    through uint16 too, and makes infinity of white.

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
