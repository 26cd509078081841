"""image.adjust_* and their random variants: TensorFlow's formulas in NumPy, and its results."""

import colorsys

import numpy as np
import pytest

import penstock as ps
from native_contract import assert_native

TYPES = ["uint8", "uint16", "int16", "int32", "float16", "float32", "float64"]
# Computed once with TensorFlow 2.21.
IMAGE = np.array([[[217, 163, 130], [69, 78, 10], [19, 4, 44], [208, 166, 233]]], np.uint8)
RGB_ONLY = ["saturation", "hue"]
AMOUNTS = {"brightness": 0.2, "contrast": 1.7, "saturation": 1.7, "hue": 0.2}


def picture(dtype="uint8", shape=(13, 57, 3)):
    """Return random values over the range of an integer type, or slightly beyond [0, 1]."""
    rng = np.random.default_rng(5)
    if np.dtype(dtype).kind == "f":
        return (rng.random(shape) * 1.4 - 0.2).astype(dtype)
    return rng.integers(0, np.iinfo(dtype).max, shape, endpoint=True).astype(dtype)


def as_unit(image):
    return ps.image.convert_image_dtype(image, np.float32)


def as_before(values, dtype):
    return ps.image.convert_image_dtype(values.astype(np.float32), dtype, saturate=True)


def brightness(x, delta):
    return x + np.float32(delta)


def contrast(x, factor):
    mean = x.mean((-3, -2), keepdims=True, dtype=np.float64).astype(np.float32)
    return (x - mean) * np.float32(factor) + mean


def saturation(x, factor):
    def changed(r, g, b):
        h, s, v = colorsys.rgb_to_hsv(r, g, b)
        return colorsys.hsv_to_rgb(h, min(max(s * factor, 0), 1), v)

    return by_pixel(changed, x)


def hue(x, delta):
    def changed(r, g, b):
        h, s, v = colorsys.rgb_to_hsv(r, g, b)
        return colorsys.hsv_to_rgb((h + delta) % 1, s, v)

    return by_pixel(changed, x)


def by_pixel(function, x):
    pixels = x.reshape(-1, 3).astype(float).tolist()
    return np.array([function(*pixel) for pixel in pixels]).reshape(x.shape)


REFERENCES = {
    "brightness": brightness,
    "contrast": contrast,
    "saturation": saturation,
    "hue": hue,
}


def adjust(name, image, amount):
    return getattr(ps.image, f"adjust_{name}")(image, amount)


@pytest.mark.parametrize("dtype", TYPES)
@pytest.mark.parametrize("name", REFERENCES)
@pytest.mark.parametrize("sign", [1, -1])
def test_values_are_those_of_the_formula(name, dtype, sign):
    image = picture(dtype)
    if name in RGB_ONLY and image.dtype.kind == "f":
        image = image.clip(0, 1)  # the domain of HSV
    amount = AMOUNTS[name] * (sign if name != "saturation" else 1 if sign == 1 else 0.3)
    result = adjust(name, image, amount)
    assert result.dtype == image.dtype
    with np.errstate(over="ignore"):
        expected = as_before(REFERENCES[name](as_unit(image), amount), dtype)
    if image.dtype.kind == "f":
        tolerance = {"float16": 2e-3}.get(dtype, 3e-6)
        np.testing.assert_allclose(result, expected, rtol=tolerance, atol=tolerance)
    else:
        # Integers are truncated, so the last bit of a float may be worth one; for int32, the bits
        # that a float lacks.
        step = 1 if image.itemsize < 4 else 2**11
        assert np.abs(result.astype(float) - expected).max() <= step
        assert (result == expected).mean() > (0.98 if image.itemsize < 4 else 0)


@pytest.mark.parametrize(
    ("name", "amount", "expected"),
    [
        ("brightness", 0.2, [255, 214, 181, 120, 129, 61, 70, 55, 95, 255, 217, 255]),
        ("saturation", 1.7, [217, 125, 69, 67, 78, 0, 16, 0, 44, 190, 119, 233]),
        ("hue", 0.2, [166, 217, 130, 10, 78, 32, 44, 4, 21, 233, 166, 177]),
    ],
)
def test_values_are_tensorflows(name, amount, expected):
    assert adjust(name, IMAGE, amount).ravel().tolist() == expected


def test_gamma_is_tensorflows():
    expected = [251, 205, 175, 112, 122, 29, 45, 15, 82, 243, 208, 255]
    assert ps.image.adjust_gamma(IMAGE, 0.7, 1.1).ravel().tolist() == expected


@pytest.mark.parametrize("dtype", TYPES)
@pytest.mark.parametrize(("gamma", "gain"), [(1, 1), (0, 0.5), (0.45, 1.1), (2.2, 1)])
def test_gamma_is_a_power(dtype, gamma, gain):
    image = np.abs(picture(dtype, (40, 40)))
    result = ps.image.adjust_gamma(image, gamma, gain)
    assert result.dtype == image.dtype
    values = np.float32(gain) * as_unit(image).astype(float) ** gamma
    expected = as_before(values, dtype)
    if image.dtype.kind == "f":
        np.testing.assert_allclose(result, expected, rtol=2e-3 if dtype == "float16" else 1e-6)
    else:
        step = 1 if image.itemsize < 4 else 2**11
        assert np.abs(result.astype(float) - expected).max() <= step


def test_gamma_of_many_bytes_is_that_of_each():
    image = picture("uint8", (40, 40))
    whole = ps.image.adjust_gamma(image, 0.7)
    rows = [ps.image.adjust_gamma(row, 0.7) for row in image]  # too few for a table
    np.testing.assert_array_equal(whole, rows)


@pytest.mark.parametrize("name", RGB_ONLY)
def test_extreme_amounts(name):
    image = picture("float32").clip(0, 1)
    if name == "hue":
        for turns in (-1, 0, 1):
            np.testing.assert_allclose(adjust(name, image, turns), image, atol=1e-6)
        return
    gray = np.broadcast_to(image.max(-1, keepdims=True), image.shape)
    for factor in (0, -2):
        np.testing.assert_array_equal(adjust(name, image, factor), gray)
    strong = adjust(name, image, 1e9)
    np.testing.assert_allclose(strong.min(-1), 0, atol=1e-6)
    np.testing.assert_array_equal(strong.max(-1), image.max(-1))


@pytest.mark.parametrize("channels", [1, 2, 3, 4, 5, 7, 12, 1600])
@pytest.mark.parametrize("dtype", ["uint8", "float32"])
def test_contrast_of_any_number_of_channels(channels, dtype):
    image = picture(dtype, (2, 9, 11, channels))
    result = ps.image.adjust_contrast(image, 1.3)
    expected = as_before(contrast(as_unit(image), 1.3), dtype)
    if dtype == "uint8":
        assert np.abs(result.astype(int) - expected).max() <= 1
    else:
        np.testing.assert_allclose(result, expected, rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize("name", REFERENCES)
def test_images_of_a_batch_are_changed_one_by_one(name):
    images = picture("uint8", (2, 3, 5, 7, 3))
    whole = adjust(name, images, AMOUNTS[name])
    parts = [[adjust(name, image, AMOUNTS[name]) for image in row] for row in images]
    np.testing.assert_array_equal(whole, parts)


@pytest.mark.parametrize("name", REFERENCES)
@pytest.mark.parametrize("shape", [(0, 4, 3), (4, 0, 3), (0, 4, 4, 3)])
def test_empty_images(name, shape):
    assert adjust(name, np.zeros(shape, np.uint8), 0.5).shape == shape


@pytest.mark.parametrize("name", REFERENCES)
def test_no_value_is_too_strange(name):
    image = np.array([[[np.nan, 0, 1], [np.inf, 1, 0], [-np.inf, 3, 2], [1e38, -1e38, 0]]], "f4")
    with np.errstate(all="ignore"):
        assert adjust(name, image, 0.5).shape == image.shape
    assert ps.image.adjust_brightness(image, 0.5)[0, 0, 1:].tolist() == [0.5, 1.5]


@pytest.mark.parametrize("name", REFERENCES)
def test_what_is_no_image_is_refused(name):
    argument = "images" if name == "contrast" else "image"
    message = f"^adjust_{name}: {argument} must be of an integer or float type, got "
    for image in (np.zeros((2, 2, 3), bool), np.zeros((2, 2, 3), complex), b"bytes"):
        with pytest.raises(TypeError, match=message):
            adjust(name, image, 0.5)
    if name != "brightness":
        with pytest.raises(
            ValueError, match=rf"^adjust_{name}: {argument} must have shape \(\.\.\."
        ):
            adjust(name, np.zeros((3, 3)), 0.5)
    if name in RGB_ONLY:
        with pytest.raises(ValueError, match=r"must have shape \(\.\.\., height, width, 3\), got"):
            adjust(name, np.zeros((3, 3, 4)), 0.5)


@pytest.mark.parametrize("name", REFERENCES)
def test_what_is_no_amount_is_refused(name):
    with pytest.raises(
        ValueError, match=rf"^adjust_{name}: \w+ must be one number, got shape \(2,\)"
    ):
        adjust(name, picture(), [0.1, 0.2])
    with pytest.raises(
        TypeError, match=rf"^adjust_{name}: \w+ must be of an integer or float type"
    ):
        adjust(name, picture(), "much")


@pytest.mark.parametrize("turns", [-1.01, 1.01, np.nan, np.inf])
def test_a_hue_beyond_a_turn_is_refused(turns):
    with pytest.raises(ValueError, match=r"^adjust_hue: delta must lie in \[-1, 1\], got"):
        ps.image.adjust_hue(picture(), turns)


@pytest.mark.parametrize("gamma", [-0.1, np.nan])
def test_a_negative_gamma_is_refused(gamma):
    with pytest.raises(ValueError, match=r"^adjust_gamma: gamma must be >= 0, got"):
        ps.image.adjust_gamma(picture(), gamma)


@pytest.mark.parametrize("name", REFERENCES)
@pytest.mark.parametrize("dtype", ["uint8", "float32"])
def test_native(name, dtype):
    elements = [(picture(dtype) // 2, amount) for amount in (0.1, 0.5, 0.9)]
    assert_native(lambda image, amount: adjust(name, image, amount), elements)
    assert_native(lambda image: adjust(name, image, 0.5), [image for image, _ in elements])


def test_gamma_native():
    elements = [(picture(), 0.5, 1.0), (picture()[::-1], 2.0, 1.5)]
    assert_native(ps.image.adjust_gamma, elements)


RANDOM = {
    "brightness": (0.3,),
    "contrast": (0.5, 1.5),
    "saturation": (0.5, 1.5),
    "hue": (0.2,),
}


def random(name, image, seed=None):
    return getattr(ps.image, f"random_{name}")(image, *RANDOM[name], seed=seed)


class TestRandom:
    @pytest.mark.parametrize("name", RANDOM)
    def test_the_amount_is_uniform(self, name):
        bounds = RANDOM[name]
        low, high = (-bounds[0], bounds[0]) if len(bounds) == 1 else bounds
        image = np.array([[[0.2, 0.2, 0.2], [0.8, 0.5, 0.3]]], np.float64)
        drawn = []
        for seed in range(400):
            result = random(name, image, seed)
            if name == "brightness":
                drawn.append(result[0, 0, 0] - 0.2)
            elif name == "contrast":
                drawn.append((result[0, 1, 0] - result[0, 0, 0]) / 0.6)
            elif name == "saturation":
                drawn.append((0.8 - result[0, 1, 2]) / 0.5)
            else:
                turn = colorsys.rgb_to_hsv(*result[0, 1])[0] - colorsys.rgb_to_hsv(0.8, 0.5, 0.3)[0]
                drawn.append((turn + 0.5) % 1 - 0.5)
        share = (np.array(drawn) - low) / (high - low)
        assert -1e-4 <= share.min() < 0.05
        assert 0.95 < share.max() < 1 + 1e-4
        assert 0.44 < share.mean() < 0.56

    @pytest.mark.parametrize("name", RANDOM)
    def test_a_seed_decides(self, name):
        image = picture()
        results = [random(name, image, seed) for seed in range(5)]
        np.testing.assert_array_equal(results, [random(name, image, seed) for seed in range(5)])
        assert len({result.tobytes() for result in results}) == 5

    @pytest.mark.parametrize("name", RANDOM)
    def test_native(self, name):
        assert_native(lambda image: random(name, image), [picture(), picture()[::-1]])

    @pytest.mark.parametrize("name", ["contrast", "saturation"])
    @pytest.mark.parametrize("bounds", [(-0.1, 1), (1, 1), (1, 0.5), (np.nan, 1)])
    def test_wrong_bounds_are_refused(self, name, bounds):
        with pytest.raises(ValueError, match=f"^random_{name}: lower must be >= 0 and below upper"):
            getattr(ps.image, f"random_{name}")(picture(), *bounds)

    @pytest.mark.parametrize("name", ["brightness", "hue"])
    def test_a_negative_bound_is_refused(self, name):
        with pytest.raises(ValueError, match=f"^random_{name}: max_delta must be >= 0, got -0.1"):
            getattr(ps.image, f"random_{name}")(picture(), -0.1)

    def test_a_hue_of_more_than_half_a_turn_is_refused(self):
        with pytest.raises(ValueError, match=r"^random_hue: max_delta must be <= 0.5, got 0.6"):
            ps.image.random_hue(picture(), 0.6)

    @pytest.mark.parametrize("name", RANDOM)
    def test_another_shape_is_refused(self, name):
        with pytest.raises(TypeError, match=f"^random_{name}: images? must be of an integer"):
            random(name, np.zeros((2, 2, 3), bool))
