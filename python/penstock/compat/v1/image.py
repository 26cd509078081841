"""tf.image with the names that moved or changed."""

from __future__ import annotations

from typing import Any

from penstock.compat.listing import listing
from penstock.compat.tf import image as _image
from penstock.compat.tf import io as _io

globals().update({name: f for name, f in vars(_image).items() if not name.startswith("_")})
for _name in ("decode_jpeg", "decode_png", "decode_image", "encode_jpeg", "encode_png"):
    globals()[_name] = vars(_io)[_name]

resize_image_with_crop_or_pad = vars(_image)["resize_with_crop_or_pad"]
resize_image_with_pad = vars(_image)["resize_with_pad"]


class ResizeMethod:
    """How `resize_images` finds values between pixels."""

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
    """Resize images: `tf.image.resize`, with half-pixel centers as in TensorFlow 2.

    Parameters
    ----------
    images : array, shape ``(H, W, C)`` or ``(N, H, W, C)``
        The images.
    size : sequence of two int
        New height and width in pixels.
    method : int or str
        A `ResizeMethod`.
    align_corners : bool
        Must be False.
    preserve_aspect_ratio : bool
        Keep it, with the greatest size that fits.
    name : str, optional
        A label without further meaning.

    Returns
    -------
    Tensor
        float32, unless the method is NEAREST_NEIGHBOR.

    Raises
    ------
    ValueError
        If `align_corners` is True.
    """
    if align_corners:
        raise ValueError("resize_images: align_corners=True is not there; False was expected")
    chosen = _METHODS[method] if isinstance(method, int) else method
    return vars(_image)["resize"](images, size, chosen, preserve_aspect_ratio)


resize = resize_images

__dir__ = listing(globals())
