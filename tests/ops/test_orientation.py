"""image.flip_up_down, rot90 and transpose, against NumPy; the random variant per image."""

import numpy as np
import pytest

import penstock as ps
from native_contract import assert_native

SHAPES = [(7, 9), (1, 9), (9, 1), (130, 70), (0, 4), (4, 0)]
CHANNELS = [1, 2, 3, 4, 0]
DTYPES = ["bool", "uint8", "float16", "float32", "int64", "complex128"]


def image_of(shape, dtype="uint8"):
    return np.random.default_rng(0).integers(0, 100, shape).astype(dtype)


EXPECTED = {
    "flip_up_down": lambda x: x[::-1],
    "flip_left_right": lambda x: x[:, ::-1],
    "transpose": lambda x: x.transpose(1, 0, 2),
    "rot90": np.rot90,
}


@pytest.mark.parametrize("name", EXPECTED)
@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("channels", CHANNELS)
def test_pixels_are_where_numpy_has_them(name, channels, dtype):
    for shape in SHAPES:
        image = image_of((*shape, channels), dtype)
        result = getattr(ps.image, name)(image)
        assert result.dtype == image.dtype
        np.testing.assert_array_equal(result, EXPECTED[name](image))


@pytest.mark.parametrize("name", EXPECTED)
@pytest.mark.parametrize("count", [0, 1, 5])
def test_batches_are_images_one_by_one(name, count):
    images = image_of((count, 6, 8, 3))
    result = getattr(ps.image, name)(images)
    assert len(result) == count
    for image, turned in zip(images, result, strict=True):
        np.testing.assert_array_equal(turned, EXPECTED[name](image))


@pytest.mark.parametrize("k", [*range(-9, 10), 2**40 + 3, np.uint8(255), np.int64(-(2**63))])
def test_any_number_of_quarters(k):
    image = image_of((5, 8, 3))
    np.testing.assert_array_equal(ps.image.rot90(image, k), np.rot90(image, int(k) % 4))


def test_quarters_may_depend_on_the_element():
    def function(image, k):
        return ps.image.rot90(image, k), ps.image.transpose(ps.image.flip_up_down(image))

    elements = [(image_of((4 + i, 6, 3)), np.int64(i)) for i in range(5)]
    assert_native(function, elements)


def test_random_forms_are_native():
    def function(image):
        return ps.image.random_flip_up_down(image), ps.image.random_flip_left_right(image)

    assert_native(function, [image_of((3, 4, 3)) for _ in range(9)])


def test_about_half_of_a_batch_are_flipped():
    images = image_of((400, 4, 2, 1))
    result = ps.image.random_flip_up_down(images, seed=2)
    flipped = (result == images[:, ::-1]).all(axis=(1, 2, 3))
    same = (result == images).all(axis=(1, 2, 3))
    assert (flipped | same).all()
    assert 150 < flipped.sum() < 250


@pytest.mark.parametrize("name", [*EXPECTED, "random_flip_up_down"])
@pytest.mark.parametrize("shape", [(), (4,), (4, 4), (1, 1, 4, 4, 3)])
def test_another_rank_is_refused(name, shape):
    with pytest.raises(ValueError, match=rf"^{name}: image must have shape \(height, width, ch"):
        getattr(ps.image, name)(np.zeros(shape))


@pytest.mark.parametrize(("k", "error"), [(1.0, TypeError), ([1, 2], ValueError), ("1", TypeError)])
def test_quarters_are_one_integer(k, error):
    with pytest.raises(error, match="rot90: k must be"):
        ps.image.rot90(np.zeros((2, 2, 1)), k)


def test_a_view_with_strides():
    image = image_of((20, 30, 4))[::2, ::-3, 1:]
    np.testing.assert_array_equal(ps.image.rot90(image), np.rot90(image))
