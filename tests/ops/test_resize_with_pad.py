"""image.resize_with_pad: the aspect ratio is kept, and zeros fill the rest."""

import numpy as np
import pytest

import penstock as ps
from native_contract import assert_native


def image_of(shape, dtype="uint8"):
    return np.random.default_rng(0).integers(1, 100, shape).astype(dtype)


# Image, target, and TensorFlow 2.21's position of the image: top, left, height, width.
BOXES = [
    ((37, 53), (30, 30), (4, 0, 20, 30)),
    ((37, 53), (128, 128), (19, 0, 89, 128)),
    ((64, 48), (7, 99), (0, 46, 6, 5)),  # 7 rows, minus rounding
    ((20, 31), (64, 20), (25, 0, 12, 20)),
    ((10, 10), (10, 10), (0, 0, 10, 10)),
    ((1, 1), (3, 4), (0, 0, 3, 3)),
]


@pytest.mark.parametrize(("shape", "target", "box"), BOXES)
@pytest.mark.parametrize("method", ["bilinear", "nearest", "bicubic"])
def test_the_image_fills_its_box(shape, target, box, method):
    y, x, height, width = box
    image = image_of((*shape, 3))
    result = ps.image.resize_with_pad(image, *target, method)
    inside = ps.image.resize(image, (height, width), method)
    expected = np.zeros((*target, 3), inside.dtype)
    expected[y : y + height, x : x + width] = inside
    assert result.dtype == inside.dtype
    np.testing.assert_array_equal(result, expected)
    batch = ps.image.resize_with_pad(np.stack([image, image]), *target, method)
    np.testing.assert_array_equal(batch[1], expected)


def test_antialias_is_that_of_resize():
    image = image_of((64, 64, 3))
    result = ps.image.resize_with_pad(image, 9, 9, antialias=True)
    np.testing.assert_array_equal(result, ps.image.resize(image, (9, 9), antialias=True))


@pytest.mark.parametrize(("shape", "target"), [((1000, 1), (10, 10)), ((1, 1000), (10, 10))])
def test_at_least_one_pixel_is_left(shape, target):
    result = ps.image.resize_with_pad(np.full((*shape, 1), 9, np.uint8), *target)
    assert (result == 9).sum() == 10
    assert (result == 0).sum() == 90


@pytest.mark.parametrize("target", [(0, 4), (4, 0), (-1, 4), (2**31, 1)])
def test_a_wrong_target_is_refused(target):
    with pytest.raises(ValueError, match="resize_with_pad: target_height and target_width must be"):
        ps.image.resize_with_pad(image_of((4, 4, 3)), *target)


def test_a_target_is_two_integers():
    with pytest.raises(TypeError, match="resize_with_pad: target_height and target_width must be"):
        ps.image.resize_with_pad(image_of((4, 4, 3)), 2.0, 4)


@pytest.mark.parametrize("shape", [(4, 4), (0, 4, 3), (4, 0, 3)])
def test_another_shape_is_refused(shape):
    with pytest.raises(ValueError, match="resize_with_pad: image must have"):
        ps.image.resize_with_pad(np.zeros(shape), 2, 2)


def test_native():
    def function(image, n):
        return ps.image.resize_with_pad(image, n, 12, antialias=True)

    assert_native(function, [(image_of((5 + 3 * i, 6, 3)), np.int64(4 + i)) for i in range(4)])
    assert_native(
        lambda image: ps.image.resize_with_pad(image, 8, 8, "nearest"),
        [image_of((5 + 3 * i, 6, 3)) for i in range(4)],
    )
