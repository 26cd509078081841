"""Conversion to the colour spaces YIQ and YUV."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from penstock.compat.listing import listing
from penstock.compat.tensor import tensor

# ITU-R BT.470; rows correspond to input channels, with TensorFlow's digits.
_MATRICES = {
    "rgb_to_yiq": [
        [0.299, 0.59590059, 0.2115],
        [0.587, -0.27455667, -0.52273617],
        [0.114, -0.32134392, 0.31119955],
    ],
    "yiq_to_rgb": [
        [1, 1, 1],
        [0.95598634, -0.27201283, -1.10674021],
        [0.6208248, -0.64720424, 1.70423049],
    ],
    "rgb_to_yuv": [
        [0.299, -0.14714119, 0.61497538],
        [0.587, -0.28886916, -0.51496512],
        [0.114, 0.43601035, -0.10001026],
    ],
    "yuv_to_rgb": [
        [1, 1, 1],
        [0, -0.394642334, 2.03206185],
        [1.13988303, -0.58062185, 0],
    ],
}


def _converter(name: str) -> Callable[[Any], Any]:
    def convert(images: Any) -> Any:
        values = tensor(images)
        if values.dtype.kind != "f":
            raise TypeError(f"{name}: images of floats were expected, got {values.dtype.name}")
        return values @ np.array(_MATRICES[name], values.dtype)

    source, result = name.upper().split("_TO_")
    convert.__name__ = convert.__qualname__ = name
    convert.__doc__ = f"Convert {source} to {result}: floats, shape ``(..., 3)``."
    return convert


rgb_to_yiq = _converter("rgb_to_yiq")
rgb_to_yuv = _converter("rgb_to_yuv")
yiq_to_rgb = _converter("yiq_to_rgb")
yuv_to_rgb = _converter("yuv_to_rgb")

__dir__ = listing(globals())
