"""JPEG: Pillow's pixels, windows equal to cropped images, and clear errors for broken files."""

import io
import struct
from concurrent.futures import ThreadPoolExecutor

import jpeg_writer
import numpy as np
import pytest
from PIL import Image, features

import penstock as ps
from penstock import _core

SAMPLINGS = ["4:4:4", "4:2:2", "4:2:0"]

pytestmark = pytest.mark.skipif(
    not _core.build_info()["jpeg"]["native"], reason="built without libjpeg"
)


def pillow(contents, mode=None):
    image = Image.open(io.BytesIO(contents))
    array = np.asarray(image.convert(mode) if mode else image)
    return array if array.ndim == 3 else array[..., np.newaxis]


def accurate(contents, **options):
    """Decode with the inverse transform that Pillow uses."""
    return ps.image.decode_jpeg(contents, dct_method="INTEGER_ACCURATE", **options)


def close(image, other, tolerance=0):
    """Compare decoders; another libjpeg may round some values differently by one."""
    assert image.shape == other.shape
    assert image.dtype == np.uint8
    difference = np.abs(image.astype(int) - other.astype(int))
    if tolerance == 0 and not features.check_feature("libjpeg_turbo"):
        tolerance = 2
    assert difference.max(initial=0) <= tolerance


def test_own_parts_run_with_tested_versions_of_libjpeg_turbo():
    jpeg = _core.build_info()["jpeg"]
    tested = ("libjpeg-turbo 2.1.5", "libjpeg-turbo 3.1.3")
    assert jpeg["own_parts"] == (jpeg["version"] in tested)


class TestDecode:
    @pytest.mark.parametrize("progressive", [False, True], ids=["baseline", "progressive"])
    @pytest.mark.parametrize("sampling", SAMPLINGS)
    def test_pixels_are_pillows(self, photo, encode, sampling, progressive):
        contents = encode(photo, subsampling=sampling, progressive=progressive)
        close(accurate(contents), pillow(contents))

    @pytest.mark.parametrize("shape", [(1, 1), (1, 100), (100, 1), (7, 9), (8, 16), (17, 33)])
    def test_small_and_odd_sizes(self, photo, encode, shape):
        contents = encode(photo[: shape[0], : shape[1]])
        close(accurate(contents), pillow(contents))

    def test_grayscale_has_one_channel(self, photo, encode):
        contents = encode(photo[..., :1])
        close(accurate(contents), pillow(contents))

    def test_grayscale_becomes_rgb(self, photo, encode):
        contents = encode(photo[..., :1])
        image = accurate(contents, channels=3)
        close(image, np.repeat(pillow(contents), 3, axis=-1))

    def test_rgb_becomes_grayscale(self, photo, encode):
        contents = encode(photo)
        expected = np.asarray(pillow(contents) @ [0.299, 0.587, 0.114])[..., np.newaxis]
        image = accurate(contents, channels=1)
        # The luminance of the file was never clipped to valid colours.
        assert np.abs(image - expected).mean() < 2

    def test_cmyk_becomes_rgb(self, photo):
        inks = np.concatenate([255 - photo, np.full_like(photo[..., :1], 20)], axis=-1)
        file = io.BytesIO()
        Image.fromarray(inks, "CMYK").save(file, "JPEG", quality=95)
        image = accurate(file.getvalue())
        close(image, pillow(file.getvalue(), "RGB"), tolerance=2)

    @pytest.mark.parametrize("ratio", [2, 4, 8])
    def test_ratio_reduces_and_rounds_up(self, photo, encode, ratio):
        contents = encode(photo)
        image = accurate(contents, ratio=ratio)
        assert image.shape == (-(-117 // ratio), -(-203 // ratio), 3)
        reduced = Image.open(io.BytesIO(contents))
        reduced.draft(None, (203 // ratio, 117 // ratio))
        close(image, np.asarray(reduced))

    def test_fancy_upscaling_can_be_left_out(self, photo, encode):
        contents = encode(photo)
        fancy = ps.image.decode_jpeg(contents).astype(int)
        plain = ps.image.decode_jpeg(contents, fancy_upscaling=False)
        assert 0 < np.abs(fancy - plain).mean() < 20

    def test_dct_methods_agree_roughly(self, photo, encode):
        contents = encode(photo)
        default = ps.image.decode_jpeg(contents)
        fast = ps.image.decode_jpeg(contents, dct_method="INTEGER_FAST")
        np.testing.assert_array_equal(default, fast)
        assert 0 < np.abs(fast.astype(int) - accurate(contents)).mean() < 4

    def test_trailing_bytes_are_ignored(self, photo, encode):
        contents = encode(photo)
        close(accurate(contents + b"\0garbage"), pillow(contents))

    @pytest.mark.parametrize(
        ("argument", "value"),
        [("channels", 4), ("channels", -1), ("ratio", 3), ("dct_method", "x")],
    )
    def test_a_wrong_argument_is_named(self, photo, encode, argument, value):
        with pytest.raises(ValueError, match=f"decode_jpeg: {argument} must be"):
            ps.image.decode_jpeg(encode(photo), **{argument: value})

    def test_cmyk_becomes_gray(self, photo):
        inks = np.concatenate([255 - photo, np.full_like(photo[..., :1], 20)], axis=-1)
        file = io.BytesIO()
        Image.fromarray(inks, "CMYK").save(file, "JPEG", quality=95)
        colours = accurate(file.getvalue()).astype(int)
        gray = accurate(file.getvalue(), channels=1)
        weighed = (colours @ [19595, 38470, 7471] + 32768) >> 16
        np.testing.assert_array_equal(gray[..., 0], weighed)
        close(gray, pillow(file.getvalue(), "L"), tolerance=2)
        window = ps.image.decode_and_crop_jpeg(
            file.getvalue(), [5, 6, 30, 20], 1, dct_method="INTEGER_ACCURATE"
        )
        np.testing.assert_array_equal(window, gray[5:35, 6:26])

    @pytest.mark.parametrize("contents", ["text", 3, np.zeros(4, np.uint8), None])
    def test_contents_must_be_bytes(self, contents):
        with pytest.raises(TypeError, match="decode_jpeg: contents must be bytes, got"):
            ps.image.decode_jpeg(contents)

    def test_contents_must_be_one_string(self):
        with pytest.raises(ValueError, match=r"contents must be one string, got .* \(2,\)"):
            ps.image.decode_jpeg([b"a", b"b"])


class TestEntropyDecoder:
    """Compare with Pillow's libjpeg on files that use all features of the format."""

    SAMPLINGS = {
        "gray": [(1, 1)],
        "4:4:4": [(1, 1)] * 3,
        "4:2:2": [(2, 1), (1, 1), (1, 1)],
        "4:4:0": [(1, 2), (1, 1), (1, 1)],
        "4:2:0": [(2, 2), (1, 1), (1, 1)],
    }

    def made(self, sampling, seed, density=0.2, mcus=(7, 10), **options):
        rng = np.random.default_rng(seed)
        factors = self.SAMPLINGS[sampling]
        blocks = [
            jpeg_writer.draw_blocks(rng, mcus[0] * v, mcus[1] * h, density) for h, v in factors
        ]
        (h, v), cut = factors[0], rng.integers(0, 8, 2)
        size = (mcus[0] * 8 * v - cut[0], mcus[1] * 8 * h - cut[1])
        return jpeg_writer.write(blocks, size, factors, **options)

    @pytest.mark.parametrize("density", [0, 0.02, 0.2, 0.7, 1])
    @pytest.mark.parametrize("sampling", SAMPLINGS)
    def test_any_coefficients(self, sampling, density):
        for seed in range(3):
            contents = self.made(sampling, seed, density)
            close(accurate(contents), pillow(contents))

    @pytest.mark.parametrize("short", [1, 3, 7])
    def test_codes_of_one_and_of_sixteen_bits(self, short):
        for seed in range(8):
            rng = np.random.default_rng(seed)
            dc = jpeg_writer.skewed(rng.permutation(jpeg_writer.DC_SYMBOLS).tolist(), short)
            ac = jpeg_writer.skewed(rng.permutation(jpeg_writer.AC_SYMBOLS).tolist(), short)
            contents = self.made("4:2:0", seed, 0.3, dc=dc, ac=ac)
            close(accurate(contents), pillow(contents))

    def test_a_short_code_of_the_end_of_blocks_is_not_read_after_the_last_coefficient(self):
        # If its code is one bit long, every second bit after the 64th coefficient looks like it.
        ac = jpeg_writer.skewed(jpeg_writer.AC_SYMBOLS)
        dc = jpeg_writer.Codes(jpeg_writer.DC_SYMBOLS, [1, *[5] * 11])
        blocks = np.zeros((40, 60, 64), int)
        blocks[..., 63] = 1
        contents = jpeg_writer.write([blocks], (320, 480), [(1, 1)], dc, ac)
        close(accurate(contents), pillow(contents))

    @pytest.mark.parametrize("restart_interval", [1, 2, 5, 7, 100])
    @pytest.mark.parametrize("sampling", ["gray", "4:2:0"])
    def test_restart_markers(self, sampling, restart_interval):
        contents = self.made(sampling, 0, mcus=(11, 9), restart_interval=restart_interval)
        close(accurate(contents), pillow(contents))

    @pytest.mark.parametrize("quality", [1, 10, 50, 75, 90, 97, 100])
    @pytest.mark.parametrize("optimize", [False, True], ids=["standard", "optimized"])
    def test_every_quality(self, photo, encode, quality, optimize):
        for sampling in SAMPLINGS:
            contents = encode(photo, quality=quality, optimize=optimize, subsampling=sampling)
            close(accurate(contents), pillow(contents))

    # Blocks that become one pixel, and blocks outside windows, need no coefficients. In large
    # images, separate tables skip them.

    @staticmethod
    def walked(contents):
        """Compare the image at 1/8 of its size with Pillow's, and a window with the whole image."""
        reduced = Image.open(io.BytesIO(contents))
        reduced.draft(None, tuple(side // 8 for side in reduced.size))
        height, width = reduced.size[::-1]
        close(accurate(contents, ratio=8), np.asarray(reduced).reshape(height, width, -1))
        whole = accurate(contents)
        y, x = whole.shape[0] - 9, whole.shape[1] // 2
        window = ps.image.decode_and_crop_jpeg(
            contents, [y, x, 9, 5], dct_method="INTEGER_ACCURATE"
        )
        np.testing.assert_array_equal(window, whole[y:, x : x + 5])

    @pytest.mark.parametrize("density", [0, 0.02, 0.2, 0.6])
    def test_any_coefficients_that_are_not_wanted(self, density):
        self.walked(self.made("gray", 5, density, mcus=(52, 56)))

    @pytest.mark.parametrize("short", [1, 3, 7])
    def test_codes_of_any_length_that_are_not_wanted(self, short):
        rng = np.random.default_rng(short)
        dc = jpeg_writer.skewed(rng.permutation(jpeg_writer.DC_SYMBOLS).tolist(), short)
        ac = jpeg_writer.skewed(rng.permutation(jpeg_writer.AC_SYMBOLS).tolist(), short)
        self.walked(self.made("gray", short, 0.1, mcus=(52, 56), dc=dc, ac=ac))

    @pytest.mark.parametrize("quality", [5, 75, 98])
    @pytest.mark.parametrize("sampling", ["4:4:4", "4:2:2", "4:2:0"])
    def test_photographs_that_are_not_wanted(self, photo, encode, sampling, quality):
        large = np.tile(photo, (8, 5, 1))
        self.walked(encode(large, quality=quality, subsampling=sampling))

    def test_every_small_size(self, photo, encode):
        for height in range(1, 19):
            for width in (*range(1, 19), 33):
                contents = encode(photo[:height, :width])
                close(accurate(contents), pillow(contents))


class TestWindow:
    @pytest.mark.parametrize("fancy", [True, False], ids=["fancy", "plain"])
    @pytest.mark.parametrize("ratio", [1, 2, 4, 8])
    @pytest.mark.parametrize("sampling", [*SAMPLINGS, "gray", "progressive"])
    def test_a_window_is_exactly_the_cropped_image(self, photo, encode, sampling, ratio, fancy):
        options = {"progressive": True} if sampling == "progressive" else {}
        if sampling in SAMPLINGS:
            options["subsampling"] = sampling
        contents = encode(photo[..., :1] if sampling == "gray" else photo, **options)
        whole = ps.image.decode_jpeg(contents, ratio=ratio, fancy_upscaling=fancy)
        height, width, _ = whole.shape
        rng = np.random.default_rng(0)
        for _ in range(60):
            h, w = rng.integers(1, height + 1), rng.integers(1, width + 1)
            y, x = rng.integers(0, height - h + 1), rng.integers(0, width - w + 1)
            window = ps.image.decode_and_crop_jpeg(
                contents, [y, x, h, w], ratio=ratio, fancy_upscaling=fancy
            )
            np.testing.assert_array_equal(window, whole[y : y + h, x : x + w], str((y, x, h, w)))

    @pytest.mark.parametrize(
        "factors",
        [(1, 2, 1, 1), (4, 1, 1, 1), (1, 4, 1, 1), (4, 2, 1, 1), (2, 4, 1, 1), (2, 2, 2, 1)],
    )
    def test_unusual_sampling_factors(self, photo, encode, factors):
        contents = resampled(encode(photo, subsampling="4:2:0"), factors)
        whole = ps.image.decode_jpeg(contents, try_recover_truncated=True)
        height, width, _ = whole.shape
        rng = np.random.default_rng(0)
        for _ in range(40):
            h, w = rng.integers(1, height + 1), rng.integers(1, width + 1)
            y, x = rng.integers(0, height - h + 1), rng.integers(0, width - w + 1)
            window = ps.image.decode_and_crop_jpeg(
                contents, [y, x, h, w], try_recover_truncated=True
            )
            np.testing.assert_array_equal(window, whole[y : y + h, x : x + w], str((y, x, h, w)))

    def test_every_edge_of_a_small_image(self, photo, encode):
        contents = encode(photo[:19, :35])
        whole = ps.image.decode_jpeg(contents)
        for x in range(35):
            for w in range(1, 36 - x):
                window = ps.image.decode_and_crop_jpeg(contents, [3, x, 5, w])
                np.testing.assert_array_equal(window, whole[3:8, x : x + w], str((x, w)))

    def test_channels_are_converted(self, photo, encode):
        contents = encode(photo)
        whole = ps.image.decode_jpeg(contents, channels=1)
        window = ps.image.decode_and_crop_jpeg(contents, np.array([1, 2, 3, 4]), channels=1)
        np.testing.assert_array_equal(window, whole[1:4, 2:6])

    @pytest.mark.parametrize(
        "window",
        [
            [0, 0, 0, 5],
            [0, 0, 5, 0],
            [-1, 0, 5, 5],
            [0, -1, 5, 5],
            [113, 0, 5, 5],
            [0, 199, 5, 5],
            [0, 0, 118, 5],
            [0, 0, 5, 204],
            [2**31, 0, 5, 5],
            [1, 0, 2**63 - 1, 5],
        ],
    )
    def test_a_window_beyond_the_image_is_refused(self, photo, encode, window):
        message = r"crop_window .* within the image of 117 rows and 203 columns, got \("
        with pytest.raises(ValueError, match=message):
            ps.image.decode_and_crop_jpeg(encode(photo), window)

    def test_a_window_of_another_shape_is_refused(self, photo, encode):
        with pytest.raises(ValueError, match=r"crop_window must have shape \(4,\), got \(3,\)"):
            ps.image.decode_and_crop_jpeg(encode(photo), [0, 0, 1])

    def test_a_window_of_floats_is_refused(self, photo, encode):
        with pytest.raises(TypeError, match="crop_window must hold integers, got float64"):
            ps.image.decode_and_crop_jpeg(encode(photo), [0.0, 0.0, 1.0, 1.0])


def resampled(contents, factors):
    """Change the sampling factors in the frame header, so that the data encode another image."""
    data = bytearray(contents)
    frame = frame_of(contents)
    h, v, chroma_h, chroma_v = factors
    data[frame + 11] = h << 4 | v
    data[frame + 14] = data[frame + 17] = chroma_h << 4 | chroma_v
    return bytes(data)


def frame_of(contents):
    """Find the frame header."""
    return next(at for marker in (b"\xff\xc0", b"\xff\xc2") if (at := contents.find(marker)) >= 0)


def sized(contents, height, width):
    """Change the size in the frame header."""
    at = frame_of(contents) + 5
    return contents[:at] + struct.pack(">HH", height, width) + contents[at + 4 :]


class TestBroken:
    @pytest.mark.parametrize(
        ("contents", "message"),
        [
            (b"", "got 0 bytes"),
            (b"\xff", "got bytes that start with 0xff"),
            (b"\x89PNG\r\n", "got a PNG file"),
            (b"GIF89a", "got a GIF file"),
            (b"<html>", "got text that starts with '<'"),
            (b"\0\1\2\3\4", "got bytes that start with 0x00 0x01 0x02 0x03"),
            (b"\xff\xd8", "truncated"),
            (b"\xff\xd8\xff\xd9", "no frame header"),
            (b"\xff\xd8\xff\xe0\0\0", "corrupt"),
        ],
    )
    @pytest.mark.parametrize("function", ["decode_jpeg", "extract_jpeg_shape"])
    def test_what_is_no_jpeg_is_a_data_error(self, function, contents, message):
        with pytest.raises(ps.DataError, match=f"{function}: contents .*{message}"):
            getattr(ps.image, function)(contents)

    @pytest.mark.parametrize("progressive", [False, True], ids=["baseline", "progressive"])
    def test_every_truncation_is_a_data_error(self, photo, encode, progressive, capfd):
        contents = encode(photo, progressive=progressive)
        for size in [*range(0, len(contents), 97), len(contents) - 2, len(contents) - 1]:
            with pytest.raises(
                ps.DataError, match=r"decode_jpeg: contents .*(trunc|corrupt|0 bytes)"
            ):
                ps.image.decode_jpeg(contents[:size])
        assert capfd.readouterr() == ("", "")

    def test_a_truncated_file_tells_how_far_it_goes(self, photo, encode):
        contents = encode(photo)
        with pytest.raises(ps.DataError, match=r"hold \d+ of 117 rows; try_recover_truncated=True"):
            ps.image.decode_jpeg(contents[: len(contents) // 2])

    def test_a_truncated_file_can_be_recovered(self, photo, encode, capfd):
        contents = encode(photo)
        whole = ps.image.decode_jpeg(contents)
        image = ps.image.decode_jpeg(contents[: len(contents) // 2], try_recover_truncated=True)
        np.testing.assert_array_equal(image[:32], whole[:32])
        assert not np.array_equal(image, whole)
        assert capfd.readouterr() == ("", "")

    def test_a_truncated_file_can_be_accepted_in_part(self, photo, encode):
        contents = encode(photo)
        whole = ps.image.decode_jpeg(contents)
        half = contents[: len(contents) // 2]
        image = ps.image.decode_jpeg(half, acceptable_fraction=0.2)
        np.testing.assert_array_equal(image[:32], whole[:32])
        assert not image[-20:].any()
        with pytest.raises(ps.DataError, match="truncated"):
            ps.image.decode_jpeg(half, acceptable_fraction=0.9)

    def test_random_damage_never_crashes_or_prints(self, photo, encode, capfd):
        rng = np.random.default_rng(1)
        for progressive in [False, True]:
            contents = encode(photo, progressive=progressive)
            for _ in range(300):
                data = np.frombuffer(contents, np.uint8).copy()
                places = rng.integers(0, len(data), rng.integers(1, 6))
                data[places] = rng.integers(0, 256, len(places))
                try:
                    ps.image.decode_jpeg(data.tobytes(), channels=3)
                except (ps.DataError, ValueError) as error:
                    assert "decode_jpeg" in str(error)  # noqa: PT017 - either way is right
        assert capfd.readouterr() == ("", "")

    def test_damaged_headers_never_crash(self, photo, encode):
        contents = encode(photo[:16, :16])
        for place in range(min(len(contents), 700)):
            for value in (0, 1, 0x7F, 0xFF):
                data = contents[:place] + bytes([value]) + contents[place + 1 :]
                try:
                    ps.image.decode_jpeg(data, channels=3)
                except (ps.DataError, ValueError):
                    continue

    def test_an_absurd_size_is_refused_before_memory_is_taken(self, photo, encode):
        contents = encode(photo)
        with pytest.raises(ps.DataError, match="says 65000 x 65000 pixels, at most"):
            ps.image.decode_jpeg(sized(contents, 65000, 65000))
        with pytest.raises(ps.DataError, match="says 13000 x 13000 pixels, too many for"):
            ps.image.decode_jpeg(sized(encode(photo[:8, :8]), 13000, 13000))

    @pytest.mark.parametrize(("height", "width"), [(0, 5), (5, 0)])
    def test_an_empty_size_is_refused(self, photo, encode, height, width):
        with pytest.raises(ps.DataError, match="corrupt"):
            ps.image.decode_jpeg(sized(encode(photo), height, width))

    def test_endless_scans_are_refused(self, photo, encode):
        contents = encode(photo[:8, :8], progressive=True)
        start = contents.rindex(b"\xff\xda")
        scan = contents[start:-2]
        with pytest.raises(ps.DataError, match="more than 500 scans"):
            ps.image.decode_jpeg(contents[:start] + 600 * scan + contents[-2:])

    def test_an_unsupported_kind_is_told(self, photo, encode):
        contents = encode(photo)
        at = frame_of(contents) + 1
        with pytest.raises(ps.DataError, match="Unsupported JPEG process"):
            ps.image.decode_jpeg(contents[:at] + b"\xc3" + contents[at + 1 :])


class TestHeader:
    @pytest.mark.parametrize("dtype", [np.int32, np.int64])
    @pytest.mark.parametrize("channels", [1, 3])
    def test_shape_without_decoding(self, photo, encode, channels, dtype):
        contents = encode(photo[..., :channels], comment="\xff\xc0 is a marker" * 99)
        shape = ps.image.extract_jpeg_shape(contents, output_type=dtype)
        assert shape.dtype == dtype
        assert shape.tolist() == [117, 203, channels]
        assert (
            ps.image.extract_jpeg_shape(contents[: len(contents) // 2]).tolist() == shape.tolist()
        )

    def test_shape_of_another_type_is_refused(self, photo, encode):
        with pytest.raises(TypeError, match="output_type must be int32 or int64, got float32"):
            ps.image.extract_jpeg_shape(encode(photo), output_type=np.float32)

    @pytest.mark.parametrize(
        ("contents", "expected"),
        [(b"\xff\xd8\xff\xe0", True), (b"\xff\xd8", False), (b"", False), (b"\x89PNG", False)],
    )
    def test_is_jpeg_looks_at_three_bytes(self, contents, expected):
        assert ps.image.is_jpeg(contents) is expected


def test_threads_decode_independently(photo, encode):
    good, bad = encode(photo), encode(photo)[:999]
    whole = ps.image.decode_jpeg(good)

    def one(i):
        if i % 3:
            return np.array_equal(ps.image.decode_jpeg(good), whole)
        with pytest.raises(ps.DataError):
            ps.image.decode_jpeg(bad)
        return True

    with ThreadPoolExecutor(4) as pool:
        assert all(pool.map(one, range(200)))
