"""image.decode_image: files of all kinds to all types, with Pillow as the fallback codec."""

import io

import numpy as np
import pytest
from PIL import Image

import penstock as ps
from native_contract import assert_native
from penstock.ops.image import pillow

pytestmark = pytest.mark.skipif(
    not all(ps.build_info()[codec]["native"] for codec in ("jpeg", "png")),
    reason="built without libjpeg or libpng",
)
TYPES = ["uint8", "uint16", "int32", "float16", "float32", "float64"]


def saved(image, kind, **options):
    file = io.BytesIO()
    image = image if isinstance(image, Image.Image) else Image.fromarray(image)
    image.save(file, kind, **options)
    return file.getvalue()


def frames(count=3):
    rng = np.random.default_rng(8)
    return [Image.fromarray(rng.integers(0, 256, (14, 15, 3), np.uint8)) for _ in range(count)]


class TestJpegAndPng:
    @pytest.mark.parametrize("dtype", TYPES)
    def test_a_jpeg_of_any_type(self, photo, encode, dtype):
        contents = encode(photo)
        image = ps.image.decode_jpeg(contents)
        result = ps.image.decode_image(contents, dtype=dtype)
        through = {"int32": "uint16", "float64": "uint16", "float16": "float32"}.get(dtype, "uint8")
        source = ps.image.convert_image_dtype(image, through)
        np.testing.assert_array_equal(result, ps.image.convert_image_dtype(source, dtype))
        assert result.dtype == dtype

    @pytest.mark.parametrize("dtype", TYPES)
    @pytest.mark.parametrize("stored", ["uint8", "uint16"])
    def test_a_png_of_any_type(self, stored, dtype):
        image = np.random.default_rng(1).integers(0, np.iinfo(stored).max, (9, 8, 3), stored)
        contents = ps.image.encode_png(image)
        base = ps.image.decode_png(contents, dtype="uint8" if dtype == "uint8" else "uint16")
        if dtype == "float16":
            base = ps.image.convert_image_dtype(base, np.float32)
        result = ps.image.decode_image(contents, dtype=dtype)
        np.testing.assert_array_equal(result, ps.image.convert_image_dtype(base, dtype))
        assert result.dtype == dtype

    def test_values_are_tensorflows(self):
        contents = ps.image.encode_png(np.array([[[0, 127, 128], [255, 4736, 65408]]], np.uint16))
        expected = [0, 0.001937895780429244, 0.0019531548023223877, 0.0038910505827516317]
        result = ps.image.decode_image(contents, dtype=np.float32)
        assert result.ravel()[:4].tolist() == expected
        assert ps.image.decode_image(contents).ravel().tolist() == [0, 0, 0, 0, 18, 255]

    @pytest.mark.parametrize("channels", [None, 0, 1, 3])
    def test_channels(self, photo, encode, channels):
        jpeg, png = encode(photo), ps.image.encode_png(photo)
        wanted = channels or 0
        np.testing.assert_array_equal(
            ps.image.decode_image(jpeg, channels), ps.image.decode_jpeg(jpeg, wanted)
        )
        np.testing.assert_array_equal(
            ps.image.decode_image(png, channels), ps.image.decode_png(png, wanted)
        )

    @pytest.mark.parametrize("dtype", TYPES)
    def test_an_image_without_alpha_is_opaque(self, photo, encode, dtype):
        for contents in (encode(photo), ps.image.encode_png(photo), saved(photo, "BMP")):
            image = ps.image.decode_image(contents, 4, dtype)
            colours = ps.image.decode_image(contents, 3, dtype)
            assert image.dtype == dtype
            np.testing.assert_array_equal(image[..., :3], colours)
            assert (image[..., 3] == image[0, 0, 3]).all()
            assert image[0, 0, 3] >= colours.max()

    @pytest.mark.parametrize("contents_of", [bytearray, memoryview])
    def test_contents_in_a_buffer(self, photo, encode, contents_of):
        contents = encode(photo)
        buffer = contents_of(contents)
        decoded = ps.image.decode_image(contents)
        np.testing.assert_array_equal(ps.image.decode_image(buffer), decoded)
        np.testing.assert_array_equal(ps.image.decode_jpeg(buffer), decoded)
        assert ps.image.is_jpeg(buffer)
        assert ps.io.decode_raw(contents_of(b"abc"), np.uint8).tolist() == [97, 98, 99]

    def test_wrong_arguments_are_refused(self, photo, encode):
        with pytest.raises(ValueError, match=r"^decode_image: channels must be 0, 1, 3 or 4"):
            ps.image.decode_image(encode(photo), 2)
        with pytest.raises(TypeError, match=r"^decode_image: dtype must be an integer or flo"):
            ps.image.decode_image(encode(photo), dtype=bool)
        with pytest.raises(TypeError, match=r"^decode_image: contents must be bytes"):
            ps.image.decode_image("text")

    @pytest.mark.parametrize("contents", [b"", b"<html>", b"RIFF....WAVE", b"\x89PNG", b"\xff\xd8"])
    def test_what_is_no_image_is_a_data_error(self, contents):
        with pytest.raises(
            ps.DataError, match=r"^decode_image: contents must be a JPEG, PNG, GIF, BMP or "
        ):
            ps.image.decode_image(contents)

    def test_the_limit_of_pixels(self, photo, encode):
        for contents in (encode(photo), ps.image.encode_png(photo), saved(photo, "GIF")):
            assert ps.image.decode_image(contents, max_pixels=117 * 203).shape[-1] == 3
            with pytest.raises(ps.DataError, match=r"203 x 117 pixels, at most 9 are decoded"):
                ps.image.decode_image(contents, max_pixels=9)

    @pytest.mark.parametrize("dtype", ["uint8", "float32"])
    def test_native(self, photo, encode, dtype):
        files = [encode(photo), ps.image.encode_png(photo), encode(photo[:50])]
        assert_native(lambda file: ps.image.decode_image(file, dtype=dtype), files)

        def part(file):
            image = ps.image.decode_image(file, dtype=dtype)
            return ps.image.crop_to_bounding_box(image, 3, 4, 30, 20)

        assert_native(part, files)


class TestPillow:
    @pytest.mark.parametrize("kind", ["GIF", "WEBP"])
    @pytest.mark.parametrize("count", [1, 3])
    def test_animations(self, kind, count):
        images = frames(count)
        options = {"lossless": True} if kind == "WEBP" else {}
        contents = saved(images[0], kind, save_all=True, append_images=images[1:], **options)
        result = ps.image.decode_image(contents)
        assert result.shape == (count, 14, 15, 3)
        assert result.dtype == np.uint8
        first = ps.image.decode_image(contents, expand_animations=False)
        np.testing.assert_array_equal(first, result[0])
        if kind == "WEBP":
            np.testing.assert_array_equal(result, [np.asarray(image) for image in images])

    @pytest.mark.parametrize("dtype", TYPES)
    def test_a_bmp_of_any_type(self, photo, dtype):
        result = ps.image.decode_image(saved(photo, "BMP"), dtype=dtype)
        assert result.dtype == dtype
        unit = ps.image.convert_image_dtype(result, np.float64)
        np.testing.assert_allclose(unit, photo / 255, atol=1e-2)
        if dtype == "uint8":
            np.testing.assert_array_equal(result, photo)

    @pytest.mark.parametrize("channels", [1, 3, 4])
    def test_channels(self, photo, channels):
        assert ps.image.decode_image(saved(photo, "BMP"), channels).shape == (117, 203, channels)
        with pytest.raises(ValueError, match=r"^decode_image: channels must be 0, 1, 3 or 4"):
            ps.image.decode_image(saved(photo, "BMP"), 2)

    @pytest.mark.parametrize("kind", ["GIF", "BMP", "WEBP", "animation"])
    def test_every_truncation_is_a_data_error_or_an_image(self, kind):
        first, *others = frames(1 if kind != "animation" else 3)
        more = {"save_all": True, "append_images": others} if others else {}
        contents = saved(first, "GIF" if others else kind, **more)
        for size in range(4, len(contents), 7):
            try:
                assert ps.image.decode_image(contents[:size]).shape[-1] == 3
            except ps.DataError as error:
                assert "decode_image: contents " in str(error)  # noqa: PT017 - either is right

    @pytest.mark.parametrize("dtype", ["uint8", "float32", "float16"])
    @pytest.mark.parametrize("expand", [False, True])
    def test_native(self, photo, encode, dtype, expand):
        pictures = frames(3)
        files = [
            saved(photo, "BMP"),
            saved(pictures[0], "GIF", save_all=True, append_images=pictures[1:]),
            saved(photo, "WEBP"),
            encode(photo),
        ]

        def decode(file):
            return ps.image.decode_image(file, 3, dtype, expand_animations=expand)

        assert_native(decode, files)
        assert_native(lambda file: ps.image.resize(decode(file), (5, 6)), files)

    def test_native_crops_and_shapes(self, photo, encode):
        files = [saved(photo, "BMP"), encode(photo), saved(photo[:80], "WEBP")]

        def middle(file):
            image = ps.image.decode_image(file, 3, expand_animations=False)
            height = ps.shape(image)[0]
            cropped = ps.image.crop_to_bounding_box(image, height // 4, 3, 20, 30)
            return ps.image.resize(cropped, (7, 7)) / 255

        assert_native(middle, files)

    def test_many_threads_of_native_functions(self, photo):
        files = [saved(photo[i:], "WEBP", lossless=True) for i in range(40)]
        decode = ps.native(lambda file: ps.image.decode_image(file, expand_animations=False))
        loaded = ps.Dataset.from_tensor_slices(np.array(files, object)).map(decode, 8).prefetch(2)
        for i, image in enumerate(loaded):
            np.testing.assert_array_equal(image, photo[i:])
        next(iter(loaded))  # an iterator that is dropped while its threads wait for the GIL

    def test_errors_in_native_functions(self, tmp_path, photo):
        contents = saved(photo, "WEBP")
        bad, good = tmp_path / "bad.jpg", tmp_path / "good.jpg"
        bad.write_bytes(contents[:50])
        good.write_bytes(contents)
        seen = []
        load = ps.native(lambda path: ps.image.decode_image(ps.io.read_file(path)))
        paths = ps.Dataset.from_tensor_slices([str(bad), str(good)])
        loaded = paths.map(load, 2, on_error=lambda error, info: seen.append((error, info.file)))
        assert [image.shape for image in loaded] == [(1, *photo.shape)]
        ((error, file),) = seen
        assert isinstance(error, ps.DataError)
        assert "decode_image: contents are corrupt or" in str(error)
        assert file == str(bad)

    def test_tracing_knows_the_rank_unless_animations_are_expanded(self, photo):
        source = ps.Dataset.from_tensors(saved(photo, "BMP"))

        def spec(expand):
            decode = ps.native(lambda b: ps.image.decode_image(b, 3, expand_animations=expand))
            return source.map(decode).element_spec

        assert spec(False).shape == (None, None, 3)
        assert spec(True).shape == (None, None, None)  # the rank of the first image

    def test_without_pillow_the_error_says_how_to_get_it(self, photo, monkeypatch):
        monkeypatch.setattr(pillow, "is_installed", lambda: False)
        with pytest.raises(RuntimeError, match=r"^decode_image: .* need Pillow; run: pip inst"):
            ps.image.decode_image(saved(photo, "BMP"))


class TestWithoutCodec:
    @pytest.fixture(autouse=True)
    def no_codec(self, monkeypatch):
        missing = {"native": False, "version": ""}
        info = {**ps.build_info(), "jpeg": missing, "png": missing}
        monkeypatch.setattr(pillow._core, "build_info", lambda: info)

    @pytest.mark.parametrize("mode", ["1", "L", "LA", "P", "RGB", "RGBA"])
    @pytest.mark.parametrize("channels", [0, 1, 2, 3, 4])
    def test_png(self, photo, mode, channels):
        contents = saved(Image.fromarray(photo).convert(mode), "PNG")
        result = ps.image.decode_png(contents, channels)
        native = ps.native(lambda file: ps.image.decode_png(file, channels))
        (expected,) = ps.Dataset.from_tensors(contents).map(native)
        assert result.shape == expected.shape
        assert np.abs(result.astype(int) - expected).max() <= 1  # gray is rounded differently

    def test_png_of_16_bits(self):
        image = np.arange(0, 60000, 1000, np.uint16).reshape(6, 10, 1)
        contents = saved(Image.fromarray(image[..., 0]), "PNG")
        np.testing.assert_array_equal(ps.image.decode_png(contents, dtype=np.uint16), image)
        np.testing.assert_array_equal(ps.image.decode_png(contents), image >> 8)
        assert ps.image.encode_png(image[:1])[:4] == b"\x89PNG"

    @pytest.mark.parametrize("channels", [0, 1, 3])
    def test_jpeg(self, photo, encode, channels):
        contents = encode(photo)
        result = ps.image.decode_jpeg(contents, channels)
        native = ps.native(
            lambda c: ps.image.decode_jpeg(c, channels, dct_method="INTEGER_ACCURATE")
        )
        (expected,) = ps.Dataset.from_tensors(contents).map(native)
        assert result.shape == expected.shape
        assert np.abs(result.astype(int) - expected).mean() < 2
        window = ps.image.decode_and_crop_jpeg(contents, [3, 4, 50, 60], channels)
        np.testing.assert_array_equal(window, result[3:53, 4:64])

    def test_encoders(self, photo):
        np.testing.assert_array_equal(ps.image.decode_png(ps.image.encode_png(photo)), photo)
        jpeg = ps.image.encode_jpeg(photo, quality=100, chroma_downsampling=False)
        assert np.abs(ps.image.decode_jpeg(jpeg).astype(int) - photo).max() < 8

    def test_decode_image(self, photo):
        contents = saved(photo, "PNG")
        np.testing.assert_array_equal(ps.image.decode_image(contents), photo)
        assert ps.image.decode_image(contents, dtype=np.float32).max() <= 1

    def test_what_pillow_cannot_do_is_refused(self, photo, encode):
        with pytest.raises(RuntimeError, match=r"^decode_jpeg: ratio and try_recover_trunc"):
            ps.image.decode_jpeg(encode(photo), ratio=2)

    def test_errors(self, photo, encode):
        for function, contents in (
            (ps.image.decode_jpeg, encode(photo)),
            (ps.image.decode_png, saved(photo, "PNG")),
        ):
            name = function.__name__
            for broken in (b"", b"nothing", contents[:100], contents[: len(contents) // 2]):
                with pytest.raises(ps.DataError, match=rf"^{name}: contents "):
                    function(broken)
            with pytest.raises(ps.DataError, match=rf"^{name}: contents .*at most 9 are decoded"):
                function(contents, max_pixels=9)
            with pytest.raises(TypeError, match=rf"^{name}: contents must be bytes, got str"):
                function("text")
