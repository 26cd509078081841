"""Native programs that decode and crop decode the window alone, with the same bytes."""

import io

import numpy as np
import pytest
from PIL import Image

import penstock as ps
from native_contract import assert_native, run


@pytest.fixture(scope="module")
def photos():
    """JPEGs of several sizes, smooth under noise."""
    rng = np.random.default_rng(5)
    files = []
    for height, width in ((90, 120), (64, 200), (33, 47)):
        y, x = np.mgrid[:height, :width]
        image = np.stack([x + y, 255 - x, 2 * y], -1) % 256 + rng.normal(0, 15, (height, width, 3))
        file = io.BytesIO()
        Image.fromarray(image.clip(0, 255).astype(np.uint8)).save(file, "JPEG")
        files.append(file.getvalue())
    return files


def test_random_crops_of_a_fixed_size(photos):
    def function(contents):
        return ps.image.random_crop(ps.image.decode_jpeg(contents, channels=3), (32, 32, 3))

    assert_native(function, photos)


def test_random_crops_by_the_shape(photos):
    def function(contents):
        image = ps.image.decode_jpeg(contents)
        size = ps.cast(0.75 * ps.shape(image)[:2], np.int64)
        crop = ps.image.random_crop(image, [size[0], size[1], 3])
        return ps.image.resize(crop, (16, 24)) / 255.0, ps.shape(image)

    assert_native(function, photos)


def test_crops_that_are_no_windows(photos):
    def function(contents):
        return ps.image.random_crop(ps.image.decode_jpeg(contents), (20, 20, 2))

    assert_native(function, photos)


def test_images_that_are_used_otherwise_too(photos):
    def function(contents):
        image = ps.image.decode_jpeg(contents)
        return ps.image.random_crop(image, (8, 8, 3)), image[0, 0]

    def twice(contents):
        image = ps.image.decode_jpeg(contents)
        return ps.image.random_crop(image, (8, 8, 3)), ps.image.random_crop(image, (4, 4, 3))

    assert_native(function, photos)
    assert_native(twice, photos)


def test_only_the_window_is_decoded(photos):
    # Damage behind the window is not met, which is how it shows.
    damaged = photos[0][: len(photos[0]) * 2 // 3]
    cut = ps.native(lambda c: ps.image.random_crop(ps.image.decode_jpeg(c), (8, 120, 3)))
    ds = ps.Dataset.from_tensors(damaged).repeat(40).map(cut)
    good = 0
    it = iter(ds)
    for _ in range(40):
        try:
            good += next(it).shape == (8, 120, 3)
        except ps.DataError:
            continue
    assert 0 < good < 40


def test_errors_name_the_argument(photos):
    cut = ps.native(lambda c: ps.image.random_crop(ps.image.decode_jpeg(c), (500, 500, 3)))
    with pytest.raises(ValueError, match=r"random_crop: size .* got 500 for axis 0"):
        run(ps.Dataset.from_tensors(photos[0]).map(cut))
    with pytest.raises(ps.DataError, match="decode_jpeg"):
        run(ps.Dataset.from_tensors(b"no jpeg").map(cut))
