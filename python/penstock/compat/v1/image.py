"""tf.image as in TensorFlow 1: with lazy arguments, functions return lazy values."""

from __future__ import annotations

import functools
from typing import Any

from penstock.compat.graph import deferred
from penstock.compat.listing import listing
from penstock.compat.tensor import tensor as _cast
from penstock.compat.tf import old_image as _image

for _name in dir(_image):
    _thing = getattr(_image, _name)
    globals()[_name] = _thing if isinstance(_thing, type) else deferred(_thing)


@deferred
@functools.wraps(_image.resize_images)
def resize_images(
    images: Any, size: Any, method: Any = _image.ResizeMethod.BILINEAR, *args: Any, **kwargs: Any
) -> Any:
    """Resize images; see `penstock.compat.tf.compat.v1.image.resize_images`."""
    made = _image.resize_images(images, size, method, *args, **kwargs)
    # A graph does not know the size of a decoded image, so images of the right size are also
    # resized.
    nearest = method in (_image.ResizeMethod.NEAREST_NEIGHBOR, "nearest")
    return made if nearest else _cast(made, "float32")


@deferred
def extract_glimpse(
    input: Any,
    size: Any,
    offsets: Any,
    centered: bool = True,
    normalized: bool = True,
    uniform_noise: bool = True,
    name: str | None = None,
) -> Any:
    """Extract a window of each image; see `penstock.compat.tf.image.extract_glimpse`."""
    noise = "uniform" if uniform_noise else "gaussian"
    today = vars(_image)["extract_glimpse"]
    return today(input, size, offsets, centered, normalized, noise)


resize = resize_images
__dir__ = listing(globals())
