"""Preprocessing of images for models pretrained on ImageNet."""

from __future__ import annotations

from typing import Any

import numpy as np

from penstock.arguments.checks import SYMBOLS
from penstock.compat.listing import listing
from penstock.compat.tensor import Tensor, tensor
from penstock.compat.tf.keras import backend

_MEANS = {"torch": (0.485, 0.456, 0.406), "caffe": (103.939, 116.779, 123.68)}
_DEVIATIONS = (0.229, 0.224, 0.225)
_FORMATS = ("channels_last", "channels_first")


def preprocess_input(x: Any, data_format: str | None = None, mode: str = "caffe") -> Any:
    """Preprocess images for a kind of pretrained model.

    Parameters
    ----------
    x : array_like
        The images, with values from 0 to 255. The last axis, or the third from the end, is RGB.
    data_format : str, optional
        "channels_last" or "channels_first".
    mode : str
        "tf" scales to -1 to 1. "torch" scales to 0 to 1 and normalises with ImageNet's mean and
        standard deviation. "caffe" converts to BGR and subtracts ImageNet's mean.

    Returns
    -------
    array or Tensor
        The images in the form of `x`; integers become floats.
    """
    if mode not in ("caffe", "tf", "torch"):
        raise ValueError(f"Expected mode to be one of `caffe`, `tf` or `torch`. Received: {mode}")
    data_format = backend.image_data_format() if data_format is None else data_format
    if data_format not in _FORMATS:
        raise ValueError(f"Expected data_format to be one of {_FORMATS}. Received: {data_format}")
    images = x if isinstance(x, np.ndarray) else tensor(x)
    if type(images) in SYMBOLS or images.dtype.kind != "f":
        images = _cast(images)
    if mode == "tf":
        return images / 127.5 - 1.0
    last = data_format == "channels_last"
    if mode == "torch":
        images = images / 255.0
    else:
        images = images[..., ::-1] if last else images[..., ::-1, :, :]
    made = images - _of_channels(_MEANS[mode], last)
    return made / _of_channels(_DEVIATIONS, last) if mode == "torch" else made


def _cast(images: Any) -> Any:
    if isinstance(images, np.ndarray) and type(images) is not Tensor:
        return images.astype(backend.floatx())
    return tensor(images, backend.floatx())


def _of_channels(values: tuple[float, ...], last: bool) -> Any:
    return np.array(values, backend.floatx()).reshape((3,) if last else (3, 1, 1))


__dir__ = listing(globals())
