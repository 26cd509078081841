"""Operations on images: arrays ``(height, width, channels)``, or batches of them."""

from penstock.ops.image.cropping import (
    central_crop,
    crop_to_bounding_box,
    pad_to_bounding_box,
    random_crop,
    random_resized_crop,
    resize_with_crop_or_pad,
)
from penstock.ops.image.jpeg import (
    decode_and_crop_jpeg,
    decode_jpeg,
    extract_jpeg_shape,
    is_jpeg,
)
from penstock.ops.image.orientation import (
    flip_left_right,
    flip_up_down,
    random_flip_left_right,
    random_flip_up_down,
    rot90,
    transpose,
)
from penstock.ops.image.resizing import ResizeMethod, resize
from penstock.ops.image.values import convert_image_dtype

__all__ = [
    "ResizeMethod",
    "central_crop",
    "convert_image_dtype",
    "crop_to_bounding_box",
    "decode_and_crop_jpeg",
    "decode_jpeg",
    "extract_jpeg_shape",
    "flip_left_right",
    "flip_up_down",
    "is_jpeg",
    "pad_to_bounding_box",
    "random_crop",
    "random_flip_left_right",
    "random_flip_up_down",
    "random_resized_crop",
    "resize",
    "resize_with_crop_or_pad",
    "rot90",
    "transpose",
]
