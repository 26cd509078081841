"""Keras's functions for Pillow images."""

from __future__ import annotations

from typing import Any

import numpy as np

from penstock.compat.listing import listing
from penstock.compat.tf.keras import backend

_MODES = {"grayscale": "L", "rgba": "RGBA", "rgb": "RGB"}
_GRAYS = ("L", "I;16", "I")


def load_img(
    path: Any,
    color_mode: str = "rgb",
    target_size: tuple[int, int] | None = None,
    interpolation: str = "nearest",
    keep_aspect_ratio: bool = False,
) -> Any:
    """Read an image file.

    Parameters
    ----------
    path : str, path or file
        The file.
    color_mode : str
        "rgb", "rgba" or "grayscale".
    target_size : (int, int), optional
        Height and width to which the image is resized.
    interpolation : str
        "nearest", "bilinear", "bicubic", "hamming", "box" or "lanczos".
    keep_aspect_ratio : bool
        Whether to crop the image to the aspect ratio of `target_size` first.

    Returns
    -------
    PIL.Image.Image
        The image.

    Raises
    ------
    ImportError
        If Pillow is not installed.
    ValueError
        If `color_mode` or `interpolation` is unknown.
    """
    pillow = _pillow("load_img")
    if color_mode not in _MODES:
        raise ValueError(
            f"load_img: color_mode must be one of {sorted(_MODES)}, got {color_mode!r}"
        )
    with pillow.open(path) as file:
        wide = color_mode == "grayscale" and file.mode in _GRAYS  # 16 and 32 bits are kept
        image = file.copy() if wide else file.convert(_MODES[color_mode])
    if target_size is None:
        return image
    method = getattr(pillow.Resampling, interpolation.upper(), None)
    if method is None:
        raise ValueError(f"load_img: interpolation {interpolation!r} is not known")
    height, width = target_size
    box = None
    if keep_aspect_ratio:
        cut_height = max(min(image.width * height // width, image.height), 1)
        cut_width = max(min(image.height * width // height, image.width), 1)
        top, left = (image.height - cut_height) // 2, (image.width - cut_width) // 2
        box = (left, top, left + cut_width, top + cut_height)
    return image if image.size == (width, height) else image.resize((width, height), method, box)


def img_to_array(img: Any, data_format: str | None = None, dtype: Any = None) -> Any:
    """Return an image as an array with three axes.

    Parameters
    ----------
    img : PIL.Image.Image or array_like
        The image.
    data_format : str, optional
        "channels_last", the default, or "channels_first".
    dtype : dtype-like, optional
        The type of the array; float32 by default.

    Returns
    -------
    numpy.ndarray
        An array of shape ``(height, width, channels)``, or ``(channels, height, width)``.
    """
    _check_format("img_to_array", data_format)
    array = np.asarray(img, backend.floatx() if dtype is None else dtype)
    if array.ndim not in (2, 3):
        raise ValueError(f"img_to_array: 2 or 3 axes were expected, got shape {array.shape}")
    if array.ndim == 2:
        return array[np.newaxis] if data_format == "channels_first" else array[..., np.newaxis]
    is_image = hasattr(img, "getbands")
    return array.transpose(2, 0, 1) if data_format == "channels_first" and is_image else array


def array_to_img(
    x: Any, data_format: str | None = None, scale: bool = True, dtype: Any = None
) -> Any:
    """Return an array with three axes as an image.

    Parameters
    ----------
    x : array_like
        The values.
    data_format : str, optional
        "channels_last", the default, or "channels_first".
    scale : bool
        Whether to scale the values to the range from 0 to 255.
    dtype : dtype-like, optional
        The type of the calculation; float32 by default.

    Returns
    -------
    PIL.Image.Image
        The image.

    Raises
    ------
    ImportError
        If Pillow is not installed.
    ValueError
        If there are not three axes, or not 1, 3 or 4 channels.
    """
    pillow = _pillow("array_to_img")
    _check_format("array_to_img", data_format)
    values = np.asarray(x, backend.floatx() if dtype is None else dtype)
    if values.ndim != 3:
        raise ValueError(f"array_to_img: 3 axes were expected, got shape {values.shape}")
    if data_format == "channels_first":
        values = values.transpose(1, 2, 0)
    if scale:
        values = values - values.min()
        most = values.max()
        values = (values / most if most else values) * 255
    channels = values.shape[2]
    if channels == 1 and values.max() > 255:
        return pillow.fromarray(values[..., 0].astype(np.int32))
    if channels not in (1, 3, 4):
        raise ValueError(f"array_to_img: 1, 3 or 4 channels were expected, got {channels}")
    pixels = values.astype(np.uint8)
    return pillow.fromarray(pixels[..., 0] if channels == 1 else pixels)


def save_img(
    path: Any,
    x: Any,
    data_format: str | None = None,
    file_format: str | None = None,
    scale: bool = True,
    **kwargs: Any,
) -> None:
    """Write an array as an image file.

    Parameters
    ----------
    path : str, path or file
        The file.
    x, data_format, scale
        As in `array_to_img`.
    file_format : str, optional
        The format; by default, derived from the file extension.
    **kwargs
        Passed to Pillow.
    """
    image = array_to_img(x, data_format, scale)
    if image.mode == "RGBA" and str(file_format or path).lower().endswith(("jpg", "jpeg")):
        image = image.convert("RGB")
    image.save(path, format=file_format, **kwargs)


def _pillow(name: str) -> Any:
    try:
        from PIL import Image
    except ModuleNotFoundError:
        raise ImportError(
            f"{name} needs Pillow, which is not installed: pip install pillow"
        ) from None
    return Image


def _check_format(name: str, data_format: str | None) -> None:
    if data_format not in (None, "channels_first", "channels_last"):
        raise ValueError(f"{name}: data_format {data_format!r} is not known")


__dir__ = listing(globals())
