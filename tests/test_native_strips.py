"""Native programs process images in strips, with the results of whole images."""

import io

import numpy as np
import pytest
from PIL import Image

import penstock as ps
from compare import assert_same
from native_contract import assert_native, run

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


def encoded(kind="JPEG", **options):
    """Return the file of an image that is processed in several strips."""
    y, x = np.mgrid[:430, :310]
    image = np.stack([x + y, 255 - x, 2 * y], -1) % 256 + RNG.normal(0, 9, (430, 310, 3))
    file = io.BytesIO()
    Image.fromarray(image.clip(0, 255).astype(np.uint8)).save(file, kind, **options)
    return file.getvalue()


FILES = {
    "plain": encoded(),
    "whole colours": encoded(subsampling=0),
    "progressive": encoded(progressive=True),
    "png": encoded("PNG"),
}


def floats(image):
    return ps.cast(image, np.float32) / 255.0 - 0.5


AFTER_DECODING = {
    "whole": floats,
    "a box": lambda image: floats(image[31:400, 17:300]),
    "a box of a box": lambda image: floats(image[31:400, 17:300][5:350, :200]),
    "a box of floats": lambda image: floats(image)[31:400, 17:300],
    "drawn": lambda image: floats(ps.image.random_crop(image, (390, 200, 3))),
    "drawn twice": lambda image: ps.image.random_flip_left_right(
        floats(ps.image.random_crop(image, (390, 200, 3)))
    ),
    "by its shape": lambda image: floats(image) * ps.cast(ps.shape(image)[0], np.float32),
    "rows that differ": lambda image: (
        floats(image) * np.linspace(0, 1, 430, dtype=np.float32)[:, None, None]
    ),
    "with room around": lambda image: floats(
        ps.image.resize_with_crop_or_pad(image[3:300], 400, 320)
    ),
}


@pytest.mark.parametrize("after", AFTER_DECODING)
@pytest.mark.parametrize("file", FILES)
def test_decoders_make_strips(file, after):
    decode = ps.image.decode_png if file == "png" else ps.image.decode_jpeg
    function = AFTER_DECODING[after]
    assert_native(lambda contents: function(decode(contents, channels=3)), [FILES[file]] * 2)


@pytest.mark.parametrize("dtype", [np.float32, np.float16, np.uint16, np.int32])
@pytest.mark.parametrize("file", FILES)
def test_decoded_types_are_made_in_strips(file, dtype):
    def function(contents):
        image = ps.image.decode_image(contents, 3, dtype, expand_animations=False)
        return image, image[40:, 100:200]

    def cropped(contents):
        return ps.image.decode_image(contents, 3, dtype, expand_animations=False)[40:, 100:200] + 1

    assert_native(function, [FILES[file]])
    assert_native(cropped, [FILES[file]])


METHODS = ["bilinear", "nearest", "bicubic", "area", "lanczos3", "gaussian", "mitchellcubic"]


@pytest.mark.parametrize("antialias", [False, True])
@pytest.mark.parametrize("method", METHODS)
def test_regions_of_resized_images(method, antialias):
    def resized(image):
        return ps.image.resize(image, (80, 70), method=method, antialias=antialias)

    assert_native(lambda image: resized(image)[11:60, 7:50], IMAGES)
    assert_native(lambda image: resized(image)[11:60] / 3.0, IMAGES)
    assert_native(lambda image: ps.image.random_crop(resized(image), (40, 60, 3)), IMAGES)
    assert_native(lambda image: resized(image[3:30, 2:40])[1:, 5:70], IMAGES)


@pytest.mark.parametrize("cut", [False, True])
@pytest.mark.parametrize("file", ["plain", "whole colours"])
def test_damage_that_is_met_in_a_later_strip(file, cut):
    rng = np.random.default_rng(9)
    fraction = 0.2 if cut else 1.0  # missing rows are black
    contents = np.frombuffer(FILES[file], np.uint8)
    files = []
    for _ in range(40):
        wrong = contents[: rng.integers(len(contents) // 2, len(contents)) if cut else None].copy()
        wrong[rng.integers(len(contents) // 3, len(wrong), 2)] = rng.integers(0, 256, 2)
        try:
            ps.image.decode_jpeg(wrong.tobytes(), channels=3, acceptable_fraction=fraction)
        except ps.DataError:
            continue
        files.append(wrong.tobytes())
    assert len(files) > 10

    def whole(contents):
        return floats(ps.image.decode_jpeg(contents, channels=3, acceptable_fraction=fraction))

    def region(contents):
        image = ps.image.decode_jpeg(contents, channels=3, acceptable_fraction=fraction)
        return floats(ps.image.random_crop(image, (400, 280, 3)))

    for function in (whole, region):
        source = ps.Dataset.from_tensor_slices(np.array(files, dtype=object))
        assert_same(run(source.map(ps.native(function))), run(source.map(function)))
