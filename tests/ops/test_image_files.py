"""Small files of many kinds (images/): decoded correctly, and safe when damaged."""

from pathlib import Path

import numpy as np
import pytest
from PIL import Image
from png_writer import with_checksums

import penstock as ps

pytestmark = pytest.mark.skipif(
    not all(ps.build_info()[codec]["native"] for codec in ("jpeg", "png")),
    reason="built without libjpeg or libpng",
)
FILES = sorted((Path(__file__).parent / "images").iterdir())
# The mode to request from Pillow, if it is not the file's mode.
MODES = {
    "cmyk.jpg": "RGB",
    "gray1.png": "L",
    "palette2_interlaced.png": "RGB",
    "palette4.png": "RGBA",
    "still.gif": "RGB",
}
DAMAGES = 250  # per file


def each_file(*endings):
    chosen = [path for path in FILES if path.suffix in endings]
    assert chosen
    return pytest.mark.parametrize("path", chosen, ids=lambda path: path.name)


@each_file(".jpg", ".png", ".bmp", ".gif", ".webp")
def test_pixels_are_pillows(path):
    contents = path.read_bytes()
    image = Image.open(path)
    expected = np.asarray(image.convert(MODES[path.name]) if path.name in MODES else image)
    if path.name == "gray16.png":
        expected = (expected >> 8).astype(np.uint8)
    if path.name == "rgba16_interlaced.png":
        expected = expected.astype(np.uint8)  # Pillow takes the upper bytes
    if path.suffix == ".jpg":
        result = ps.image.decode_jpeg(contents, dct_method="INTEGER_ACCURATE")
    else:
        result = ps.image.decode_image(contents, expand_animations=False)
    difference = np.abs(result.astype(int) - expected.reshape(result.shape))
    assert difference.max() <= (3 if path.suffix == ".jpg" else 0)


def test_the_orientation_of_a_camera_is_not_applied():
    path = Path(__file__).parent / "images" / "rotated.jpg"
    assert Image.open(path).getexif()[0x0112] == 6
    plain = (path.parent / "baseline.jpg").read_bytes()
    for function in (ps.image.decode_jpeg, ps.image.decode_image):
        np.testing.assert_array_equal(function(path.read_bytes()), function(plain))


@each_file(".jpg")
def test_windows_are_cropped_images(path):
    contents = path.read_bytes()
    whole = ps.image.decode_jpeg(contents)
    rng = np.random.default_rng(0)
    for _ in range(100):
        y, x = rng.integers(0, whole.shape[0]), rng.integers(0, whole.shape[1])
        h = rng.integers(1, whole.shape[0] - y, endpoint=True)
        w = rng.integers(1, whole.shape[1] - x, endpoint=True)
        window = ps.image.decode_and_crop_jpeg(contents, [y, x, h, w])
        np.testing.assert_array_equal(window, whole[y : y + h, x : x + w], str((y, x, h, w)))


@each_file(".jpg", ".png")
def test_every_truncation_is_a_data_error(path):
    contents = path.read_bytes()
    for size in range(len(contents)):
        with pytest.raises(ps.DataError, match=r"contents "):
            ps.image.decode_image(contents[:size])


def damaged(contents, rng):
    """Change, cut, repeat and drop bytes; most checksums of a PNG remain valid."""
    data = bytearray(contents)
    for _ in range(rng.integers(0, 6)):
        data[rng.integers(0, len(data))] = rng.integers(0, 256)
    if rng.random() < 0.2:
        start, end = np.sort(rng.integers(0, len(data), 2))
        piece = data[start:end]
        data[start:end] = piece + piece if rng.random() < 0.5 else b""
    if rng.random() < 0.1:
        del data[rng.integers(0, len(data)) :]
    data = bytes(data)
    return with_checksums(data) if data.startswith(b"\x89PNG") and rng.random() < 0.8 else data


@each_file(".jpg", ".png", ".bmp", ".gif", ".webp")
def test_damage_is_an_error_or_an_image(path, capfd):
    contents, rng = path.read_bytes(), np.random.default_rng(9)
    images = errors = 0
    for _ in range(DAMAGES):
        channels = int(rng.choice([0, 1, 3]))
        dtype = str(rng.choice(["uint8", "uint16", "float32"]))
        try:
            image = ps.image.decode_image(damaged(contents, rng), channels, dtype, max_pixels=10**6)
        except (ps.DataError, ValueError) as error:
            assert "contents " in str(error) or "channels" in str(error)  # noqa: PT017
            errors += 1
        else:
            assert image.dtype == dtype
            assert image.ndim in (3, 4)
            images += 1
    assert images
    assert errors
    assert capfd.readouterr() == ("", "")


def test_what_is_damaged_is_the_same_damage_in_a_native_function():
    rng = np.random.default_rng(10)
    files = [damaged(path.read_bytes(), rng) for path in FILES for _ in range(20)]
    files = [file for file in files if file.startswith((b"\xff\xd8\xff", b"\x89PNG\r\n\x1a\n"))]

    def outcome(function):
        it = iter(ps.Dataset.from_tensor_slices(files).map(function, num_parallel_calls=4))
        for _ in files:
            try:
                yield next(it).tobytes()
            except (ps.DataError, ValueError) as error:
                yield type(error)

    def decode(file):
        return ps.image.decode_image(file, max_pixels=10**6)

    assert list(outcome(ps.native(decode))) == list(outcome(decode))


def test_the_limit_of_pixels_of_a_jpeg(encode, photo):
    contents = encode(photo)
    assert ps.image.decode_jpeg(contents, max_pixels=117 * 203).shape == (117, 203, 3)
    for decode in (
        lambda: ps.image.decode_jpeg(contents, max_pixels=117 * 203 - 1),
        lambda: ps.image.decode_and_crop_jpeg(contents, [0, 0, 1, 1], max_pixels=9),
    ):
        with pytest.raises(
            ps.DataError, match=r"^decode_jpeg: .*203 x 117 pixels, at most \d+ are"
        ):
            decode()
    with pytest.raises(ValueError, match=r"max_pixels must be >= 1, got 0"):
        ps.image.decode_jpeg(contents, max_pixels=0)


def test_names_of_io_are_those_of_image():
    for name in ("decode_image", "decode_jpeg", "decode_png", "encode_jpeg", "encode_png"):
        assert getattr(ps.io, name) is getattr(ps.image, name)


def test_a_short_riff_is_told_by_its_bytes():
    for size in range(4, 12):
        with pytest.raises(ps.DataError, match=r"got bytes that start with 0x52 0x49"):
            ps.image.decode_jpeg(b"RIFF....WEB?"[:size])
