"""image.random_resized_crop: the same windows as torchvision's RandomResizedCrop."""

import math

import numpy as np
import pytest

import penstock as ps
from native_contract import assert_native


def coordinates(height, width):
    """Return an image whose pixels contain their position: (row, column), float32."""
    return np.stack(np.mgrid[:height, :width], -1).astype(np.float32)


def window(image, seed, **arguments):
    """Return the window (y, x, height, width), read from the pixels of its corners."""
    # Nearest neighbour, at a scale where each corner of the window is visible.
    size = (image.shape[0] * 2, image.shape[1] * 2)
    part = ps.image.random_resized_crop(image, size, method="nearest", seed=seed, **arguments)
    (y, x), (bottom, right) = part[0, 0], part[-1, -1]
    return int(y), int(x), int(bottom - y) + 1, int(right - x) + 1


def draws(image, count=1000, **arguments):
    return np.array([window(image, seed, **arguments) for seed in range(count)])


def test_windows_have_the_area_and_the_ratio_that_were_asked_for():
    image = coordinates(60, 80)
    drawn = draws(image)
    y, x, height, width = drawn.T
    assert (y >= 0).all()
    assert (x >= 0).all()
    assert (y + height <= 60).all()
    assert (x + width <= 80).all()
    # Rounding changes a side by at most half a pixel.
    smallest, largest = (height - 0.5) * (width - 0.5), (height + 0.5) * (width + 0.5)
    assert (largest >= 0.08 * 4800).all()
    assert (smallest <= 4800).all()
    assert ((width + 0.5) / (height - 0.5) >= 3 / 4).all()
    assert ((width - 0.5) / (height + 0.5) <= 4 / 3).all()


def reference(rng, height, width, scale, ratio):
    """The algorithm of torchvision's RandomResizedCrop.get_params, in NumPy."""
    for _ in range(10):
        area = height * width * rng.uniform(*scale)
        aspect = math.exp(rng.uniform(math.log(ratio[0]), math.log(ratio[1])))
        w, h = round(math.sqrt(area * aspect)), round(math.sqrt(area / aspect))
        if 0 < w <= width and 0 < h <= height:
            return rng.integers(height - h + 1), rng.integers(width - w + 1), h, w
    h, w = height, width
    if width / height < ratio[0]:
        h = round(width / ratio[0])
    elif width / height > ratio[1]:
        w = round(height * ratio[1])
    return (height - h) // 2, (width - w) // 2, h, w


@pytest.mark.slow
@pytest.mark.parametrize("shape", [(60, 80), (30, 90), (50, 50)])
def test_windows_are_distributed_as_torchvisions(shape):
    drawn = draws(coordinates(*shape), 2000)
    rng = np.random.default_rng(1)
    expected = np.array([reference(rng, *shape, (0.08, 1), (3 / 4, 4 / 3)) for _ in range(20_000)])
    # Kolmogorov-Smirnov test of each number, with a false-failure probability of about 1e-4.
    for ours, theirs in zip(drawn.T, expected.T, strict=True):
        values = np.arange(91)
        below = (ours[:, None] <= values).mean(0), (theirs[:, None] <= values).mean(0)
        assert np.abs(below[0] - below[1]).max() < 2.2 / math.sqrt(1800)


@pytest.mark.parametrize(
    ("shape", "expected"),
    [
        ((60, 6), (26, 0, 8, 6)),  # too narrow for any ratio: as high as 3/4 allows
        ((6, 60), (0, 26, 6, 8)),
    ],
)
def test_without_a_fit_it_is_the_middle(shape, expected):
    drawn = draws(coordinates(*shape), 20, scale=(0.9, 1))
    assert {tuple(row) for row in drawn.tolist()} == {expected}


def test_the_whole_image_when_nothing_larger_fits():
    assert {tuple(row) for row in draws(coordinates(12, 12), 20, scale=(4, 5)).tolist()} == {
        (0, 0, 12, 12)
    }


def test_the_smallest_images():
    for shape in ((1, 1), (1, 50), (50, 1)):
        drawn = draws(coordinates(*shape), 30)
        assert (drawn[:, 2:] >= 1).all()
    assert ps.image.random_resized_crop(np.zeros((1, 9, 3)), (2, 2), ratio=(10, 20)).shape == (
        2, 2, 3,
    )  # fmt: skip


def test_the_part_is_resized_as_by_resize():
    image = np.random.default_rng(0).integers(0, 255, (40, 50, 3)).astype(np.uint8)
    for seed in range(10):
        y, x, height, width = window(coordinates(40, 50), seed)
        part = image[y : y + height, x : x + width]
        for options in ({}, {"antialias": True}, {"method": "nearest"}):
            result = ps.image.random_resized_crop(image, (9, 11), seed=seed, **options)
            np.testing.assert_array_equal(result, ps.image.resize(part, (9, 11), **options))


@pytest.mark.parametrize("method", ["bilinear", "bicubic", "nearest"])
def test_the_type_of_the_result(method):
    rng = np.random.default_rng(3)
    image = rng.integers(0, 256, (40, 50, 3)).astype(np.uint8)

    def crop(image, dtype=None):
        return ps.image.random_resized_crop(image, (24, 26), method=method, seed=4, dtype=dtype)

    exact = crop(image).astype(np.float64)
    for dtype in (np.uint8, np.uint16):
        limited = np.clip(np.rint(exact), 0, np.iinfo(dtype).max)
        result = crop(image, dtype)
        assert result.dtype == dtype
        np.testing.assert_array_equal(result, limited)
        assert_native(lambda image, dtype=dtype: crop(image, dtype), [image, image[5:]])
    for dtype in (np.float16, np.float32, np.float64):
        assert crop(image, dtype).dtype == dtype
        np.testing.assert_array_equal(crop(image, dtype), crop(image).astype(dtype))
    with pytest.raises(TypeError, match="random_resized_crop: dtype must be uint8, uint16 or a f"):
        crop(image, np.int64)


def test_windows_come_from_the_key():
    image = coordinates(40, 50)
    assert len({window(image, seed) for seed in range(50)}) > 40
    ps.random.set_seed(3)
    first = [window(image, None) for _ in range(5)]
    ps.random.set_seed(3)
    assert [window(image, None) for _ in range(5)] == first
    assert len(set(first)) > 3


def test_native():
    rng = np.random.default_rng(2)
    elements = [rng.integers(0, 255, (20 + i, 30, 3)).astype(np.uint8) for i in range(6)]
    assert_native(lambda image: ps.image.random_resized_crop(image, (8, 9)), elements)
    assert_native(
        lambda image, low: ps.image.random_resized_crop(image, (8, 9), scale=(low, 2 * low)),
        [(image, 0.1 + 0.05 * i) for i, image in enumerate(elements)],
    )


@pytest.mark.parametrize("name", ["scale", "ratio"])
@pytest.mark.parametrize(
    "ends", [(0, 1), (-1, 1), (1, 0.5), (np.nan, 1), (0.5, np.nan), (1, np.inf)]
)
def test_a_wrong_range_is_refused(name, ends):
    with pytest.raises(ValueError, match=rf"random_resized_crop: {name} must be \(low, high\)"):
        ps.image.random_resized_crop(coordinates(9, 9), (2, 2), **{name: ends})


@pytest.mark.parametrize("ends", [(0.5,), 0.5, (0.1, 0.2, 0.3), ()])
def test_a_range_has_two_ends(ends):
    with pytest.raises(ValueError, match="random_resized_crop: scale must hold 2 numbers"):
        ps.image.random_resized_crop(coordinates(9, 9), (2, 2), scale=ends)


@pytest.mark.parametrize("shape", [(4, 4), (2, 4, 4, 3), (0, 4, 3), (4, 0, 3)])
def test_another_shape_is_refused(shape):
    with pytest.raises(ValueError, match="random_resized_crop: image must have shape"):
        ps.image.random_resized_crop(np.zeros(shape), (2, 2))
