"""tf.image: penstock's image operations for tensors, and those that only TensorFlow has."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import Any

from penstock.compat.calling import port_all, ported
from penstock.compat.listing import listing
from penstock.compat.seeds import stateless
from penstock.compat.tf.image import files as _files
from penstock.compat.tf.image.boxes import (
    draw_bounding_boxes,
    sample_distorted_bounding_box,
    stateless_sample_distorted_bounding_box,
)
from penstock.compat.tf.image.color_spaces import rgb_to_yiq, rgb_to_yuv, yiq_to_rgb, yuv_to_rgb
from penstock.compat.tf.image.files import decode_bmp, decode_gif, decode_webp
from penstock.compat.tf.image.glimpses import extract_glimpse
from penstock.compat.tf.image.jpeg_quality import (
    adjust_jpeg_quality,
    random_jpeg_quality,
    stateless_random_jpeg_quality,
)
from penstock.compat.tf.image.neighbors import (
    extract_patches,
    image_gradients,
    sobel_edges,
    total_variation,
)
from penstock.compat.tf.image.similarity import psnr, ssim
from penstock.compat.tf.image.suppression import (
    combined_non_max_suppression,
    non_max_suppression,
    non_max_suppression_overlaps,
    non_max_suppression_padded,
    non_max_suppression_with_scores,
)
from penstock.ops import image as _image

port_all(globals(), _image)
decode_jpeg, decode_png = _files.decode_jpeg, _files.decode_png


def _stateless(function: Callable[..., Any]) -> Any:
    call = ported(function)
    signature = inspect.signature(function)
    seed = signature.parameters["seed"].replace(default=inspect.Parameter.empty)
    parameters = {**signature.parameters, "seed": seed}
    signature = signature.replace(parameters=list(parameters.values()))

    def drawn(*args: Any, **kwargs: Any) -> Any:
        given = signature.bind(*args, **kwargs)
        with stateless(given.arguments["seed"]):
            given.arguments["seed"] = None
            return call(*given.args, **given.kwargs)

    drawn.__name__ = drawn.__qualname__ = f"stateless_{function.__name__}"
    drawn.__doc__ = f"Do as `{function.__name__}`; `seed`, a pair of integers, says what is drawn."
    drawn.__signature__ = signature  # type: ignore[attr-defined]
    return drawn


for _name in _image.__all__:
    if _name.startswith("random_") and _name != "random_resized_crop":
        globals()[f"stateless_{_name}"] = _stateless(getattr(_image, _name))

__all__ = [
    "adjust_jpeg_quality",
    "combined_non_max_suppression",
    "decode_bmp",
    "decode_gif",
    "decode_webp",
    "draw_bounding_boxes",
    "extract_glimpse",
    "extract_patches",
    "image_gradients",
    "non_max_suppression",
    "non_max_suppression_overlaps",
    "non_max_suppression_padded",
    "non_max_suppression_with_scores",
    "psnr",
    "random_jpeg_quality",
    "rgb_to_yiq",
    "rgb_to_yuv",
    "sample_distorted_bounding_box",
    "sobel_edges",
    "ssim",
    "stateless_random_jpeg_quality",
    "stateless_sample_distorted_bounding_box",
    "total_variation",
    "yiq_to_rgb",
    "yuv_to_rgb",
]

__dir__ = listing(globals())
