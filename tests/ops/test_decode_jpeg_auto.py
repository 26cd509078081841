"""decode_jpeg(ratio="auto") decodes at a lower resolution before a resize in native functions."""

import io

import numpy as np
import pytest
from PIL import Image

import penstock as ps
from compare import assert_same
from native_contract import run
from penstock import _core

pytestmark = pytest.mark.skipif(
    not _core.build_info()["jpeg"]["native"], reason="built without libjpeg"
)

METHODS = [
    *("bilinear", "bicubic", "area"),
    *("lanczos3", "lanczos5", "gaussian", "mitchellcubic"),
]
HEIGHT, WIDTH = 384, 512


@pytest.fixture(scope="module")
def picture():
    """Return waves with noise, uint8, shape (384, 512, 3)."""
    y, x = np.mgrid[:HEIGHT, :WIDTH]
    waves = np.stack([np.sin(x / 40), np.cos(y / 30), np.sin((x + y) / 50)], -1)
    noise = np.random.default_rng(1).normal(0, 6, waves.shape)
    return (128 + 90 * waves + noise).clip(0, 255).astype(np.uint8)


@pytest.fixture(scope="module")
def contents(picture):
    return encoded(picture)


def encoded(array, **options):
    array = array[..., 0] if array.shape[-1] == 1 else array
    file = io.BytesIO()
    Image.fromarray(array, options.pop("mode", None)).save(file, "JPEG", **options)
    return file.getvalue()


def native(function, files, **keywords):
    """Return a native function's results for files."""
    return run(ps.Dataset.from_tensor_slices(files).map(ps.native(function), **keywords))


def one(function, contents):
    return native(function, [contents])[0]


def resizing(size, ratio="auto", between=lambda image: image, **options):
    """Return a function that decodes and resizes."""
    decode = {name: options.pop(name) for name in ("channels", "dct_method") if name in options}

    def function(contents):
        image = ps.image.decode_jpeg(contents, ratio=ratio, **decode)
        return ps.image.resize(between(image), size, **options)

    return function


class TestRatio:
    @pytest.mark.parametrize(
        ("size", "ratio"),
        [
            ((48, 64), 8),
            ((48, 10), 8),
            ((49, 64), 4),
            ((48, 65), 4),
            ((96, 128), 4),
            ((97, 1), 2),
            ((192, 256), 2),
            ((193, 256), 1),
            ((384, 512), 1),
            ((500, 20), 1),
            ((1, 1), 8),
        ],
    )
    def test_it_is_the_largest_that_the_size_allows(self, contents, size, ratio):
        scaled = ps.image.decode_jpeg(contents, ratio=ratio)
        wanted = ps.image.resize(scaled, size)
        np.testing.assert_array_equal(one(resizing(size), contents), wanted)

    @pytest.mark.parametrize("antialias", [False, True])
    @pytest.mark.parametrize("method", METHODS)
    def test_every_method(self, contents, method, antialias):
        options = {"method": method, "antialias": antialias}
        scaled = ps.image.decode_jpeg(contents, ratio=4)
        wanted = ps.image.resize(scaled, (50, 70), **options)
        made = one(resizing((50, 70), **options), contents)
        np.testing.assert_array_equal(made, wanted)

    def test_nearest_takes_pixels_of_the_whole_image(self, contents):
        function = resizing((48, 64), method="nearest")
        np.testing.assert_array_equal(one(function, contents), function(contents))

    def test_proportions_are_those_of_the_whole_image(self, picture):
        contents = encoded(picture[:333, :501])
        options = {"preserve_aspect_ratio": True}
        wanted = ps.image.resize(picture[:333, :501], (40, 50), **options).shape
        made = one(resizing((40, 50), **options), contents)
        assert made.shape == wanted
        exact = one(resizing((40, 50), 1, **options, antialias=True), contents)
        assert np.abs(made - exact).mean() < 3

    def test_sizes_may_be_computed_of_the_image(self, contents):
        def function(contents):
            image = ps.image.decode_jpeg(contents, ratio="auto")
            size = ps.shape(image)[:2] // 3
            return ps.image.resize(image, size), ps.shape(image)

        made, shape = one(function, contents)
        assert shape.tolist() == [HEIGHT, WIDTH, 3]
        wanted = ps.image.resize(ps.image.decode_jpeg(contents, ratio=2), (128, 170))
        np.testing.assert_array_equal(made, wanted)

    @pytest.mark.parametrize("method", ["bilinear", "area"])
    def test_resize_with_pad(self, contents, method):
        def function(ratio):
            def padded(contents):
                image = ps.image.decode_jpeg(contents, ratio=ratio)
                return ps.image.resize_with_pad(image, 50, 50, method, antialias=True)

            return padded

        made, exact = one(function("auto"), contents), one(function(1), contents)
        assert np.array_equal(made == 0, exact == 0)
        assert 0 < np.abs(made - exact).mean() < 2


def bilinear(image, box, size):
    """Resize a box of an image, in float64; pixel (y, x) has its center at (y + 0.5, x + 0.5)."""
    image = image.astype(np.float64)
    for axis in (0, 1):
        begin, length = box[axis], box[2 + axis]
        at = begin + (np.arange(size[axis]) + 0.5) * length / size[axis] - 0.5
        low = np.floor(at).astype(int)
        first, last = int(np.floor(begin)), int(np.ceil(begin + length)) - 1
        one, two = (
            np.take(image, np.clip(k, first, min(last, image.shape[axis] - 1)), axis)
            for k in (low, low + 1)
        )
        weight = (at - low).reshape((-1, 1, 1) if axis == 0 else (1, -1, 1))
        image = one + (two - one) * weight
    return image


class TestWindows:
    """Crops between decoding and resizing, in pixels of the full image."""

    @pytest.mark.parametrize("shape", [(384, 512), (383, 509), (377, 505)])
    def test_a_window_shows_its_part_of_the_reduced_image(self, picture, shape):
        contents = encoded(picture[: shape[0], : shape[1]])
        rng = np.random.default_rng(0)
        for _ in range(40):
            h, w = (int(rng.integers(20, side + 1)) for side in shape)
            y, x = (
                int(rng.integers(0, side - s + 1)) for side, s in zip(shape, (h, w), strict=True)
            )
            size = tuple(rng.integers(1, 90, 2).tolist())
            ratio = max(
                k for k in (1, 2, 4, 8) if k == 1 or (k * size[0] <= h and k * size[1] <= w)
            )
            scaled = ps.image.decode_jpeg(contents, ratio=ratio)
            wanted = bilinear(scaled, (y / ratio, x / ratio, h / ratio, w / ratio), size)

            def boxed(image, box=(y, x, h, w)):
                return ps.image.crop_to_bounding_box(image, *box)

            def sliced(image, box=(y, x, h, w)):
                return image[box[0] : box[0] + box[2], box[1] : box[1] + box[3]]

            def decoded(contents, box=(y, x, h, w), size=size):
                image = ps.image.decode_and_crop_jpeg(contents, box, ratio="auto")
                return ps.image.resize(image, size)

            for function in (
                resizing(size, between=boxed),
                resizing(size, between=sliced),
                decoded,
            ):
                np.testing.assert_allclose(one(function, contents), wanted, atol=2e-3)

    @pytest.mark.parametrize("method", METHODS)
    def test_no_method_moves_the_picture(self, method):
        y, x = np.mgrid[:600, :800]
        ramps = np.stack([x * 0.3, y * 0.4, 255 - x * 0.3], -1).astype(np.uint8)
        contents = encoded(ramps, quality=98, subsampling="4:4:4")

        def function(ratio):
            def cropped(contents):
                image = ps.image.decode_jpeg(contents, ratio=ratio, dct_method="INTEGER_ACCURATE")
                image = ps.image.crop_to_bounding_box(image, 101, 203, 333, 454)
                return ps.image.resize(image, (37, 41), method, antialias=True)

            return cropped

        made, exact = one(function("auto"), contents), one(function(1), contents)
        red, green, blue = (made - exact)[3:-3, 3:-3].mean(axis=(0, 1))
        # The shift in pixels of the full image; a pixel of the reduced one covers 8.
        assert abs(red - blue) / 2 / 0.3 < 0.75
        assert abs(green - (red + blue) / 2) / 0.4 < 0.75
        assert np.abs(made - exact).max() < 8

    def test_draws_are_those_of_full_resolution(self, contents):
        def function(ratio):
            def augmented(contents):
                image = ps.image.decode_jpeg(contents, channels=3, ratio=ratio)
                first = ps.random.uniform(())
                image = ps.image.random_resized_crop(image, (24, 32), antialias=True)
                image = ps.image.random_flip_left_right(image)
                return image / 255.0, first, ps.random.uniform(())

            return augmented

        made = native(function("auto"), [contents] * 30)
        exact = native(function(1), [contents] * 30)
        different = [
            np.abs(one[0] - other[0]).mean() * 255 for one, other in zip(made, exact, strict=True)
        ]
        assert max(different) < 6  # another window or side would be 40
        assert np.mean(different) > 0
        assert_same([each[1:] for each in made], [each[1:] for each in exact])


class TestBetween:
    """Other operations between decoding and resizing."""

    LINEAR = {
        "cast": lambda image: ps.cast(image, np.float32),
        "astype": lambda image: image.astype(np.float64),
        "convert_image_dtype": lambda image: ps.image.convert_image_dtype(image, np.float32),
        "normalised": lambda image: (image * np.float32(1 / 255) - 0.5) / np.float32([1, 2, 3]),
    }
    OTHERS = {
        "an integer type": lambda image: ps.cast(image, np.int32),
        "wrapping": lambda image: image + np.uint8(200),
        "a threshold": lambda image: ps.cast(image > 100, np.float32),
        "a power": lambda image: ps.cast(image, np.float32) ** 2,
        "a value for each column": lambda image: image * np.ones((1, WIDTH, 1), np.float32),
        "a flip": lambda image: ps.image.flip_left_right(image),
    }

    @pytest.mark.parametrize("name", LINEAR)
    def test_linear_operations(self, contents, name):
        scaled = ps.image.decode_jpeg(contents, ratio=4)
        wanted = ps.image.resize(self.LINEAR[name](scaled), (60, 61))
        made = one(resizing((60, 61), between=self.LINEAR[name]), contents)
        np.testing.assert_array_equal(made, wanted)

    @pytest.mark.parametrize("name", OTHERS)
    def test_for_all_others_the_resolution_is_full(self, contents, name):
        function = resizing((60, 61), between=self.OTHERS[name])
        np.testing.assert_array_equal(one(function, contents), function(contents))

    def test_a_crop_and_then_a_conversion(self, contents):
        def between(image):
            window = ps.image.crop_to_bounding_box(image, 8, 16, 320, 400)
            return ps.image.convert_image_dtype(window, np.float32)

        scaled = ps.image.decode_jpeg(contents, ratio=4)[2:82, 4:104]
        wanted = ps.image.resize(ps.image.convert_image_dtype(scaled, np.float32), (60, 61))
        made = one(resizing((60, 61), between=between), contents)
        np.testing.assert_allclose(made, wanted, atol=1e-6)

    def test_other_uses_of_the_pixels_get_the_whole_image(self, contents):
        def both(ratio):
            def function(contents):
                image = ps.image.decode_jpeg(contents, ratio=ratio)
                return ps.image.resize(image, (40, 40)), image[0, 0]

            return function

        def twice(ratio):
            def function(contents):
                image = ps.image.decode_jpeg(contents, ratio=ratio)
                return ps.image.resize(image, (40, 40)), ps.image.resize(image, (20, 20))

            return function

        for function in (both, twice):
            assert_same([one(function("auto"), contents)], [function(1)(contents)])

    def test_without_a_resize_the_image_is_whole(self, contents):
        def function(contents):
            return ps.image.decode_jpeg(contents, ratio="auto")

        wanted = ps.image.decode_jpeg(contents)
        np.testing.assert_array_equal(one(function, contents), wanted)
        np.testing.assert_array_equal(function(contents), wanted)

    def test_a_plain_function_takes_the_whole_image(self, contents):
        function, exact = resizing((40, 40)), resizing((40, 40), 1)
        np.testing.assert_array_equal(function(contents), exact(contents))
        plain = run(ps.Dataset.from_tensors(contents).map(function))[0]
        np.testing.assert_array_equal(plain, exact(contents))
        assert not np.array_equal(one(function, contents), plain)


class TestFiles:
    KINDS = {
        "gray": {"channels": 1},
        "gray as RGB": {"channels": 1, "as": 3},
        "RGB as gray": {"as": 1},
        "progressive": {"progressive": True},
        "4:4:4": {"subsampling": "4:4:4"},
        "4:2:2": {"subsampling": "4:2:2"},
        "cmyk": {"mode": "CMYK"},
        "restarts": {"restart_marker_blocks": 7},
        "orientation": {
            "exif": b"Exif\0\0MM\0*\0\0\0\x08\0\x01\x01\x12\0\x03\0\0\0\x01\0\x06\0\0\0\0\0\0"
        },
    }

    @pytest.mark.parametrize("kind", KINDS)
    def test_every_kind_of_file(self, picture, kind):
        options = dict(self.KINDS[kind])
        picture = picture[..., : options.pop("channels", 3)]
        if options.get("mode") == "CMYK":
            picture = np.concatenate([255 - picture, np.full_like(picture[..., :1], 9)], -1)
        channels = options.pop("as", 0)
        contents = encoded(picture, **options)
        scaled = ps.image.decode_jpeg(contents, channels, ratio=4)
        wanted = ps.image.resize(scaled, (60, 61))
        made = one(resizing((60, 61), channels=channels), contents)
        np.testing.assert_array_equal(made, wanted)

    @pytest.mark.parametrize("dtype", [np.uint8, np.uint16, np.float32, np.float16])
    def test_decode_image(self, contents, dtype):
        def function(contents):
            image = ps.image.decode_image(contents, 3, dtype, ratio="auto")
            return ps.image.resize(image, (60, 61))

        scaled = ps.image.decode_jpeg(contents, ratio=4)
        wanted = ps.image.resize(ps.image.convert_image_dtype(scaled, dtype), (60, 61))
        np.testing.assert_allclose(one(function, contents), wanted, rtol=1e-3)

    def test_a_png_has_one_resolution(self, picture):
        png = ps.image.encode_png(picture)

        def function(contents):
            return ps.image.resize(ps.image.decode_image(contents, ratio="auto"), (20, 30))

        np.testing.assert_array_equal(one(function, png), function(png))


class TestEngine:
    def files(self, picture):
        """Return images of several sizes, some truncated or damaged, and one non-image."""
        rng = np.random.default_rng(2)
        files = []
        for i in range(24):
            height, width = rng.integers(200, 380, 2)
            contents = encoded(picture[:height, :width])
            if i % 5 == 3:
                contents = contents[: len(contents) // 2]
            files.append(b"no image" if i % 11 == 5 else contents)
        return files

    def outcomes(self, dataset):
        """Return the elements, with errors as text."""
        found, it = [], iter(dataset)
        while True:
            try:
                found.append(next(it))
            except StopIteration:
                return found
            except ps.DataError as error:
                found.append(str(error))

    def test_errors_stay_where_they_are(self, picture):
        source = ps.Dataset.from_tensor_slices(self.files(picture))
        made = self.outcomes(source.map(ps.native(resizing((30, 30)))))
        exact = self.outcomes(source.map(ps.native(resizing((30, 30), 1))))
        kinds = [type(each) for each in made]
        assert kinds == [type(each) for each in exact]
        assert 4 < kinds.count(str) < 12
        for one, other in zip(made, exact, strict=True):
            if isinstance(other, str):
                assert one.split(":")[:2] == other.split(":")[:2]

    def test_calls_and_batches_make_the_same(self, picture):
        files = [contents for contents in self.files(picture) if contents != b"no image"]
        source = ps.Dataset.from_tensor_slices(files)
        function = ps.native(resizing((30, 40)))
        wanted = self.outcomes(source.map(function))
        for calls in (1, 2, 8):
            assert_same(self.outcomes(source.map(function, num_parallel_calls=calls)), wanted)
        good = [each for each in wanted if not isinstance(each, str)]
        batches = source.map(function).ignore_errors().batch(4)
        assert_same([row for batch in batches for row in batch], good)

    def test_recovering_works_at_every_ratio(self, contents):
        def function(ratio):
            def recovered(contents):
                image = ps.image.decode_jpeg(contents, ratio=ratio, try_recover_truncated=True)
                return ps.image.resize(image, (48, 64), antialias=True)

            return recovered

        half = contents[: len(contents) // 2]
        made, exact = one(function("auto"), half), one(function(1), half)
        assert np.abs(made - exact)[:20].mean() < 3

    def test_random_damage_never_crashes(self, contents, capfd):
        rng = np.random.default_rng(3)
        files = []
        for _ in range(150):
            data = np.frombuffer(contents, np.uint8).copy()
            places = rng.integers(0, len(data), rng.integers(1, 6))
            data[places] = rng.integers(0, 256, len(places))
            files.append(data.tobytes())

        def function(contents):
            image = ps.image.decode_jpeg(contents, channels=3, ratio="auto")
            image = ps.image.random_resized_crop(image, (20, 20))
            return ps.image.resize(image, (4, 4))

        source = ps.Dataset.from_tensor_slices(files)
        assert len(self.outcomes(source.map(ps.native(function)))) == len(files)
        assert capfd.readouterr() == ("", "")

    def test_check_compares_what_is_decoded_in_full(self, contents):
        source = ps.Dataset.from_tensors(contents).repeat(4)
        function = resizing((40, 40))
        checked = run(source.map(ps.native(function, check=2)))
        assert_same(checked, [one(function, contents)] * 4)

    def test_check_still_finds_differences(self, contents):
        def lying(contents):
            traced = ps.ops.symbol.current_trace() is not None
            image = ps.image.decode_jpeg(contents, ratio="auto")
            return ps.image.resize(image, (40, 40)) + np.float32(traced)

        source = ps.Dataset.from_tensors(contents).repeat(4)
        it = iter(source.map(ps.native(lying, check=1)))
        with pytest.raises(ps.TraceError, match="element 0 is not that of the plain function"):
            next(it)
        assert next(it).shape == (40, 40, 3)


class TestArguments:
    @pytest.mark.parametrize("function", ["decode_jpeg", "decode_image"])
    def test_other_words_are_refused(self, contents, function):
        with pytest.raises(ValueError, match=f"{function}: ratio must be a number or 'auto'"):
            getattr(ps.image, function)(contents, ratio="half")

    def test_decode_image_has_no_other_ratio(self, contents):
        with pytest.raises(ValueError, match="decode_image: ratio must be <= 1, got 2"):
            ps.image.decode_image(contents, ratio=2)

    def test_ratios_are_named(self, contents):
        with pytest.raises(ValueError, match="ratio must be 1, 2, 4, 8 or 'auto', got 3"):
            ps.image.decode_jpeg(contents, ratio=3)
