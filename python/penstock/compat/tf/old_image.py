"""tf.compat.v1.image: tf.image with TensorFlow 1's names and arguments."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from penstock.compat.errors import InvalidArgumentError
from penstock.compat.listing import listing
from penstock.compat.resizing import resized
from penstock.compat.tensor import tensor
from penstock.compat.tf import image as _image
from penstock.compat.tf import io as _io
from penstock.ops.call import call as _call

_new = {name: getattr(_image, name) for name in dir(_image)}
globals().update(_new)
for _name in ("decode_jpeg", "decode_png", "decode_image", "encode_jpeg", "encode_png"):
    globals()[_name] = vars(_io)[_name]

resize_image_with_crop_or_pad = _new["resize_with_crop_or_pad"]
transpose_image = _new["transpose"]


class ResizeMethod:
    """The interpolation method of `resize_images`."""

    BILINEAR = 0
    NEAREST_NEIGHBOR = 1
    BICUBIC = 2
    AREA = 3


_METHODS = ("bilinear", "nearest", "bicubic", "area")


def resize_images(
    images: Any,
    size: Any,
    method: Any = ResizeMethod.BILINEAR,
    align_corners: bool = False,
    preserve_aspect_ratio: bool = False,
    name: str | None = None,
) -> Any:
    """Resize images as in TensorFlow 1: pixels are points, and the first one keeps its position.

    Parameters
    ----------
    images : array, shape ``(H, W, C)`` or ``(N, H, W, C)``
        The images.
    size : sequence of two int
        New height and width in pixels.
    method : int or str
        A `ResizeMethod`, or a TensorFlow 2 name of one of the first four.
    align_corners : bool
        Whether the last pixels also keep their positions.
    preserve_aspect_ratio : bool
        Whether to keep the aspect ratio, using the largest size that fits.
    name : str, optional
        A label without effect.

    Returns
    -------
    Tensor
        The images as float32, unless the method is NEAREST_NEIGHBOR or the images already have that
        size.

    Raises
    ------
    ValueError
        If the method is unknown, or `images` have another rank.
    """
    values = tensor(images)
    if values.ndim not in (3, 4):
        raise ValueError("'images' must have either 3 or 4 dimensions.")
    chosen = method if isinstance(method, str) else dict(enumerate(_METHODS)).get(int(method))
    if chosen not in _METHODS:
        raise ValueError(f"Resize method is not implemented: {method}")
    old, wanted = np.array(values.shape[-3:-1], np.float32), np.array(size, np.int64)
    if wanted.shape != (2,):
        raise ValueError("'size' must be a 1-D Tensor of 2 elements: new_height, new_width")
    if preserve_aspect_ratio:
        wanted = np.rint(np.min(wanted.astype(np.float32) / old) * old).astype(np.int64)
    if tuple(wanted) == tuple(values.shape[-3:-1]):
        return values
    if values.ndim == 3:
        return _resized("resize_images", values[np.newaxis], wanted, chosen, align_corners)[0]
    return _resized("resize_images", values, wanted, chosen, align_corners)


resize = resize_images


def _resized(
    function: str, images: Any, size: Any, method: str, align_corners: bool, half: bool = False
) -> Any:
    values = tensor(images)
    new = [int(each) for each in np.ravel(size)]
    if values.ndim != 4 or len(new) != 2 or min(new) < 1 or 0 in values.shape[1:3]:
        raise InvalidArgumentError(
            None,
            None,
            f"{function}: images of shape (N, H, W, C) and two sizes above 0 were expected, "
            f"got {values.shape} and {new}",
        )
    if half:
        if align_corners:
            message = "If half_pixel_centers is True, align_corners must be False."
            raise InvalidArgumentError(None, None, message)
        return _new["resize"](values, new, method)
    return tensor(resized(values, (new[0], new[1]), method, align_corners))


def _resizing(name: str, method: str, doc: str) -> Callable[..., Any]:
    def call(
        images: Any,
        size: Any,
        align_corners: bool = False,
        name: str | None = None,
        half_pixel_centers: bool = False,
    ) -> Any:
        return _resized(title, images, size, method, align_corners, half_pixel_centers)

    title = name
    call.__name__ = call.__qualname__ = name
    call.__doc__ = f"Resize a batch of images, {doc}."
    return call


for _name, _method, _doc in (
    ("resize_bilinear", "bilinear", "with weights for the four nearest pixels"),
    ("resize_bicubic", "bicubic", "with weights for the sixteen nearest pixels"),
    ("resize_nearest_neighbor", "nearest", "each pixel the nearest one"),
):
    globals()[_name] = _resizing(_name, _method, _doc)


def resize_area(
    images: Any, size: Any, align_corners: bool = False, name: str | None = None
) -> Any:
    """Resize a batch of images, averaging the area that each pixel covers."""
    return _resized("resize_area", images, size, "area", align_corners)


def resize_image_with_pad(
    image: Any,
    target_height: Any,
    target_width: Any,
    method: Any = ResizeMethod.BILINEAR,
    align_corners: bool = False,
) -> Any:
    """Resize images to fit into a size, keeping proportions, and pad them with zeros."""
    values = tensor(image)
    box = _call("image.fitted_box", [np.asarray(values), target_height, target_width])
    made = resize_images(values, box[2:], method, align_corners)
    return _new["pad_to_bounding_box"](made, *map(int, box[:2]), target_height, target_width)


def crop_and_resize(
    image: Any,
    boxes: Any,
    box_ind: Any = None,
    crop_size: Any = None,
    method: str = "bilinear",
    extrapolation_value: float = 0,
    name: str | None = None,
    box_indices: Any = None,
) -> Any:
    """See `tf.image.crop_and_resize`; `box_ind` is the older name of `box_indices`."""
    numbers = box_ind if box_indices is None else box_indices
    return _new["crop_and_resize"](image, boxes, numbers, crop_size, method, extrapolation_value)


def draw_bounding_boxes(
    images: Any, boxes: Any, name: str | None = None, colors: Any = None
) -> Any:
    """See `tf.image.draw_bounding_boxes`."""
    return _image.draw_bounding_boxes(images, boxes, colors)


def sample_distorted_bounding_box(
    image_size: Any,
    bounding_boxes: Any,
    seed: int | None = None,
    seed2: int | None = None,
    min_object_covered: Any = 0.1,
    aspect_ratio_range: Any = None,
    area_range: Any = None,
    max_attempts: int | None = None,
    use_image_if_no_bounding_boxes: bool | None = None,
    name: str | None = None,
) -> Any:
    """See `tf.image.sample_distorted_bounding_box`; the seed consists of two numbers."""
    limits = (min_object_covered, aspect_ratio_range, area_range, max_attempts)
    arguments = (*limits, use_image_if_no_bounding_boxes)
    if seed and seed2:
        return _image.stateless_sample_distorted_bounding_box(
            image_size, bounding_boxes, (seed, seed2), *arguments
        )
    return _image.sample_distorted_bounding_box(
        image_size, bounding_boxes, seed or seed2, *arguments
    )


def extract_image_patches(
    images: Any,
    ksizes: Any = None,
    strides: Any = None,
    rates: Any = None,
    padding: Any = None,
    name: str | None = None,
    sizes: Any = None,
) -> Any:
    """See `tf.image.extract_patches`; `ksizes` is the older name of `sizes`."""
    return _image.extract_patches(
        images, ksizes if sizes is None else sizes, strides, rates, padding
    )


__dir__ = listing(globals())
