"""Colour spaces and standardized images, against NumPy, colorsys and TensorFlow's results."""

import colorsys

import numpy as np
import pytest

import penstock as ps
from native_contract import assert_native

TYPES = ["uint8", "uint16", "int32", "float16", "float32", "float64"]
IMAGE = np.array([[[217, 163, 130], [69, 78, 10], [19, 4, 44], [208, 166, 233]]], np.uint8)


def picture(dtype="float32", shape=(13, 57, 3)):
    rng = np.random.default_rng(6)
    if np.dtype(dtype).kind == "f":
        return rng.random(shape).astype(dtype)
    return rng.integers(0, np.iinfo(dtype).max, shape, endpoint=True).astype(dtype)


class TestGrayscale:
    @pytest.mark.parametrize("dtype", TYPES)
    def test_luminance(self, dtype):
        image = picture(dtype)
        result = ps.image.rgb_to_grayscale(image)
        assert result.dtype == image.dtype
        assert result.shape == (13, 57, 1)
        unit = ps.image.convert_image_dtype(image, np.float32).astype(float)
        expected = (unit @ [0.2989, 0.5870, 0.1140])[..., np.newaxis]
        got = ps.image.convert_image_dtype(result, np.float64)
        step = {"uint8": 1 / 255, "uint16": 1 / 65535, "float16": 1e-3}.get(dtype, 2e-7)
        np.testing.assert_allclose(got, expected, atol=step)

    def test_values_are_tensorflows(self):
        assert ps.image.rgb_to_grayscale(IMAGE).ravel().tolist() == [175, 67, 13, 186]

    @pytest.mark.parametrize("shape", [(3,), (5, 3), (2, 3, 4, 5, 3), (0, 3), (2, 0, 3)])
    def test_any_shape(self, shape):
        assert ps.image.rgb_to_grayscale(np.ones(shape)).shape == (*shape[:-1], 1)

    @pytest.mark.parametrize("shape", [(), (4,), (3, 1), (3, 3, 4)])
    def test_three_channels_are_needed(self, shape):
        with pytest.raises(
            ValueError, match=r"^rgb_to_grayscale: images must have shape \(\.\.\., 3\)"
        ):
            ps.image.rgb_to_grayscale(np.zeros(shape))

    def test_native(self):
        assert_native(ps.image.rgb_to_grayscale, [picture("uint8"), picture("uint8")[::-1]])

    @pytest.mark.parametrize("dtype", ["bool", "uint8", "float16", "float32", "complex128"])
    @pytest.mark.parametrize("shape", [(1,), (4, 1), (2, 5, 7, 1), (0, 1)])
    def test_gray_is_repeated(self, shape, dtype):
        image = np.arange(np.prod(shape)).reshape(shape).astype(dtype)
        result = ps.image.grayscale_to_rgb(image)
        assert result.dtype == image.dtype
        np.testing.assert_array_equal(result, np.repeat(image, 3, -1))

    def test_one_channel_is_needed(self):
        with pytest.raises(
            ValueError, match=r"^grayscale_to_rgb: images must have shape \(\.\.\., 1\)"
        ):
            ps.image.grayscale_to_rgb(np.zeros((3, 3)))

    def test_repeated_native(self):
        images = [picture("uint8", (4, 5, 1)), picture("uint8", (4, 5, 1))[::-1]]
        assert_native(ps.image.grayscale_to_rgb, images)


class TestHsv:
    @pytest.mark.parametrize("dtype", ["float16", "float32", "float64"])
    @pytest.mark.parametrize("name", ["rgb_to_hsv", "hsv_to_rgb"])
    def test_values_are_those_of_colorsys(self, name, dtype):
        image = picture(dtype)
        result = getattr(ps.image, name)(image)
        assert result.dtype == image.dtype
        pixels = image.reshape(-1, 3).astype(float).tolist()
        expected = [getattr(colorsys, name)(*pixel) for pixel in pixels]
        tolerance = 2e-3 if dtype == "float16" else 1e-5
        np.testing.assert_allclose(result.reshape(-1, 3), expected, atol=tolerance)

    def test_edges_are_tensorflows(self):
        image = np.array([[0, 0, 0], [1, 1, 1], [0, 1, 0], [2, -1, 0.5], [-1, -2, -3]], np.float32)
        expected = [[0, 0, 0], [0, 0, 1], [1 / 3, 1, 1], [11 / 12, 1.5, 2], [1 / 12, 0, -1]]
        np.testing.assert_allclose(ps.image.rgb_to_hsv(image), expected, atol=1e-6)
        image = np.array([[0, 1, 1], [0.1, 0.5, 2], [1, 1, 1], [1.3, 0.5, 0.5], [0.5, 2, 1]], "f4")
        expected = [[1, 0, 0], [2, 1.6, 1], [1, 0, 0], [0.5, 0.25, 0.25], [-1, 1, 1]]
        np.testing.assert_allclose(ps.image.hsv_to_rgb(image), expected, atol=1e-6)

    def test_there_and_back(self):
        image = picture()
        result = ps.image.hsv_to_rgb(ps.image.rgb_to_hsv(image))
        np.testing.assert_allclose(result, image, atol=1e-6)

    @pytest.mark.parametrize("name", ["rgb_to_hsv", "hsv_to_rgb"])
    def test_integers_and_other_channels_are_refused(self, name):
        with pytest.raises(TypeError, match=f"^{name}: images must be floats, got uint8; use conv"):
            getattr(ps.image, name)(np.zeros((2, 3), np.uint8))
        with pytest.raises(ValueError, match=rf"^{name}: images must have shape \(\.\.\., 3\)"):
            getattr(ps.image, name)(np.zeros((3, 1)))

    @pytest.mark.parametrize("name", ["rgb_to_hsv", "hsv_to_rgb"])
    def test_native(self, name):
        assert_native(getattr(ps.image, name), [picture(), picture()[::-1]])


class TestStandardization:
    @pytest.mark.parametrize("dtype", TYPES)
    @pytest.mark.parametrize("shape", [(13, 57, 3), (40, 40, 1), (1, 1, 5), (2, 3, 4, 5, 3)])
    def test_mean_and_deviation(self, shape, dtype):
        image = picture(dtype, shape)
        result = ps.image.per_image_standardization(image)
        assert result.dtype == np.float32
        wide = image.astype(np.float32).astype(float)
        axes = (-3, -2, -1)
        least = 1 / np.sqrt(np.prod(shape[-3:]))
        std = np.maximum(wide.std(axes, keepdims=True), least)
        expected = (wide - wide.mean(axes, keepdims=True)) / std
        np.testing.assert_allclose(result, expected, atol=3e-6)

    def test_values_are_tensorflows(self):
        image = np.arange(12, dtype=np.uint8).reshape(2, 2, 3)
        expected = (np.arange(12) - 5.5) / np.sqrt(143 / 12)
        result = ps.image.per_image_standardization(image).ravel()
        np.testing.assert_allclose(result, expected, rtol=1e-6)

    def test_one_colour_is_not_divided_by_zero(self):
        result = ps.image.per_image_standardization(np.full((5, 5, 3), 77, np.uint8))
        np.testing.assert_array_equal(result, np.zeros((5, 5, 3)))

    def test_a_large_mean_costs_no_digits(self):
        image = (1e6 + picture("float64", (30, 30, 3))).astype(np.float32)
        wide = image.astype(float)
        expected = (wide - wide.mean()) / wide.std()
        result = ps.image.per_image_standardization(image)
        # The subtraction is float32, like TensorFlow's: half a unit in the last place of the mean.
        np.testing.assert_allclose(result, expected, atol=0.04 / wide.std())
        assert abs(result.std() - 1) < 1e-4

    def test_nan_reaches_every_value(self):
        image = picture()
        image[0, 0, 0] = np.nan
        assert np.isnan(ps.image.per_image_standardization(image)).all()

    def test_empty_images(self):
        assert ps.image.per_image_standardization(np.zeros((2, 0, 3, 3))).shape == (2, 0, 3, 3)

    def test_three_axes_are_needed(self):
        with pytest.raises(
            ValueError, match=r"^per_image_standardization: image must have shape \("
        ):
            ps.image.per_image_standardization(np.zeros((3, 3)))

    @pytest.mark.parametrize("dtype", ["uint8", "float32"])
    def test_native(self, dtype):
        assert_native(ps.image.per_image_standardization, [picture(dtype), picture(dtype)[::-1]])


class TestNormalize:
    @pytest.mark.parametrize("dtype", TYPES)
    @pytest.mark.parametrize("channels", [1, 2, 3, 4, 5, 1600])
    def test_values_are_numpys(self, channels, dtype):
        image = picture(dtype, (6, 7, channels))
        rng = np.random.default_rng(0)
        mean, std = rng.random(channels).astype("f4"), (rng.random(channels) + 0.1).astype("f4")
        result = ps.image.normalize(image, mean, std)
        expected = (image.astype(np.float32) - mean) / std
        assert result.dtype == np.float32
        np.testing.assert_array_equal(result, expected)

    def test_one_number_for_all_channels(self):
        image = picture()
        result = ps.image.normalize(image, 0.5, np.float64(0.25))
        np.testing.assert_array_equal(result, (image - np.float32(0.5)) / np.float32(0.25))

    @pytest.mark.parametrize("shape", [(3,), (0, 3), (2, 3, 4, 5, 3), (4, 0)])
    def test_any_shape(self, shape):
        assert ps.image.normalize(np.ones(shape), 1, 1).shape == shape

    def test_wrong_statistics_are_refused(self):
        image = picture()
        with pytest.raises(
            ValueError, match=r"^normalize: mean must be a number or have shape \(3,\)"
        ):
            ps.image.normalize(image, [1, 2], 1)
        with pytest.raises(ValueError, match=r"^normalize: std must .* got shape \(1, 3\)"):
            ps.image.normalize(image, 1, [[1, 2, 3]])
        with pytest.raises(ValueError, match=r"^normalize: std must not be 0"):
            ps.image.normalize(image, 1, [1, 0, 2])
        with pytest.raises(
            TypeError, match=r"^normalize: mean must be of an integer or float type"
        ):
            ps.image.normalize(image, "x", 1)
        with pytest.raises(
            ValueError, match=r"^normalize: image must have shape \(\.\.\., channels\)"
        ):
            ps.image.normalize(3.0, 1, 1)

    def test_native(self):
        images = [picture("uint8"), picture("uint8")[::-1]]
        assert_native(lambda image: ps.image.normalize(image, [1, 2, 3], 255), images)
        assert_native(ps.image.normalize, [(image, 0.5, 2.0) for image in images])
