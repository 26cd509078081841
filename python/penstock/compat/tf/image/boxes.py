"""Bounding boxes: random crops, and drawing of boxes into images."""

from __future__ import annotations

import math
from typing import Any, NamedTuple

import numpy as np

from penstock import random as _random
from penstock.compat.errors import InvalidArgumentError
from penstock.compat.listing import listing
from penstock.compat.seeds import stateless, with_global
from penstock.compat.tensor import tensor

_COLORS = (
    *((1, 1, 0, 1), (0, 0, 1, 1), (1, 0, 0, 1), (0, 1, 0, 1), (0.5, 0, 0.5, 1)),
    *((0.5, 0.5, 0, 1), (0.5, 0, 0, 1), (0, 0, 0.5, 1), (0, 1, 1, 1), (1, 0, 1, 1)),
)


class SampleDistortedBoundingBox(NamedTuple):
    """A crop: its start and size for `tf.slice`, and its bounding box."""

    begin: Any
    size: Any
    bboxes: Any


def sample_distorted_bounding_box(
    image_size: Any,
    bounding_boxes: Any,
    seed: int | None = 0,
    min_object_covered: Any = 0.1,
    aspect_ratio_range: Any = None,
    area_range: Any = None,
    max_attempts: int | None = None,
    use_image_if_no_bounding_boxes: bool | None = None,
    name: str | None = None,
) -> SampleDistortedBoundingBox:
    """Draw a crop of an image that shows enough of one of its objects.

    Parameters
    ----------
    image_size : array_like of int, shape ``(3,)``
        Height, width and channels.
    bounding_boxes : array_like of float, shape ``(batch, count, 4)``
        The objects: top, left, bottom and right, where 1 is the height or width of the image.
    seed : int
        The seed, for a reproducible crop; 0 for none.
    min_object_covered : float
        Minimum share of an object that the crop must contain.
    aspect_ratio_range : (float, float), optional
        The range of width divided by height; (0.75, 1.33) by default.
    area_range : (float, float), optional
        The range of the crop's share of the image; (0.05, 1) by default.
    max_attempts : int, optional
        Maximum number of attempts; 100 by default. After that, the crop is the whole image.
    use_image_if_no_bounding_boxes : bool, optional
        Whether to use the whole image as the object if there are no boxes; otherwise, this is an
        error.
    name : str, optional
        A label without effect.

    Returns
    -------
    begin : Tensor, shape ``(3,)``
        ``[top, left, 0]``, with the type of `image_size`.
    size : Tensor, shape ``(3,)``
        ``[height, width, -1]``, with that type.
    bboxes : Tensor, shape ``(1, 1, 4)``
        The crop as a bounding box, float32.

    Raises
    ------
    InvalidArgumentError
        If an argument has an invalid shape or range.

    Notes
    -----
    Randomness: as in `random_crop`.
    """
    sizes = tensor(image_size)
    if sizes.shape != (3,) or sizes.dtype.kind not in "iu":
        raise _wrong(f"image_size must contain 3 integers, got {sizes}")
    height, width = (int(size) for size in sizes[:2])
    ratios = _range("Aspect ratio", aspect_ratio_range, (0.75, 1.33), math.inf)
    areas = _range("Area", area_range, (0.05, 1.0), 1.0)
    attempts = 100 if max_attempts is None else int(max_attempts)
    if attempts < 1:
        raise _wrong(f"Max attempts must be non-negative: {attempts}")
    covered = float(min_object_covered)
    if not covered >= 0:
        raise _wrong(f"Min object covered must be non-negative: {covered}")
    objects = _objects(bounding_boxes, height, width)
    if not len(objects):
        if not use_image_if_no_bounding_boxes:
            raise _wrong(
                "No bounding boxes provided as input. One must enable "
                "use_image_if_no_bounding_boxes if you wish to not provide any bounding boxes."
            )
        objects = np.array([[0, 0, height, width]])
    box = (0, 0, height, width)
    for draws in _random.uniform((attempts, 4), seed=with_global(seed or None)).tolist():
        crop = _crop(height, width, ratios, areas, draws)
        if crop is not None and _covers(crop, objects, covered):
            box = crop
            break
    top, left, bottom, right = box
    edges = np.array(box, np.float32) / np.array([height, width] * 2, np.float32)
    return SampleDistortedBoundingBox(
        tensor(np.array([top, left, 0]), sizes.dtype),
        tensor(np.array([bottom - top, right - left, -1]), sizes.dtype),
        tensor(edges.reshape(1, 1, 4)),
    )


def stateless_sample_distorted_bounding_box(
    image_size: Any,
    bounding_boxes: Any,
    seed: Any,
    min_object_covered: Any = 0.1,
    aspect_ratio_range: Any = None,
    area_range: Any = None,
    max_attempts: int | None = None,
    use_image_if_no_bounding_boxes: bool | None = None,
    name: str | None = None,
) -> SampleDistortedBoundingBox:
    """See `sample_distorted_bounding_box`; the result depends only on `seed`, two integers."""
    with stateless(seed):
        return sample_distorted_bounding_box(
            image_size,
            bounding_boxes,
            None,
            min_object_covered,
            aspect_ratio_range,
            area_range,
            max_attempts,
            use_image_if_no_bounding_boxes,
        )


def _wrong(message: str) -> InvalidArgumentError:
    return InvalidArgumentError(None, None, message)


def _range(name: str, given: Any, default: tuple[float, float], most: float) -> tuple[float, float]:
    numbers = default if given is None else tuple(float(number) for number in given)
    if len(numbers) != 2:
        raise _wrong(f"{name} range field must specify 2 dimensions")
    low, high = numbers
    if not (0 < low <= most and 0 < high <= most):
        raise _wrong(f"{name} range must lie above 0 and be at most {most}: [{low}, {high}]")
    return low, high


def _objects(bounding_boxes: Any, height: int, width: int) -> Any:
    boxes = tensor(bounding_boxes)
    if boxes.ndim != 3:
        raise _wrong("input boxes must be 3-dimensional [batch, num_boxes, coords]")
    if boxes.shape[-1] != 4:
        raise _wrong(f"bounding boxes must have shape [4] or [*, 4], got {boxes.shape}")
    edges = np.asarray(boxes, np.float32).reshape(-1, 4)
    if not np.all((edges >= 0) & (edges <= 1)):
        raise _wrong("All bounding box coordinates must be in [0.0, 1.0]")
    return (edges * np.array([height, width] * 2, np.float32)).astype(np.int64)


def _crop(height: int, width: int, ratios: Any, areas: Any, draws: list[float]) -> Any:
    """Return a crop from four numbers in [0, 1) for ratio, height, top and left; or None."""
    ratio = ratios[0] + draws[0] * (ratios[1] - ratios[0])
    least, most = (share * width * height for share in areas)
    if least > most:
        return None
    tallest = min(round(math.sqrt(most / ratio)), height, math.floor((width + 0.4999999) / ratio))
    rows = min(round(math.sqrt(least / ratio)), tallest)
    rows += int(draws[1] * (tallest - rows + 1))
    # Rounding may have moved the area out of its range.
    if round(rows * ratio) * rows < least:
        rows += 1
    if round(rows * ratio) * rows > most:
        rows -= 1
    columns = round(rows * ratio)
    if not (least <= rows * columns <= most and 0 < columns <= width and 0 < rows <= height):
        return None
    top, left = int(draws[2] * (height - rows + 1)), int(draws[3] * (width - columns + 1))
    return top, left, top + rows, left + columns


def _covers(crop: tuple[int, int, int, int], objects: Any, share: float) -> bool:
    within = np.clip(objects, [crop[0], crop[1]] * 2, [crop[2], crop[3]] * 2)
    shown, areas = _areas(within), _areas(objects)
    return bool(np.any((areas >= 1) & (shown >= share * areas)))


def _areas(boxes: Any) -> Any:
    return (boxes[:, 2] - boxes[:, 0]) * (boxes[:, 3] - boxes[:, 1])


def draw_bounding_boxes(images: Any, boxes: Any, colors: Any, name: str | None = None) -> Any:
    """Draw the outlines of boxes into images.

    Parameters
    ----------
    images : array, shape ``(N, H, W, C)``
        float32 or float16, with 1, 3 or 4 channels.
    boxes : array_like of float, shape ``(N, count, 4)``
        Top, left, bottom and right, where 1 is the last row or column.
    colors : array_like of float, shape ``(any, C)`` or None
        The colours to cycle through, in the range of the pixels. None: ten colours for pixels in
        [0, 1].
    name : str, optional
        A label without effect.

    Returns
    -------
    Tensor
        The images with lines one pixel wide.
    """
    canvas = tensor(images)
    if canvas.ndim != 4 or canvas.shape[3] not in (1, 3, 4) or canvas.dtype.char not in "ef":
        raise _wrong(
            "draw_bounding_boxes: float32 or float16 of shape (N, H, W, 1, 3 or 4) was expected, "
            f"got {canvas.dtype.name} of shape {canvas.shape}"
        )
    edges = np.asarray(tensor(boxes), np.float32)
    if edges.ndim != 3 or edges.shape[::2] != (canvas.shape[0], 4):
        raise _wrong(f"draw_bounding_boxes: boxes must have shape (N, count, 4), got {edges.shape}")
    canvas = np.array(canvas)
    last = np.array([canvas.shape[1] - 1, canvas.shape[2] - 1] * 2, np.float32)
    palette = _palette(colors, canvas.shape[3]).astype(canvas.dtype)
    for image, rows in zip(canvas, (edges * last).astype(np.int64), strict=True):
        for number, box in enumerate(rows.tolist()):
            _draw(image, box, palette[number % len(palette)])
    return tensor(canvas)


def _palette(colors: Any, channels: int) -> Any:
    given = np.asarray(tensor([] if colors is None else colors), np.float32)
    if given.size:
        if given.ndim != 2 or given.shape[1] < channels:
            raise _wrong(f"colors must have equal or more channels than the image, got {given}")
        return given[:, :channels]
    return np.array(_COLORS, np.float32)[:, :channels] if channels > 1 else np.ones((1, 1))


def _draw(image: Any, box: list[int], color: Any) -> None:
    height, width, _ = image.shape
    top, left, bottom, right = box
    if top > bottom or left > right or top >= height or left >= width or bottom < 0 or right < 0:
        return
    rows = slice(max(top, 0), min(bottom, height - 1) + 1)
    columns = slice(max(left, 0), min(right, width - 1) + 1)
    for row in (top, bottom):
        if 0 <= row < height:
            image[row, columns] = color
    for column in (left, right):
        if 0 <= column < width:
            image[rows, column] = color


__dir__ = listing(globals())
