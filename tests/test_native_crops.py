"""Native programs that decode and crop decode only the window, with the same bytes."""

import io
from pathlib import Path

import numpy as np
import pytest
from PIL import Image

import penstock as ps
from native_contract import assert_native, run


@pytest.fixture(scope="module")
def photos():
    """Return JPEGs of several sizes, smooth with noise."""
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
    # Damage after the window is not reached, which proves that decoding stops there.
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
    # None of these is a window of an image:
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


IMAGES = Path(__file__).parent / "ops/images"


def damaged_files(**keywords):
    """Return JPEGs with a few wrong bytes, some truncated, that can still be decoded."""
    rng = np.random.default_rng(7)
    files = []
    for path in sorted(IMAGES.glob("*.jpg")):
        contents = np.frombuffer(path.read_bytes(), np.uint8)
        for _ in range(40):
            wrong = contents[: rng.integers(len(contents) // 2, 2 * len(contents))].copy()
            places = rng.integers(len(wrong) // 4, len(wrong), rng.integers(1, 4))
            wrong[places] = rng.integers(0, 256, len(places))
            try:
                ps.image.decode_jpeg(wrong.tobytes(), channels=3, **keywords)
            except ps.DataError:
                continue
            files.append(wrong.tobytes())
    return files


@pytest.mark.parametrize(
    "keywords", [{}, {"try_recover_truncated": True}, {"acceptable_fraction": 0.3}], ids=str
)
def test_windows_of_damaged_files(keywords):
    files = damaged_files(**keywords)
    assert len(files) > 40

    def function(contents):
        image = ps.image.decode_jpeg(contents, channels=3, **keywords)
        return ps.image.random_crop(image, (5, 7, 3))

    source = ps.Dataset.from_tensor_slices(files).repeat(4)
    wanted = run(source.map(function))
    np.testing.assert_array_equal(run(source.map(ps.native(function))), wanted)


def scans_of(contents):
    """Return where the scans of a progressive JPEG begin, and where the last one ends."""
    at, i = [], 2
    while contents[i : i + 2] != b"\xff\xd9":
        if contents[i] == 0xFF and contents[i + 1] not in (0, 0xFF, *range(0xD0, 0xD8)):
            if contents[i + 1] == 0xDA:
                at.append(i)
            i += 2 + int.from_bytes(contents[i + 2 : i + 4], "big")
        else:
            i += 1
    return [*at, i]


def test_windows_of_progressive_files_without_their_last_scans(photos):
    # Missing coefficients are interpolated from the surrounding blocks, also outside the window.
    file = io.BytesIO()
    Image.open(io.BytesIO(photos[0])).save(file, "JPEG", progressive=True)
    contents = file.getvalue()
    files = [contents[:end] + b"\xff\xd9" for end in scans_of(contents)[1:]]
    assert len(files) > 5

    def function(contents):
        return ps.image.random_crop(ps.image.decode_jpeg(contents), (32, 32, 3))

    assert_native(function, files * 3)
