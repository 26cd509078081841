"""An index of MCUs: a JPEG as before for all, whose windows have the same pixels for less work."""

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
SEGMENT = b"\xff\xef"
MAGIC = b"penstock index of MCUs 1\0"
KINDS = {
    "4:4:4": {"subsampling": "4:4:4"},
    "4:2:2": {"subsampling": "4:2:2"},
    "4:2:0": {"subsampling": "4:2:0"},
    "gray": {},
    "CMYK": {},
    "optimized": {"optimize": True},
    "restarts within rows": {"restart_marker_blocks": 3},
    "restarts across rows": {"restart_marker_blocks": 29},
    "restarts by rows": {"restart_marker_rows": 1},
}


@pytest.fixture(params=KINDS)
def pair(request, photo, encode):
    """Return a JPEG and the same with an index."""
    image = photo[..., :1] if request.param == "gray" else photo
    if request.param == "CMYK":
        file = io.BytesIO()
        Image.fromarray(photo).convert("CMYK").save(file, "JPEG", quality=92)
        contents = file.getvalue()
    else:
        contents = encode(image, **KINDS[request.param])
    indexed = ps.image.index_jpeg(contents)
    assert MAGIC in indexed
    return contents, indexed


def windows(count, height=117, width=203):
    """Return random windows, and those at the edges."""
    rng = np.random.default_rng(0)
    found = [[0, 0, height, 1], [height - 1, 0, 1, width], [0, width - 1, height, 1], [0, 0, 1, 1]]
    found += [[height - 1, width - 1, 1, 1], [0, 0, height, width]]
    for _ in range(count):
        h, w = rng.integers(1, height + 1), rng.integers(1, width + 1)
        found.append([rng.integers(0, height - h + 1), rng.integers(0, width - w + 1), h, w])
    return found


def assert_same(contents, indexed, window, **options):
    np.testing.assert_array_equal(
        ps.image.decode_and_crop_jpeg(indexed, window, **options),
        ps.image.decode_and_crop_jpeg(contents, window, **options),
        f"{window} {options}",
    )


class TestPixels:
    @pytest.mark.parametrize("channels", [0, 1, 3])
    def test_of_windows_are_those_of_the_jpeg(self, pair, channels):
        contents, indexed = pair
        if channels == 1 and b"Adobe" in contents:
            channels = 3  # CMYK has no single channel
        for window in windows(100):
            assert_same(contents, indexed, window, channels=channels)

    @pytest.mark.parametrize("ratio", [1, 2, 4, 8])
    @pytest.mark.parametrize("fancy", [True, False], ids=["fancy", "plain"])
    def test_of_windows_at_any_size(self, pair, ratio, fancy):
        contents, indexed = pair
        for window in windows(20, -(-117 // ratio), -(-203 // ratio)):
            for method in ("INTEGER_FAST", "INTEGER_ACCURATE"):
                options = {"ratio": ratio, "fancy_upscaling": fancy, "dct_method": method}
                assert_same(contents, indexed, window, **options)

    def test_of_the_whole_are_those_of_the_jpeg(self, pair):
        contents, indexed = pair
        for decode in (ps.image.decode_jpeg, ps.image.decode_image):
            np.testing.assert_array_equal(decode(indexed), decode(contents))

    @pytest.mark.parametrize("density", [0, 0.02, 0.3, 1])
    def test_of_any_coefficients(self, density):
        factors = [(2, 2), (1, 1), (1, 1)]
        for seed in range(5):
            rng = np.random.default_rng(seed)
            blocks = [jpeg_writer.draw_blocks(rng, 5 * v, 17 * h, density) for h, v in factors]
            contents = jpeg_writer.write(blocks, (80, 272), factors)
            indexed = ps.image.index_jpeg(contents)
            assert (MAGIC in indexed) == (density > 0)  # which is small
            for window in windows(20, 80, 272):
                assert_same(contents, indexed, window)

    def test_in_native_functions(self, pair):
        contents, indexed = pair
        assert_native(ps.image.index_jpeg, [contents, b"text"])

        @ps.native
        def crop(one):
            return ps.image.random_crop(ps.image.decode_jpeg(one, channels=3), [30, 40, 3], seed=7)

        crops = [ps.Dataset.from_tensor_slices([one] * 20).map(crop) for one in (indexed, contents)]
        for a, b in zip(*crops, strict=True):
            np.testing.assert_array_equal(a, b)


class TestIndex:
    @pytest.mark.parametrize("quality", [1, 10, 30, 75, 92, 100])
    def test_takes_at_most_the_bytes_that_are_promised(self, photo, encode, quality):
        contents = encode(np.tile(photo, (2, 3, 1)), quality=quality)
        indexed = ps.image.index_jpeg(contents)
        assert len(indexed) <= 1.05 * len(contents)
        assert (MAGIC in indexed) == (quality > 1)
        for window in windows(10, 234, 609):
            assert_same(contents, indexed, window)

    def test_is_one_segment_of_wide_images_too(self):
        noise = np.random.default_rng(0).integers(0, 256, (600, 5000, 1)).astype(np.uint8)
        contents = ps.image.encode_jpeg(np.tile(noise, (3, 1, 1)), quality=95)
        indexed = ps.image.index_jpeg(contents)
        assert 30_000 < len(indexed) - len(contents) <= 0xFFFF + 2
        for window in windows(10, 1800, 5000):
            assert_same(contents, indexed, window)

    def test_other_programs_read_the_jpeg_as_before(self, pair):
        contents, indexed = pair
        a, b = (np.asarray(Image.open(io.BytesIO(one))) for one in pair)
        np.testing.assert_array_equal(a, b)
        at = indexed.index(SEGMENT)
        size = 2 + int.from_bytes(indexed[at + 2 : at + 4], "big")
        assert indexed[:at] + indexed[at + size :] == contents
        assert ps.image.is_jpeg(indexed)
        np.testing.assert_array_equal(
            ps.image.extract_jpeg_shape(indexed), ps.image.extract_jpeg_shape(contents)
        )

    def test_is_made_once(self, pair):
        assert ps.image.index_jpeg(pair[1]) == pair[1]

    def test_of_a_file_that_was_changed_is_made_again(self, photo, encode, pair):
        _, indexed = pair
        at = indexed.index(SEGMENT)
        size = 2 + int.from_bytes(indexed[at + 2 : at + 4], "big")
        other = encode(photo[::-1, ::-1])
        scan = other.index(b"\xff\xda")
        stale = other[:scan] + indexed[at : at + size] + other[scan:]
        for window in windows(20):
            assert_same(other, stale, window)
        assert ps.image.index_jpeg(stale) == ps.image.index_jpeg(other)

    def test_stays_in_what_is_stored(self, pair):
        contents, indexed = pair
        stored = ps.image.jpeg_coefficients(indexed)
        assert ps.image.index_jpeg(stored) == stored
        for window in windows(10):
            assert_same(contents, stored, window)


class TestDamage:
    """What is said of a damaged file is what is said of it without an index."""

    def test_changes_the_same_pixels(self, photo, encode):
        contents = encode(photo)
        indexed = ps.image.index_jpeg(contents)
        scan = contents.index(b"\xff\xda")
        more = len(indexed) - len(contents)
        rng = np.random.default_rng(5)
        for window in windows(300):
            at, bit = rng.integers(len(contents)), 1 << rng.integers(8)
            damaged = [
                bytes([*one[:where], one[where] ^ bit, *one[where + 1 :]])
                for one, where in ((contents, at), (indexed, at + more * (at >= scan)))
            ]
            a, b = (outcome(one, window) for one in damaged)
            assert type(a) is type(b)
            np.testing.assert_array_equal(a, b)

    def test_of_the_index_alone_changes_nothing(self, photo, encode):
        contents = encode(photo)
        indexed = ps.image.index_jpeg(contents)
        scan = contents.index(b"\xff\xda")
        segment = range(scan + 4, scan + len(indexed) - len(contents))
        found = windows(20)
        for at in segment[::7]:
            damaged = indexed[:at] + bytes([indexed[at] ^ 0x55]) + indexed[at + 1 :]
            assert_same(contents, damaged, found[at % 20])

    def test_truncation_is_the_same_error(self, pair):
        contents, indexed = pair
        more = len(indexed) - len(contents)
        scan = contents.index(b"\xff\xda")
        for size in range(scan, len(contents), 97):
            a = outcome(contents[:size], [20, 30, 50, 60])
            b = outcome(indexed[: size + more], [20, 30, 50, 60])
            assert type(a) is type(b)


def outcome(contents, window):
    """Return the pixels, or the error's text without the number of bytes."""
    try:
        return ps.image.decode_and_crop_jpeg(contents, window)
    except (ps.DataError, ValueError) as error:
        return str(error).replace(str(len(contents)), "n")
