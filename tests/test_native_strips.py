"""Native programs go over images strip by strip, with the results of whole images."""

import numpy as np

import penstock as ps
from native_contract import assert_native

RNG = np.random.default_rng(5)
IMAGES = [
    RNG.integers(0, 256, (height, width, 3), dtype=np.uint8)
    for height, width in ((90, 120), (64, 200), (33, 47))
]


def test_images_that_are_made_in_strips():
    mean = np.array([100, 110, 120], np.float32)

    def function(image):
        image = ps.image.resize(image, (37, 41))
        image = ps.image.random_flip_left_right(image)
        return (image - mean) / 58.0

    def as_bytes(image):
        image = ps.image.resize(image, (500, 300))
        return ps.cast(ps.image.flip_left_right(np.rint(image)), np.uint8)

    assert_native(function, IMAGES)
    assert_native(as_bytes, IMAGES)


def test_strips_with_inputs_that_differ_from_row_to_row():
    ramp = np.linspace(0, 1, 40, dtype=np.float32)[:, None, None]

    def function(image):
        return ramp * ps.image.resize(image, (40, 30))

    def both(image):
        image = ps.image.resize(image, (40, 30))
        return image + image, 1.0 - image

    def twice(image):
        image = ps.image.resize(image, (40, 30))
        image = ps.image.random_flip_left_right(image) * 2.0
        return ps.image.random_flip_left_right(image, seed=3)

    assert_native(function, IMAGES)
    assert_native(both, IMAGES)
    assert_native(twice, IMAGES)


def test_batches_of_images_are_not_made_in_strips():
    images = np.random.default_rng(2).integers(0, 255, (3, 20, 30, 3), dtype=np.uint8)

    def function(x):
        return ps.image.random_flip_left_right(ps.image.resize(x, (8, 9))) / 255.0

    assert_native(function, [images, images[:2]])


def test_strips_of_nothing():
    def function(image):
        return ps.image.resize(image, (5, 5))[:0] * 2.0

    assert_native(function, IMAGES)
