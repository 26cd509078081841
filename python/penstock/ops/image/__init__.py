"""Operations on images: arrays ``(height, width, channels)``, or batches of them."""

from penstock.ops.image.geometry import (
    ResizeMethod,
    flip_left_right,
    random_crop,
    random_flip_left_right,
    resize,
)
from penstock.ops.image.jpeg import (
    decode_and_crop_jpeg,
    decode_jpeg,
    extract_jpeg_shape,
    is_jpeg,
)
from penstock.ops.image.values import convert_image_dtype

__all__ = [
    "ResizeMethod",
    "convert_image_dtype",
    "decode_and_crop_jpeg",
    "decode_jpeg",
    "extract_jpeg_shape",
    "flip_left_right",
    "is_jpeg",
    "random_crop",
    "random_flip_left_right",
    "resize",
]
