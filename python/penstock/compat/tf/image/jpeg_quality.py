"""JPEG artefacts: encode images with a given quality and decode them."""

from __future__ import annotations

from typing import Any

import numpy as np

from penstock import random as _random
from penstock.compat.errors import InvalidArgumentError
from penstock.compat.listing import listing
from penstock.compat.seeds import stateless, with_global
from penstock.compat.tensor import tensor
from penstock.ops import image as _image


def adjust_jpeg_quality(
    image: Any, jpeg_quality: Any, dct_method: str = "", name: str | None = None
) -> Any:
    """Encode an image as a JPEG, and decode it again.

    Parameters
    ----------
    image : array, shape ``(H, W, 1)`` or ``(H, W, 3)``
        The image, as integers or floats; converted to uint8 and back.
    jpeg_quality : int
        From 0 to 100.
    dct_method : str
        As in `decode_jpeg`.
    name : str, optional
        A label without effect.
    """
    image = tensor(image)
    quality = int(jpeg_quality)
    if not 0 <= quality <= 100:
        raise InvalidArgumentError(None, None, f"quality must be in [0,100], got {quality}")
    pixels = np.asarray(_image.convert_image_dtype(image, np.uint8, saturate=True))
    file = _image.encode_jpeg(pixels, quality=quality)
    decoded = _image.decode_jpeg(file, channels=pixels.shape[-1], dct_method=dct_method)
    return tensor(_image.convert_image_dtype(decoded, image.dtype, saturate=True))


def random_jpeg_quality(
    image: Any, min_jpeg_quality: int, max_jpeg_quality: int, seed: int | None = None
) -> Any:
    """See `adjust_jpeg_quality`; the quality is drawn from the half-open range."""
    if not (0 <= min_jpeg_quality <= 100 and 0 <= max_jpeg_quality <= 100):
        raise ValueError("jpeg encoding range must be between 0 and 100.")
    if min_jpeg_quality >= max_jpeg_quality:
        raise ValueError("`min_jpeg_quality` must be less than `max_jpeg_quality`.")
    drawn = _random.uniform((), min_jpeg_quality, max_jpeg_quality, np.int32, with_global(seed))
    return adjust_jpeg_quality(image, drawn)


def stateless_random_jpeg_quality(
    image: Any, min_jpeg_quality: int, max_jpeg_quality: int, seed: Any
) -> Any:
    """See `random_jpeg_quality`; the result depends only on `seed`, a pair of integers."""
    with stateless(seed):
        return random_jpeg_quality(image, min_jpeg_quality, max_jpeg_quality)


__dir__ = listing(globals())
