"""Operations on images, which are arrays ``(height, width, channels)``, or on batches of them."""

from penstock.ops.image.any_file import decode_image
from penstock.ops.image.colors import (
    adjust_hue,
    adjust_saturation,
    grayscale_to_rgb,
    hsv_to_rgb,
    random_hue,
    random_saturation,
    rgb_to_grayscale,
    rgb_to_hsv,
)
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
    encode_jpeg,
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
from penstock.ops.image.png import decode_png, encode_png
from penstock.ops.image.resizing import ResizeMethod, crop_and_resize, resize, resize_with_pad
from penstock.ops.image.values import (
    adjust_brightness,
    adjust_contrast,
    adjust_gamma,
    convert_image_dtype,
    normalize,
    per_image_standardization,
    random_brightness,
    random_contrast,
)

__all__ = [
    "ResizeMethod",
    "adjust_brightness",
    "adjust_contrast",
    "adjust_gamma",
    "adjust_hue",
    "adjust_saturation",
    "central_crop",
    "convert_image_dtype",
    "crop_and_resize",
    "crop_to_bounding_box",
    "decode_and_crop_jpeg",
    "decode_image",
    "decode_jpeg",
    "decode_png",
    "encode_jpeg",
    "encode_png",
    "extract_jpeg_shape",
    "flip_left_right",
    "flip_up_down",
    "grayscale_to_rgb",
    "hsv_to_rgb",
    "is_jpeg",
    "normalize",
    "pad_to_bounding_box",
    "per_image_standardization",
    "random_brightness",
    "random_contrast",
    "random_crop",
    "random_flip_left_right",
    "random_flip_up_down",
    "random_hue",
    "random_resized_crop",
    "random_saturation",
    "resize",
    "resize_with_crop_or_pad",
    "resize_with_pad",
    "rgb_to_grayscale",
    "rgb_to_hsv",
    "rot90",
    "transpose",
]


def __dir__() -> list[str]:
    return [*__all__]
