"""Boxes within images and padding around them, against NumPy slices."""

import numpy as np
import pytest

import penstock as ps
from native_contract import assert_native

DTYPES = ["bool", "uint8", "float16", "float32", "int64", "complex128"]


def image_of(shape, dtype="uint8"):
    return np.random.default_rng(0).integers(1, 100, shape).astype(dtype)


class TestCropToBoundingBox:
    @pytest.mark.parametrize("dtype", DTYPES)
    @pytest.mark.parametrize("box", [(0, 0, 7, 9), (2, 3, 4, 5), (6, 8, 1, 1), (0, 3, 7, 2)])
    def test_the_box_is_a_slice(self, box, dtype):
        y, x, height, width = box
        for shape in ((7, 9, 3), (4, 7, 9, 1), (0, 7, 9, 2), (7, 9, 0)):
            image = image_of(shape, dtype)
            result = ps.image.crop_to_bounding_box(image, *box)
            assert result.dtype == image.dtype
            np.testing.assert_array_equal(result, image[..., y : y + height, x : x + width, :])

    @pytest.mark.parametrize(
        "box",
        [(-1, 0, 2, 2), (0, -1, 2, 2), (0, 0, 8, 2), (4, 0, 4, 2), (0, 8, 1, 2), (0, 0, 0, 2),
         (0, 0, 2, -1), (2**62, 0, 2**62, 1), (-(2**63), 0, 2**63 - 1, 1), (2**63 - 1, 0, 1, 1)],
    )  # fmt: skip
    def test_a_box_outside_is_refused(self, box):
        message = r"^crop_to_bounding_box: the box must .* the image of 7 rows and 9 columns, got"
        with pytest.raises(ValueError, match=message):
            ps.image.crop_to_bounding_box(image_of((7, 9, 3)), *box)

    @pytest.mark.parametrize("box", [(0.0, 0, 2, 2), (0, 0, 2, "2"), (None, 0, 1, 1)])
    def test_numbers_that_are_no_integers_are_refused(self, box):
        with pytest.raises(TypeError, match="must be integers"):
            ps.image.crop_to_bounding_box(image_of((7, 9, 3)), *box)

    def test_a_copy(self):
        image = image_of((4, 4, 1))
        ps.image.crop_to_bounding_box(image, 0, 0, 4, 4)[:] = 0
        assert image.all()

    def test_boxes_may_depend_on_the_element(self):
        def function(image, y):
            height = ps.shape(image)[0] - y
            return ps.image.crop_to_bounding_box(image, y, 1, height, 3)

        elements = [(image_of((5 + i, 6, 3)), np.int32(i)) for i in range(4)]
        assert_native(function, elements)
        assert_native(
            lambda image: ps.image.crop_to_bounding_box(image, 1, 2, 3, 4),
            [image_of((5, 6, 3)) + i for i in range(4)],
        )


class TestCentralCrop:
    @pytest.mark.parametrize("fraction", [0.01, 0.1, 0.3, 0.5, 0.875, 0.999, 1, 1.0])
    @pytest.mark.parametrize("shape", [(7, 9), (10, 20), (1, 1), (101, 64)])
    def test_margins_are_rounded_down(self, shape, fraction):
        image = image_of((*shape, 3))
        y, x = (int((n - n * fraction) / 2) for n in shape)
        expected = image[y : shape[0] - y, x : shape[1] - x]
        np.testing.assert_array_equal(ps.image.central_crop(image, fraction), expected)
        batch = np.stack([image, image + 1])
        np.testing.assert_array_equal(ps.image.central_crop(batch, fraction)[0], expected)

    def test_an_empty_image_stays_empty(self):
        assert ps.image.central_crop(np.zeros((0, 4, 3)), 0.5).shape == (0, 2, 3)

    @pytest.mark.parametrize("fraction", [0, -0.5, 1.01, np.nan, np.inf])
    def test_a_fraction_out_of_range_is_refused(self, fraction):
        with pytest.raises(ValueError, match="central_crop: central_fraction must be above 0"):
            ps.image.central_crop(image_of((4, 4, 3)), fraction)

    def test_a_fraction_is_one_number(self):
        with pytest.raises(ValueError, match="central_fraction must be one number"):
            ps.image.central_crop(image_of((4, 4, 3)), [0.5, 0.5])
        with pytest.raises(TypeError, match="central_fraction must be"):
            ps.image.central_crop(image_of((4, 4, 3)), "half")

    def test_native(self):
        elements = [(image_of((5 + i, 6, 3)), 0.3 + 0.1 * i) for i in range(4)]
        assert_native(ps.image.central_crop, elements)


class TestPadToBoundingBox:
    @pytest.mark.parametrize("dtype", DTYPES)
    @pytest.mark.parametrize("box", [(0, 0, 3, 4), (2, 1, 5, 9), (0, 5, 3, 9), (1, 0, 9, 4)])
    def test_the_image_lies_among_zeros(self, box, dtype):
        y, x, height, width = box
        for shape in ((3, 4, 2), (5, 3, 4, 1), (0, 3, 4, 1), (3, 4, 0)):
            image = image_of(shape, dtype)
            expected = np.zeros((*shape[:-3], height, width, shape[-1]), dtype)
            expected[..., y : y + 3, x : x + 4, :] = image
            result = ps.image.pad_to_bounding_box(image, *box)
            assert result.dtype == image.dtype
            np.testing.assert_array_equal(result, expected)

    def test_an_image_of_no_rows_gives_zeros(self):
        result = ps.image.pad_to_bounding_box(np.zeros((0, 4, 3)), 1, 1, 6, 7)
        assert result.shape == (6, 7, 3)
        assert not result.any()

    @pytest.mark.parametrize(
        "box",
        [(-1, 0, 9, 9), (0, -1, 9, 9), (0, 0, 2, 9), (0, 0, 9, 3), (7, 0, 9, 9), (0, 6, 9, 9),
         (2**63 - 1, 0, 9, 9), (0, 0, -(2**63), 9)],
    )  # fmt: skip
    def test_an_image_that_does_not_fit_is_refused(self, box):
        with pytest.raises(ValueError, match="the image of 3 rows and 4 columns must lie within"):
            ps.image.pad_to_bounding_box(image_of((3, 4, 2)), *box)

    def test_more_than_any_memory(self):
        for height, width in ((2**40, 2**40), (2**62, 2**62), (2**40, 4)):
            with pytest.raises(MemoryError):
                ps.image.pad_to_bounding_box(image_of((3, 4, 2)), 0, 0, height, width)

    def test_native(self):
        def function(image, y):
            return ps.image.pad_to_bounding_box(image, y, 2, 12, 10)

        assert_native(function, [(image_of((5 + i, 6, 3)), np.int32(i)) for i in range(4)])


class TestResizeWithCropOrPad:
    @pytest.mark.parametrize("target", [(7, 9), (3, 4), (4, 3), (10, 20), (11, 5), (2, 12), (1, 1)])
    def test_the_middle_stays_in_the_middle(self, target):
        image = image_of((7, 9, 3))
        expected = image
        for axis, wanted in enumerate(target):
            have = expected.shape[axis]
            if have >= wanted:
                first = (have - wanted) // 2
                expected = expected.take(range(first, first + wanted), axis)
            else:
                before = (wanted - have) // 2
                widths = [(0, 0)] * 3
                widths[axis] = (before, wanted - have - before)
                expected = np.pad(expected, widths)
        result = ps.image.resize_with_crop_or_pad(image, *target)
        assert result.dtype == image.dtype
        np.testing.assert_array_equal(result, expected)
        batch = ps.image.resize_with_crop_or_pad(np.stack([image + 1, image]), *target)
        np.testing.assert_array_equal(batch[1], expected)

    @pytest.mark.parametrize("target", [(0, 3), (3, 0), (-1, 3)])
    def test_a_target_below_one_is_refused(self, target):
        with pytest.raises(ValueError, match=r"target_width must be >= 1, got -?\d and -?\d"):
            ps.image.resize_with_crop_or_pad(image_of((7, 9, 3)), *target)

    def test_another_rank_is_refused(self):
        with pytest.raises(ValueError, match=r"resize_with_crop_or_pad: image must have shape"):
            ps.image.resize_with_crop_or_pad(np.zeros((4, 4)), 2, 2)

    def test_native(self):
        def function(image, n):
            return ps.image.resize_with_crop_or_pad(image, 6, n)

        assert_native(function, [(image_of((4 + i, 7, 3)), np.int64(5 + i)) for i in range(5)])
