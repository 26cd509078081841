"""Stored coefficients: the pixels of the JPEG, from all that decodes it, and errors for damage."""

import io

import jpeg_writer
import numpy as np
import pytest
from PIL import Image

import penstock as ps
from native_contract import assert_native
from penstock import _core

pytestmark = pytest.mark.skipif(
    not _core.build_info()["jpeg"]["version"].startswith("libjpeg-turbo"),
    reason="built without libjpeg-turbo",
)
STORED = b"\xff\xd8\xff\xef"


@pytest.fixture(params=["4:4:4", "4:2:2", "4:2:0", "gray", "restarts", "optimized"])
def pair(request, photo, encode):
    """Return a JPEG and its coefficients."""
    image = photo[..., :1] if request.param == "gray" else photo
    options = {"restarts": {"restart_marker_blocks": 3}, "optimized": {"optimize": True}}
    options |= {"gray": {}}
    contents = encode(image, **options.get(request.param, {"subsampling": request.param}))
    stored = ps.image.jpeg_coefficients(contents)
    assert stored.startswith(STORED)
    return contents, stored


class TestPixels:
    @pytest.mark.parametrize("channels", [0, 1, 3])
    @pytest.mark.parametrize("ratio", [1, 2, 4, 8])
    @pytest.mark.parametrize("fancy", [True, False], ids=["fancy", "plain"])
    def test_are_those_of_the_jpeg(self, pair, channels, ratio, fancy):
        contents, stored = pair
        options = {"channels": channels, "ratio": ratio, "fancy_upscaling": fancy}
        for method in ("INTEGER_FAST", "INTEGER_ACCURATE"):
            np.testing.assert_array_equal(
                ps.image.decode_jpeg(stored, dct_method=method, **options),
                ps.image.decode_jpeg(contents, dct_method=method, **options),
            )

    def test_of_windows_are_those_of_the_jpeg(self, pair):
        contents, stored = pair
        rng = np.random.default_rng(0)
        for _ in range(100):
            h, w = rng.integers(1, 118), rng.integers(1, 204)
            window = [rng.integers(0, 118 - h), rng.integers(0, 204 - w), h, w]
            np.testing.assert_array_equal(
                ps.image.decode_and_crop_jpeg(stored, window),
                ps.image.decode_and_crop_jpeg(contents, window),
                str(window),
            )

    @pytest.mark.parametrize("density", [0, 0.02, 0.3, 1])
    def test_of_any_coefficients(self, density):
        factors = [(2, 2), (1, 1), (1, 1)]
        for seed in range(5):
            rng = np.random.default_rng(seed)
            blocks = [jpeg_writer.draw_blocks(rng, 5 * v, 7 * h, density) for h, v in factors]
            contents = jpeg_writer.write(blocks, (80, 112), factors)
            stored = ps.image.jpeg_coefficients(contents)
            np.testing.assert_array_equal(
                ps.image.decode_jpeg(stored), ps.image.decode_jpeg(contents)
            )

    @pytest.mark.parametrize("quality", [1, 30, 75, 90, 97, 100])
    def test_take_at_most_the_bytes_that_are_promised(self, photo, encode, quality):
        contents = encode(photo, quality=quality)
        stored = ps.image.jpeg_coefficients(contents)
        assert stored.startswith(STORED) or quality == 1  # which hardly has anything but headers
        assert len(stored) <= 1.6 * len(contents)
        np.testing.assert_array_equal(ps.image.decode_jpeg(stored), ps.image.decode_jpeg(contents))

    def test_in_native_functions(self, pair):
        contents, _ = pair
        assert_native(ps.image.jpeg_coefficients, [contents, b"text"])
        ds = ps.Dataset.from_tensor_slices([contents] * 3).map(
            ps.native(ps.image.jpeg_coefficients)
        )
        for stored in ds.map(ps.native(ps.image.decode_jpeg)):
            np.testing.assert_array_equal(stored, ps.image.decode_jpeg(contents))


class TestWhatStaysAsItIs:
    def test_stored_coefficients(self, pair):
        assert ps.image.jpeg_coefficients(pair[1]) == pair[1]

    def test_a_small_jpeg_that_would_grow(self):
        blocks = np.random.default_rng(0).integers(-60, 60, (1, 1, 64))
        contents = jpeg_writer.write([blocks], (8, 8), [(1, 1)])
        stored = ps.image.jpeg_coefficients(contents)
        assert stored == contents or len(stored) <= 1.6 * len(contents)

    def test_damaged_ones(self, photo, encode):
        contents = encode(photo)
        rng = np.random.default_rng(2)
        for _ in range(100):
            data = bytearray(contents)
            data[rng.integers(700, len(data) - 2)] = 0xFF
            stored = ps.image.jpeg_coefficients(bytes(data))
            np.testing.assert_array_equal(
                ps.image.decode_jpeg(stored), ps.image.decode_jpeg(bytes(data))
            )


class TestContents:
    def test_headers_are_read_as_those_of_the_jpeg(self, pair):
        contents, stored = pair
        assert ps.image.is_jpeg(stored)
        np.testing.assert_array_equal(
            ps.image.extract_jpeg_shape(stored), ps.image.extract_jpeg_shape(contents)
        )
        np.testing.assert_array_equal(
            ps.image.decode_image(stored), ps.image.decode_image(contents)
        )

    def test_other_programs_refuse_them(self, pair):
        with pytest.raises(OSError):
            Image.open(io.BytesIO(pair[1])).load()


class TestDamage:
    def test_every_changed_byte_is_a_data_error(self, photo, encode):
        stored = ps.image.jpeg_coefficients(encode(photo[:40, :40]))
        whole = ps.image.decode_jpeg(stored)
        for place in range(len(stored)):
            data = stored[:place] + bytes([stored[place] ^ 0x55]) + stored[place + 1 :]
            with pytest.raises((ps.DataError, ValueError)):
                assert not np.array_equal(ps.image.decode_jpeg(data), whole)

    def test_every_truncation_is_a_data_error(self, pair):
        stored = pair[1]
        for size in [*range(0, len(stored), 97), len(stored) - 1]:
            with pytest.raises(
                ps.DataError, match=r"decode_jpeg: contents .*(trunc|corrupt|bytes)"
            ):
                ps.image.decode_jpeg(stored[:size])

    def test_the_error_says_what_to_do(self, pair):
        with pytest.raises(ps.DataError, match=r"the checksum .* store them again"):
            ps.image.decode_jpeg(pair[1] + b"\0")
