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


def test_random_resized_crops(photos):
    def function(contents):
        image = ps.image.decode_jpeg(contents, channels=3)
        return ps.image.random_resized_crop(image, (24, 16), scale=(0.1, 0.7)), ps.shape(image)

    assert_native(function, photos * 3)


def test_boxes_and_centers(photos):
    def boxes(contents):
        image = ps.image.decode_jpeg(contents)
        height = ps.shape(image)[0]
        return ps.image.crop_to_bounding_box(image, height // 3, 5, height // 2, 31)

    assert_native(boxes, photos)
    assert_native(lambda c: ps.image.central_crop(ps.image.decode_jpeg(c), 0.5), photos)

    def crop_or_pad(contents):
        return ps.image.resize_with_crop_or_pad(ps.image.decode_jpeg(contents), 40, 60)

    assert_native(crop_or_pad, photos)


INDEXES = [
    lambda image: image[3:20, 5:30],
    lambda image: image[:12],
    lambda image: image[-20:, ..., :],
    lambda image: image[..., 4:9, :],
    lambda image: image[:],
    lambda image: image[ps.shape(image)[0] // 3 :, : ps.shape(image)[1] // 2, :],
    # None of an image's windows:
    lambda image: image[5:5],
    lambda image: image[::2, ::-1],
    lambda image: image[2:9, 3:8, 0],
    lambda image: image[2:9, 3:8, 1:],
    lambda image: image[4],
    lambda image: image[None, 2:9, 3:8],
    lambda image: image[7:2:-1, 3:8],
]


@pytest.mark.parametrize("index", INDEXES)
def test_slices(photos, index):
    assert_native(lambda c: index(ps.image.decode_jpeg(c)), photos)
    assert_native(lambda c: index(ps.image.decode_jpeg(c)) / 255.0, photos)


def box(image):
    return ps.image.crop_to_bounding_box(image, 2, 3, 20, 100)


def drawn(image):
    return ps.image.random_resized_crop(image, (8, 8), scale=(0.01, 0.02))


def sliced(image):
    top = ps.shape(image)[0] // 40
    return image[top : top + 20, 3:-10]


@pytest.mark.parametrize("crop", [box, drawn, sliced])
def test_damage_behind_the_box_is_not_met(photos, crop):
    damaged = photos[0][: len(photos[0]) * 2 // 3]

    def function(contents):
        return crop(ps.image.decode_jpeg(contents))

    def delivered(function):
        it, shapes = iter(ps.Dataset.from_tensors(damaged).repeat(20).map(function)), []
        for _ in range(20):
            try:
                shapes.append(next(it).shape)
            except ps.DataError:
                continue
        return shapes

    assert delivered(function) == []
    assert delivered(ps.native(function))
