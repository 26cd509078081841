"""image.crop_and_resize against the formula in NumPy."""

import numpy as np
import pytest

import penstock as ps
from native_contract import assert_native

RNG = np.random.default_rng(0)
IMAGES = RNG.normal(0, 10, (3, 19, 23, 2)).astype(np.float32)
BOXES = np.concatenate(
    [RNG.uniform(-0.3, 1.3, (30, 4)), [[0, 0, 1, 1], [1, 1, 0, 0], [0.5, 0.5, 0.5, 0.5]]]
).astype(np.float32)
INDICES = RNG.integers(0, 3, len(BOXES))


def positions(begin, end, pixels, count):
    last = np.float32(pixels - 1)
    if count == 1:
        return np.float32(0.5) * (begin + end) * last + np.zeros(1, np.float32)
    step = (end - begin) * last / np.float32(count - 1)
    return begin * last + np.arange(count, dtype=np.float32) * step


def crop(image, box, size, method, outside):
    """Return one box, in the float32 operation order of TensorFlow's CropAndResize."""
    y, x = (positions(box[i], box[i + 2], image.shape[i], size[i]) for i in (0, 1))
    valid = ((y >= 0) & (y <= image.shape[0] - 1))[:, None] & (x >= 0) & (x <= image.shape[1] - 1)
    y, x = y.clip(0, image.shape[0] - 1), x.clip(0, image.shape[1] - 1)
    if method == "nearest":
        rows, columns = (np.floor(at + np.float32(0.5)).astype(int) for at in (y, x))
        result = image[rows][:, columns]
    else:
        top, left = np.floor(y).astype(int), np.floor(x).astype(int)
        bottom, right = np.ceil(y).astype(int), np.ceil(x).astype(int)
        across = (x - left.astype(np.float32))[:, None]
        down = (y - top.astype(np.float32))[:, None, None]
        above, below = image[top], image[bottom]
        above = above[:, left] + (above[:, right] - above[:, left]) * across
        below = below[:, left] + (below[:, right] - below[:, left]) * across
        result = above + (below - above) * down
    return np.where(valid[..., None], result, np.float32(outside))


@pytest.mark.parametrize("method", ["bilinear", "nearest"])
@pytest.mark.parametrize("size", [(5, 7), (1, 1), (30, 4), (1, 9)])
@pytest.mark.parametrize("dtype", ["float32", "float64", "uint8", "int16", "float16"])
def test_boxes_are_the_formulas(method, size, dtype):
    images = (IMAGES * 3).astype(np.int64).clip(0, 120).astype(dtype)
    result = ps.image.crop_and_resize(images, BOXES, INDICES, size, method, -3.5)
    assert result.dtype == np.float32
    assert result.shape == (len(BOXES), *size, 2)
    for box, index, part in zip(BOXES, INDICES, result, strict=True):
        image = images[index].astype(np.float32)
        np.testing.assert_array_equal(part, crop(image, box, size, method, -3.5))


def test_figures_of_tensorflow():
    # The examples in TensorFlow's documentation of this function.
    image = np.arange(0, 18, 2, dtype=np.float32).reshape(1, 3, 3, 1)
    box = [[0.5, 0.5, 1, 1]]
    smooth = ps.image.crop_and_resize(image, box, [0], (3, 3))
    assert smooth.ravel().tolist() == [8, 9, 10, 11, 12, 13, 14, 15, 16]
    nearest = ps.image.crop_and_resize(image, box, [0], (3, 3), "nearest")
    assert nearest.ravel().tolist() == [8, 10, 10, 14, 16, 16, 14, 16, 16]


def test_the_whole_box_at_its_size_is_the_image():
    result = ps.image.crop_and_resize(IMAGES, [[0, 0, 1, 1]], [2], (19, 23), "nearest")
    np.testing.assert_array_equal(result[0], IMAGES[2])


@pytest.mark.parametrize("value", [np.nan, np.inf, -np.inf, 1e300])
def test_boxes_that_are_nowhere_are_outside(value):
    for box in ([value] * 4, [0, value, 1, 1], [0, 0, value, 1]):
        for size in ((2, 2), (1, 1)):
            result = ps.image.crop_and_resize(IMAGES, [box], [0], size, "bilinear", 7)
            assert (result[:, -1, -1] == 7).all()


def test_no_boxes_and_no_channels():
    assert ps.image.crop_and_resize(IMAGES, np.zeros((0, 4)), [], (2, 2)).shape == (0, 2, 2, 2)
    empty = IMAGES[..., :0]
    assert ps.image.crop_and_resize(empty, BOXES, INDICES, (2, 2)).shape == (len(BOXES), 2, 2, 0)


def test_more_pixels_than_float32_can_count():
    wide = np.zeros((1, 1, 2**24 + 4, 1), np.uint8)
    wide[0, 0, -1] = 7
    result = ps.image.crop_and_resize(wide, [[0, 1, 0, 1]], [0], (1, 1))
    assert result.ravel().tolist() == [7]


@pytest.mark.parametrize(
    ("changed", "message"),
    [
        ({"image": IMAGES[0]}, "image must have shape"),
        ({"image": IMAGES[:, :0]}, "image must have shape"),
        ({"boxes": BOXES[0]}, r"boxes must have shape \(count, 4\)"),
        ({"boxes": BOXES[:, :3]}, r"boxes must have shape \(count, 4\)"),
        ({"box_indices": INDICES[:5]}, r"box_indices must have shape \(33,\)"),
        ({"box_indices": INDICES - 1}, "box_indices must be numbers of the 3 images, got -1"),
        ({"box_indices": INDICES + 1}, "box_indices must be numbers of the 3 images, got 3"),
        ({"crop_size": (0, 2)}, "crop_size must be"),
        ({"crop_size": (2, 2**31)}, "crop_size must be"),
        ({"crop_size": (2,)}, "crop_size must have shape"),
        ({"method": "bicubic"}, "method must be 'bilinear' or 'nearest', got 'bicubic'"),
        ({"extrapolation_value": [1, 2]}, "extrapolation_value must be one number"),
    ],
)
def test_wrong_arguments_are_refused(changed, message):
    arguments = {"image": IMAGES, "boxes": BOXES, "box_indices": INDICES, "crop_size": (2, 2)}
    with pytest.raises(ValueError, match=f"^crop_and_resize: {message}"):
        ps.image.crop_and_resize(**(arguments | changed))


@pytest.mark.parametrize(
    "changed",
    [
        {"image": IMAGES > 0},
        {"boxes": BOXES.astype("U")},
        {"box_indices": INDICES * 1.0},
        {"crop_size": (2.0, 2.0)},
        {"extrapolation_value": "0"},
    ],
)
def test_wrong_types_are_refused(changed):
    arguments = {"image": IMAGES, "boxes": BOXES, "box_indices": INDICES, "crop_size": (2, 2)}
    with pytest.raises(TypeError, match=f"^crop_and_resize: {next(iter(changed))} must"):
        ps.image.crop_and_resize(**(arguments | changed))


def test_native():
    def function(images, boxes, indices):
        return ps.image.crop_and_resize(images, boxes, indices, (4, 5))

    elements = [(IMAGES + i, BOXES[i : 2 * i + 4], INDICES[i : 2 * i + 4]) for i in range(4)]
    assert_native(function, elements)
