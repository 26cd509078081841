"""image.resize against TensorFlow's formula in NumPy, and against Pillow."""

import numpy as np
import pytest
from PIL import Image

import penstock as ps

NUMBERS = ["int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64"]
FLOATS = ["float16", "float32", "float64"]
SIZES = [(224, 224), (30, 40), (117, 203), (200, 300), (1, 1), (500, 3), (3, 500)]


def random_image(shape, dtype="uint8", seed=0):
    rng = np.random.default_rng(seed)
    dtype = np.dtype(dtype)
    if dtype.kind == "f":
        return rng.uniform(-10, 300, shape).astype(dtype)
    return rng.integers(0, 100, shape).astype(dtype)


def bilinear(images, size):
    """TensorFlow's ResizeBilinear with half-pixel centers, in its order of float32 operations."""

    def taps(old, new):
        at = (np.arange(new, dtype=np.float32) + np.float32(0.5)) * (
            np.float32(old) / np.float32(new)
        ) - np.float32(0.5)
        upper = np.minimum(np.ceil(at).astype(int), old - 1)
        lower = np.minimum(np.maximum(np.floor(at).astype(int), 0), upper)
        return lower, upper, (at - np.floor(at)).astype(np.float32)

    x = images.astype(np.float32)
    lower, upper, weight = taps(x.shape[-2], size[1])
    left, right = x[..., lower, :], x[..., upper, :]
    x = left + (right - left) * weight[:, np.newaxis]
    lower, upper, weight = taps(x.shape[-3], size[0])
    top, bottom = x[..., lower, :, :], x[..., upper, :, :]
    return top + (bottom - top) * weight[:, np.newaxis, np.newaxis]


class TestResizeBilinear:
    @pytest.mark.parametrize("channels", [1, 2, 3, 4, 5])
    @pytest.mark.parametrize("size", SIZES)
    def test_result_is_tensorflows_to_the_last_bit(self, size, channels):
        image = random_image((117, 203, channels))
        result = ps.image.resize(image, size)
        assert result.dtype == np.float32
        np.testing.assert_array_equal(result, bilinear(image, size))

    @pytest.mark.parametrize("dtype", NUMBERS + FLOATS)
    def test_every_type_gives_float32(self, dtype):
        image = random_image((19, 23, 3), dtype)
        result = ps.image.resize(image, (31, 9))
        assert result.dtype == np.float32
        np.testing.assert_array_equal(result, bilinear(image, (31, 9)))

    def test_a_batch_is_resized_image_by_image(self):
        images = random_image((4, 20, 30, 3))
        result = ps.image.resize(images, (8, 50))
        assert result.shape == (4, 8, 50, 3)
        for image, expected in zip(images, result, strict=True):
            np.testing.assert_array_equal(ps.image.resize(image, (8, 50)), expected)

    def test_the_same_size_gives_the_same_values_as_float32(self):
        image = random_image((20, 30, 3))
        result = ps.image.resize(image, (20, 30))
        assert result.dtype == np.float32
        np.testing.assert_array_equal(result, image)

    def test_known_values(self):
        # From TensorFlow's documentation of half-pixel centers: a row of two pixels, doubled.
        assert ps.image.resize([[[0.0], [8.0]]], (1, 4)).ravel().tolist() == [0, 2, 6, 8]

    def test_a_view_with_strides(self):
        image = random_image((40, 60, 4))[::2, ::-1, :3]
        np.testing.assert_array_equal(ps.image.resize(image, (9, 9)), bilinear(image, (9, 9)))

    def test_nan_stays_where_it_is(self):
        image = np.zeros((8, 8, 3), np.float32)
        image[0, 0, 0] = np.nan
        result = ps.image.resize(image, (4, 4))
        assert np.isnan(result[0, 0, 0])
        assert np.isnan(result).sum() == 1


class TestResizeAntialias:
    @pytest.mark.parametrize("channels", [1, 3, 4])
    @pytest.mark.parametrize("size", [*SIZES, (50, 300), (300, 50)])
    def test_within_one_of_pillow(self, photo, size, channels):
        image = np.resize(photo, (117, 203, channels))
        mode = {1: "L", 3: "RGB", 4: "CMYK"}[channels]
        picture = Image.fromarray(image[..., 0] if channels == 1 else image, mode)
        expected = np.asarray(picture.resize(size[::-1], Image.Resampling.BILINEAR))
        result = ps.image.resize(image, size, antialias=True)
        assert result.dtype == np.float32
        assert result.shape == (*size, channels)
        # Pillow rounds after each of its two passes.
        assert np.abs(np.rint(result) - expected.reshape(result.shape)).max() <= 1

    def test_two_channels_as_two_images(self):
        image = random_image((50, 60, 2))
        result = ps.image.resize(image, (20, 20), antialias=True)
        for channel in range(2):
            one = ps.image.resize(image[..., channel : channel + 1], (20, 20), antialias=True)
            np.testing.assert_allclose(result[..., channel : channel + 1], one, rtol=1e-6)

    def test_a_constant_stays_constant(self):
        image = np.full((100, 77, 3), 200, np.uint8)
        result = ps.image.resize(image, (13, 17), antialias=True)
        np.testing.assert_allclose(result, 200, rtol=1e-6)

    @pytest.mark.parametrize("dtype", NUMBERS + FLOATS)
    def test_every_type_gives_float32(self, dtype):
        image = random_image((19, 23, 3), dtype)
        result = ps.image.resize(image, (5, 7), antialias=True)
        assert result.dtype == np.float32
        expected = ps.image.resize(image.astype(np.float32), (5, 7), antialias=True)
        np.testing.assert_array_equal(result, expected)

    def test_enlarging_is_bilinear(self):
        image = random_image((20, 30, 3))
        smooth = ps.image.resize(image, (40, 70), antialias=True)
        np.testing.assert_allclose(smooth, ps.image.resize(image, (40, 70)), atol=1e-3)


class TestResizeNearest:
    @pytest.mark.parametrize("dtype", ["bool", *NUMBERS, *FLOATS, "complex64"])
    @pytest.mark.parametrize("size", SIZES)
    def test_result_has_the_nearest_pixels_and_their_type(self, size, dtype):
        image = random_image((117, 203, 3)).astype(dtype)
        result = ps.image.resize(image, size, method=ps.image.ResizeMethod.NEAREST_NEIGHBOR)
        rows, columns = (
            np.minimum(
                ((np.arange(new, dtype=np.float32) + 0.5) * np.float32(old / new)).astype(int),
                old - 1,
            )
            for new, old in zip(size, image.shape, strict=False)
        )
        assert result.dtype == image.dtype
        np.testing.assert_array_equal(result, image[rows][:, columns])

    @pytest.mark.parametrize("channels", [1, 2, 4, 7])
    def test_any_number_of_channels(self, channels):
        image = random_image((4, 6, channels))
        result = ps.image.resize(image, (8, 12), "nearest")
        np.testing.assert_array_equal(result, image.repeat(2, 0).repeat(2, 1))


class TestResize:
    @pytest.mark.parametrize(
        ("shape", "size", "expected"),
        [
            ((100, 200), (50, 50), (25, 50)),
            ((200, 100), (50, 50), (50, 25)),
            ((100, 100), (30, 60), (30, 30)),
            ((375, 500), (224, 224), (168, 224)),
            ((5, 8), (4, 4), (2, 4)),  # 2.5 rows: halves go to even
            ((7, 8), (4, 4), (4, 4)),  # 3.5 rows
            ((1000, 1), (10, 10), (10, 1)),
        ],
    )
    @pytest.mark.parametrize("method", ["bilinear", "nearest"])
    def test_aspect_ratio_can_be_kept(self, method, shape, size, expected):
        image = random_image((*shape, 3))
        result = ps.image.resize(image, size, method, preserve_aspect_ratio=True)
        assert result.shape == (*expected, 3)

    def test_size_may_be_an_array(self):
        assert ps.image.resize(random_image((4, 4, 3)), np.array([2, 3])).shape == (2, 3, 3)

    def test_no_images_and_no_channels_are_fine(self):
        assert ps.image.resize(np.zeros((0, 4, 4, 3)), (2, 2)).shape == (0, 2, 2, 3)
        assert ps.image.resize(np.zeros((4, 4, 0)), (2, 2)).shape == (2, 2, 0)

    @pytest.mark.parametrize("shape", [(), (4,), (4, 4), (1, 1, 4, 4, 3)])
    def test_another_rank_is_refused(self, shape):
        with pytest.raises(ValueError, match=r"resize: images must have shape \(height, width, ch"):
            ps.image.resize(np.zeros(shape, np.uint8), (2, 2))

    @pytest.mark.parametrize("shape", [(0, 4, 3), (4, 0, 3)])
    def test_an_empty_image_is_refused(self, shape):
        with pytest.raises(ValueError, match="resize: images must have at least one row"):
            ps.image.resize(np.zeros(shape, np.uint8), (2, 2))

    @pytest.mark.parametrize("size", [(0, 2), (2, -1), (2**31, 2), (2, 2**63 - 1)])
    def test_a_wrong_size_is_refused(self, size):
        with pytest.raises(ValueError, match=r"resize: size must be \(height, width\), both from"):
            ps.image.resize(np.zeros((4, 4, 3), np.uint8), size)

    @pytest.mark.parametrize("size", [(2,), (2, 2, 3), (), 2])
    def test_a_size_is_two_numbers(self, size):
        with pytest.raises(ValueError, match=r"resize: size must have shape \(2,\), got"):
            ps.image.resize(np.zeros((4, 4, 3), np.uint8), size)

    @pytest.mark.parametrize("size", [(2**31 - 1, 2**31 - 1), (2**30, 2**20)])
    @pytest.mark.parametrize("method", ["bilinear", "nearest"])
    def test_more_than_any_memory(self, method, size):
        with pytest.raises(MemoryError):
            ps.image.resize(np.zeros((4, 4, 3), np.uint8), size, method)

    def test_a_size_of_floats_is_refused(self):
        with pytest.raises(TypeError, match="float"):
            ps.image.resize(np.zeros((4, 4, 3), np.uint8), (2.0, 2.0))

    def test_an_unknown_method_is_refused(self):
        with pytest.raises(ValueError, match=r"method must be 'bilinear', .* got 'sinc'"):
            ps.image.resize(np.zeros((4, 4, 3), np.uint8), (2, 2), "sinc")

    @pytest.mark.parametrize("dtype", ["bool", "complex64", "datetime64[s]"])
    def test_types_without_a_mean_are_refused(self, dtype):
        with pytest.raises(TypeError, match="resize: images must be of an integer or float type"):
            ps.image.resize(np.zeros((4, 4, 3), dtype), (2, 2))

    def test_strings_are_refused(self):
        with pytest.raises(TypeError, match="resize: images must be an array of numbers, got str"):
            ps.image.resize("photo.jpg", (2, 2))
