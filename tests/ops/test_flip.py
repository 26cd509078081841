"""image.flip_left_right and its random variant: mirrored or not, per image."""

import numpy as np
import pytest

import penstock as ps


def random_image(shape):
    return np.random.default_rng(0).integers(0, 100, shape).astype(np.uint8)


@pytest.mark.parametrize("dtype", ["bool", "uint8", "float16", "float32", "int64", "complex128"])
@pytest.mark.parametrize("channels", [1, 2, 3, 4])
def test_the_width_is_mirrored(channels, dtype):
    image = random_image((7, 9, channels)).astype(dtype)
    result = ps.image.flip_left_right(image)
    assert result.dtype == image.dtype
    np.testing.assert_array_equal(result, image[:, ::-1])


@pytest.mark.parametrize("shape", [(5, 7, 9, 3), (0, 7, 9, 3), (5, 7, 9, 0), (5, 0, 9, 1)])
def test_batches(shape):
    images = random_image(shape)
    np.testing.assert_array_equal(ps.image.flip_left_right(images), images[:, :, ::-1])


@pytest.mark.parametrize("name", ["flip_left_right", "random_flip_left_right"])
def test_another_rank_is_refused(name):
    with pytest.raises(ValueError, match=rf"^{name}: image must have shape \(height, width"):
        getattr(ps.image, name)(np.zeros((4, 4)))


def test_about_half_are_flipped():
    image = random_image((2, 3, 3))
    ps.random.set_seed(11)
    flipped = 0
    for _ in range(2000):
        result = ps.image.random_flip_left_right(image)
        mirrored = np.array_equal(result, image[:, ::-1])
        assert mirrored or np.array_equal(result, image)
        flipped += mirrored
    assert 900 < flipped < 1100


def test_images_of_a_batch_are_flipped_one_by_one():
    images = random_image((400, 2, 3, 1))
    result = ps.image.random_flip_left_right(images, seed=2)
    flipped = (result == images[:, :, ::-1]).all(axis=(1, 2, 3))
    same = (result == images).all(axis=(1, 2, 3))
    assert (flipped | same).all()
    assert 150 < flipped.sum() < 250


def test_a_seed_decides():
    image = random_image((2, 3, 3))
    draws = [ps.image.random_flip_left_right(image, seed=seed) for seed in range(40)]
    again = [ps.image.random_flip_left_right(image, seed=seed) for seed in range(40)]
    np.testing.assert_array_equal(draws, again)
    assert len({draw.tobytes() for draw in draws}) == 2
