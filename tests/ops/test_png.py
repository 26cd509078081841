"""PNG: files of every kind against their original samples, and clear errors."""

import io
import zlib

import numpy as np
import pytest
from PIL import Image
from png_writer import (
    DEPTHS,
    GRAY,
    PALETTE,
    RGB,
    RGB_ALPHA,
    SAMPLES,
    SIGNATURE,
    chunk,
    header,
    with_checksums,
    write,
)

import penstock as ps
from native_contract import assert_native

pytestmark = pytest.mark.skipif(not ps.build_info()["png"]["native"], reason="built without libpng")
KINDS = [(kind, depth) for kind, depths in DEPTHS.items() for depth in depths]
COLORS = np.random.default_rng(1).integers(0, 256, (256, 3), np.uint8)


def samples(kind, depth, shape=(13, 21)):
    rng = np.random.default_rng(2)
    return rng.integers(0, 2**depth, (*shape, SAMPLES[kind]), np.uint32)


def as_values(stored, kind, depth, bits):
    """Return the values of a file's samples, as 8 or 16 bits."""
    if kind == PALETTE:
        values = COLORS[stored[..., 0]].astype(np.uint32)
    elif depth == 16:
        return (stored if bits == 16 else stored >> 8).astype(f"u{bits // 8}")
    else:
        values = stored * (255 // (2**depth - 1))
    return (values * 257).astype(np.uint16) if bits == 16 else values.astype(np.uint8)


def as_channels(values, channels):
    """Return the values with another number of channels, by the rules of decode_png."""
    most = np.iinfo(values.dtype).max
    alpha = values[..., -1:] if values.shape[-1] in (2, 4) else np.full_like(values[..., :1], most)
    colors = values[..., : 1 if values.shape[-1] <= 2 else 3]
    if channels > 2 and colors.shape[-1] == 1:
        colors = np.repeat(colors, 3, -1)
    if channels <= 2 and colors.shape[-1] == 3:
        rounding = 0 if values.dtype == np.uint8 else 2**14
        weighted = colors.astype(np.int64) @ [9798, 19235, 3735]
        colors = ((weighted + rounding) >> 15).astype(values.dtype)[..., np.newaxis]
    return np.concatenate([colors, alpha], -1) if channels in (2, 4) else colors


def palette_of(kind, depth):
    return COLORS[: 2**depth] if kind == PALETTE else None


class TestDecode:
    @pytest.mark.parametrize("interlaced", [False, True], ids=["plain", "interlaced"])
    @pytest.mark.parametrize("channels", [0, 1, 2, 3, 4])
    @pytest.mark.parametrize(("kind", "depth"), KINDS)
    def test_every_kind_as_every_other(self, kind, depth, channels, interlaced):
        stored = samples(kind, depth)
        file = write(stored, depth, kind, palette_of(kind, depth), interlaced=interlaced)
        for bits in (8, 16):
            values = as_values(stored, kind, depth, bits)
            expected = as_channels(values, channels) if channels else values
            result = ps.image.decode_png(file, channels, f"uint{bits}")
            assert result.dtype == f"uint{bits}"
            np.testing.assert_array_equal(result, expected)

    @pytest.mark.parametrize("interlaced", [False, True], ids=["plain", "interlaced"])
    @pytest.mark.parametrize("shape", [(1, 1), (1, 9), (9, 1), (2, 3), (5, 5), (8, 8), (33, 17)])
    def test_small_and_odd_sizes(self, shape, interlaced):
        for kind, depth in ((GRAY, 1), (RGB, 8), (PALETTE, 2)):
            stored = samples(kind, depth, shape)
            file = write(stored, depth, kind, palette_of(kind, depth), interlaced=interlaced)
            expected = as_values(stored, kind, depth, 8)
            np.testing.assert_array_equal(ps.image.decode_png(file), expected)

    @pytest.mark.parametrize("mode", ["1", "L", "LA", "P", "RGB", "RGBA"])
    def test_pixels_are_pillows(self, photo, mode):
        image = Image.fromarray(photo).convert(mode)
        file = io.BytesIO()
        image.save(file, "PNG")
        expected = np.asarray(image.convert({"1": "L", "P": "RGB"}.get(mode, mode)))
        result = ps.image.decode_png(file.getvalue())
        np.testing.assert_array_equal(result, expected.reshape(result.shape))

    def test_transparent_colours_of_a_palette_are_alpha(self):
        stored = samples(PALETTE, 2)
        file = write(stored, 2, PALETTE, COLORS[:4], transparency=bytes([10, 20]))
        alpha = np.array([10, 20, 255, 255], np.uint8)[stored]
        expected = np.concatenate([COLORS[stored[..., 0]], alpha], -1)
        np.testing.assert_array_equal(ps.image.decode_png(file), expected)
        for channels in (1, 2, 3):
            result = ps.image.decode_png(file, channels)
            np.testing.assert_array_equal(result, as_channels(expected, channels))

    @pytest.mark.parametrize("kind", [GRAY, RGB])
    @pytest.mark.parametrize("depth", [8, 16])
    def test_a_transparent_colour_is_alpha_on_request(self, kind, depth):
        stored = samples(kind, depth)
        color = stored[3, 4].astype(">u2").tobytes()
        file = write(stored, depth, kind, transparency=color)
        values = as_values(stored, kind, depth, 16)
        np.testing.assert_array_equal(ps.image.decode_png(file, dtype=np.uint16), values)
        clear = (stored == stored[3, 4]).all(-1, keepdims=True)
        alpha = np.where(clear, 0, 65535).astype(np.uint16)
        channels = 2 if kind == GRAY else 4
        expected = np.concatenate([values, alpha], -1)
        result = ps.image.decode_png(file, channels, np.uint16)
        np.testing.assert_array_equal(result, expected)
        np.testing.assert_array_equal(
            ps.image.decode_png(file, channels), (expected >> 8).astype(np.uint8)
        )

    def test_gamma_and_profiles_are_not_applied(self):
        stored = samples(RGB, 8)
        plain = ps.image.decode_png(write(stored, 8, RGB))
        extra = chunk(b"gAMA", (100000).to_bytes(4, "big"))
        profile = chunk(b"iCCP", b"name\0\0" + zlib.compress(b"no profile" * 9))
        for channels in (1, 3):
            result = ps.image.decode_png(write(stored, 8, RGB, extra=extra + profile), channels)
            np.testing.assert_array_equal(result, as_channels(plain, channels))

    @pytest.mark.parametrize(("argument", "value"), [("channels", 5), ("channels", -1)])
    def test_a_wrong_argument_is_named(self, argument, value):
        with pytest.raises(ValueError, match=f"^decode_png: {argument} must be"):
            ps.image.decode_png(write(samples(RGB, 8), 8, RGB), **{argument: value})

    def test_another_type_is_refused(self):
        file = write(samples(RGB, 8), 8, RGB)
        with pytest.raises(
            TypeError, match=r"^decode_png: dtype must be uint8 or uint16, got float32"
        ):
            ps.image.decode_png(file, dtype=np.float32)
        with pytest.raises(TypeError, match=r"^decode_png: contents must be bytes, got"):
            ps.image.decode_png("text")

    @pytest.mark.parametrize("interlaced", [False, True], ids=["plain", "interlaced"])
    @pytest.mark.parametrize("channels", [0, 1, 4])
    def test_a_native_crop_decodes_the_same(self, channels, interlaced):
        files = [write(samples(RGB, 8), 8, RGB, interlaced=interlaced)]

        def part(file, y, x):
            image = ps.image.decode_png(file, channels)
            return ps.image.crop_to_bounding_box(image, y, x, 5, 6)

        places = [(files[0], y, x) for y, x in ((0, 0), (3, 2), (8, 15), (8, 0), (0, 15))]
        assert_native(part, places)

    def test_native(self):
        files = [write(samples(RGB, 8), 8, RGB), write(samples(RGB, 16), 16, RGB)]
        assert_native(lambda file: ps.image.decode_png(file), files)
        assert_native(lambda file: ps.image.decode_png(file, dtype=np.uint16), files)


class TestEncode:
    @pytest.mark.parametrize("dtype", ["uint8", "uint16"])
    @pytest.mark.parametrize("channels", [1, 2, 3, 4])
    @pytest.mark.parametrize("compression", [-1, 0, 1, 9])
    def test_there_and_back_changes_nothing(self, channels, dtype, compression):
        rng = np.random.default_rng(3)
        image = rng.integers(0, np.iinfo(dtype).max, (17, 9, channels), dtype, endpoint=True)
        file = ps.image.encode_png(image, compression)
        assert type(file) is bytes
        np.testing.assert_array_equal(ps.image.decode_png(file, dtype=dtype), image)
        if dtype == "uint8":
            pillow = np.asarray(Image.open(io.BytesIO(file)))
            np.testing.assert_array_equal(pillow.reshape(image.shape), image)

    def test_compression_counts(self, photo):
        sizes = [len(ps.image.encode_png(photo, level)) for level in (0, 1, 9)]
        assert sizes[0] > sizes[1] > sizes[2]

    def test_a_batch_gives_an_array_of_files(self, photo):
        images = np.stack([photo[:20, :30], photo[20:40, :30]] * 3).reshape(3, 2, 20, 30, 3)
        files = ps.image.encode_png(images)
        assert files.shape == (3, 2)
        for file, image in zip(files.ravel(), images.reshape(6, 20, 30, 3), strict=True):
            np.testing.assert_array_equal(ps.image.decode_png(file), image)

    def test_an_image_without_rows_behind_one_another(self, photo):
        turned = photo.transpose(1, 0, 2)[::-1]
        np.testing.assert_array_equal(ps.image.decode_png(ps.image.encode_png(turned)), turned)

    @pytest.mark.parametrize(
        "shape", [(4, 4), (4, 4, 5), (4, 4, 0), (0, 4, 3), (4, 0, 3), (2, 0, 4, 3)]
    )
    def test_another_shape_is_refused(self, shape):
        with pytest.raises(ValueError, match=r"^encode_png: image must have shape \("):
            ps.image.encode_png(np.zeros(shape, np.uint8))

    def test_other_arguments_are_refused(self, photo):
        with pytest.raises(TypeError, match=r"^encode_png: image must be of uint8 or uint16"):
            ps.image.encode_png(photo.astype(np.float32))
        for compression in (-2, 10):
            with pytest.raises(ValueError, match=r"^encode_png: compression must be from -1 to 9"):
                ps.image.encode_png(photo, compression)

    def test_native(self, photo):
        assert_native(ps.image.encode_png, [photo, photo[::-1]])


class TestBroken:
    @pytest.mark.parametrize(
        ("contents", "message"),
        [
            (b"", "must be a PNG, got 0 bytes"),
            (b"\xff\xd8\xff\xe0", "must be a PNG, got a JPEG file"),
            (b"GIF89a", "must be a PNG, got a GIF file"),
            (SIGNATURE, "truncated: 8 bytes end within the header"),
            (SIGNATURE + header(3, 4, 8, 1), "corrupt: .* colour type 1"),
            (SIGNATURE + header(0, 4, 8, 2), "corrupt: the header says 0 rows"),
            (SIGNATURE + header(4, 0, 8, 2), "corrupt: the header says 4 rows, 0 columns"),
            (SIGNATURE + header(4, 2**31, 8, 2), "corrupt: the header says"),
            (SIGNATURE + header(4, 4, 3, 2), "corrupt or of an unsupported kind"),
            (SIGNATURE + header(4, 4, 8, 2)[:-1] + b"x", "corrupt or of an unsupported kind"),
            (SIGNATURE + header(4, 4, 8, 2) + chunk(b"IEND", b""), "corrupt or of an unsupp"),
        ],
    )
    def test_what_is_no_png_is_a_data_error(self, contents, message):
        with pytest.raises(ps.DataError, match=f"^decode_png: contents .*{message}"):
            ps.image.decode_png(contents)

    @pytest.mark.parametrize("interlaced", [False, True], ids=["plain", "interlaced"])
    def test_every_truncation_is_a_data_error(self, interlaced, capfd):
        contents = write(samples(RGB, 8), 8, RGB, interlaced=interlaced)
        for size in range(len(contents)):
            with pytest.raises(ps.DataError, match=r"^decode_png: contents "):
                ps.image.decode_png(contents[:size])
        assert capfd.readouterr() == ("", "")

    def test_a_truncated_file_tells_how_far_it_goes(self, photo):
        contents = ps.image.encode_png(photo)
        with pytest.raises(ps.DataError, match=r"truncated: \d+ bytes hold [1-9]\d* of 117 rows"):
            ps.image.decode_png(contents[: len(contents) // 2])

    def test_a_wrong_checksum_is_a_data_error(self, photo):
        contents = bytearray(ps.image.encode_png(photo))
        contents[-14] ^= 1  # of the data chunk
        with pytest.raises(ps.DataError, match=r"corrupt .* at byte \d+: .*CRC"):
            ps.image.decode_png(bytes(contents))

    def test_a_size_that_cannot_be_is_refused_before_memory_is_taken(self):
        contents = SIGNATURE + header(13000, 13000, 8, RGB) + chunk(b"IDAT", bytes(99))
        message = r"says 13000 x 13000 pixels, too many for 144 bytes"
        with pytest.raises(ps.DataError, match=message):
            ps.image.decode_png(contents)

    def test_too_many_pixels_are_refused(self):
        contents = SIGNATURE + header(20000, 20000, 1, GRAY) + chunk(b"IDAT", bytes(9))
        message = "says 20000 x 20000 pixels, at most 178956970 are decoded; max_pixels allows more"
        with pytest.raises(ps.DataError, match=message):
            ps.image.decode_png(contents)

    def test_the_limit_of_pixels_is_the_callers(self):
        contents = write(samples(RGB, 8), 8, RGB)
        assert ps.image.decode_png(contents, max_pixels=13 * 21).shape == (13, 21, 3)
        with pytest.raises(ps.DataError, match=r"at most 272 are decoded"):
            ps.image.decode_png(contents, max_pixels=13 * 21 - 1)
        with pytest.raises(ValueError, match=r"max_pixels must be >= 1, got 0"):
            ps.image.decode_png(contents, max_pixels=0)

    def test_a_text_that_unpacks_to_much_is_passed_over(self):
        bomb = chunk(b"zTXt", b"name\0\0" + zlib.compress(bytes(10**7), 9))
        stored = samples(RGB, 8)
        result = ps.image.decode_png(write(stored, 8, RGB, extra=bomb))
        np.testing.assert_array_equal(result, stored.astype(np.uint8))

    def test_more_data_than_rows_is_no_harm(self, photo):
        rows = zlib.compress(bytes(10**6))
        contents = SIGNATURE + header(2, 2, 8, GRAY) + chunk(b"IDAT", rows) + chunk(b"IEND", b"")
        try:
            assert ps.image.decode_png(contents).shape == (2, 2, 1)
        except ps.DataError as error:
            assert "decode_png" in str(error)  # noqa: PT017 - either is right

    @pytest.mark.parametrize(("kind", "depth"), [(GRAY, 1), (PALETTE, 4), (RGB_ALPHA, 16)])
    def test_random_damage_never_crashes_or_prints(self, kind, depth, capfd):
        rng = np.random.default_rng(4)
        for interlaced in (False, True):
            file = write(
                samples(kind, depth), depth, kind, palette_of(kind, depth), interlaced=interlaced
            )
            for _ in range(400):
                data = np.frombuffer(file, np.uint8).copy()
                places = rng.integers(0, len(data), rng.integers(1, 6))
                data[places] = rng.integers(0, 256, len(places))
                contents = with_checksums(data.tobytes()) if rng.random() < 0.7 else data.tobytes()
                try:
                    image = ps.image.decode_png(
                        contents, channels=int(rng.integers(0, 5)), max_pixels=10**6
                    )
                    assert image.ndim == 3
                except (ps.DataError, ValueError) as error:
                    assert "decode_png" in str(error)  # noqa: PT017 - either way is right
        assert capfd.readouterr() == ("", "")
