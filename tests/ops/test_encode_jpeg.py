"""image.encode_jpeg: files that Pillow and penstock can read, and their contents."""

import io

import numpy as np
import pytest
from PIL import Image, JpegImagePlugin

import penstock as ps
from native_contract import assert_native

pytestmark = pytest.mark.skipif(
    not ps.build_info()["jpeg"]["native"], reason="built without libjpeg"
)


def opened(contents):
    return Image.open(io.BytesIO(contents))


@pytest.mark.parametrize("channels", [1, 3])
@pytest.mark.parametrize("progressive", [False, True])
def test_pixels_come_back(photo, channels, progressive):
    smooth = photo[..., :channels] // 32 * 8
    contents = ps.image.encode_jpeg(smooth, quality=100, progressive=progressive)
    image = opened(contents)
    assert image.mode == {1: "L", 3: "RGB"}[channels]
    assert ("progressive" in image.info) == progressive
    result = ps.image.decode_jpeg(contents, dct_method="INTEGER_ACCURATE")
    assert result.shape == smooth.shape
    assert np.abs(result.astype(int) - smooth).mean() < 4


@pytest.mark.parametrize("options", [{}, {"quality": 30}, {"chroma_downsampling": False}])
def test_bytes_are_pillows(photo, options):
    contents = ps.image.encode_jpeg(photo, **options)
    file = io.BytesIO()
    subsampling = "4:2:0" if options.get("chroma_downsampling", True) else "4:4:4"
    settings = {"quality": options.get("quality", 95), "subsampling": subsampling}
    Image.fromarray(photo).save(file, "JPEG", dpi=(300, 300), **settings)
    expected = np.asarray(opened(file.getvalue())).astype(int)
    # The two libraries may have different versions.
    assert np.abs(np.asarray(opened(contents)) - expected).max() <= 2
    assert abs(len(contents) - len(file.getvalue())) < 100


def test_colour_is_stored_at_half_the_resolution_or_all_of_it(photo):
    sampling = JpegImagePlugin.get_sampling
    assert sampling(opened(ps.image.encode_jpeg(photo))) == 2
    assert sampling(opened(ps.image.encode_jpeg(photo, chroma_downsampling=False))) == 0


def test_quality_and_optimizing_count(photo):
    sizes = [len(ps.image.encode_jpeg(photo, quality=quality)) for quality in (0, 50, 100)]
    assert sizes[0] < sizes[1] < sizes[2]
    optimized = ps.image.encode_jpeg(photo, optimize_size=True)
    plain = ps.image.encode_jpeg(photo)
    assert len(optimized) < len(plain)
    np.testing.assert_array_equal(opened(optimized), opened(plain))


@pytest.mark.parametrize(("unit", "number"), [("in", 1), ("cm", 2)])
def test_densities_are_stored(photo, unit, number):
    contents = ps.image.encode_jpeg(photo, density_unit=unit, x_density=70, y_density=65535)
    info = opened(contents).info
    assert info["jfif_unit"] == number
    assert info["jfif_density"] == (70, 65535)


def test_xmp_is_stored(photo):
    text = "<x:xmpmeta>ä</x:xmpmeta>"
    assert opened(ps.image.encode_jpeg(photo, xmp_metadata=text)).info["xmp"] == text.encode()
    longest = "x" * 65504
    assert opened(ps.image.encode_jpeg(photo, xmp_metadata=longest)).info["xmp"] == longest.encode()
    with pytest.raises(ValueError, match=r"xmp_metadata must have at most 65504 bytes, got 65505"):
        ps.image.encode_jpeg(photo, xmp_metadata=longest + "x")


@pytest.mark.parametrize(
    ("argument", "value"),
    [
        ("quality", -1),
        ("quality", 101),
        ("format", "cmyk"),
        ("density_unit", "m"),
        ("x_density", 0),
        ("y_density", 65536),
    ],
)
def test_a_wrong_argument_is_named(photo, argument, value):
    with pytest.raises(ValueError, match=rf"^encode_jpeg: {argument} must be .*, got '?{value}"):
        ps.image.encode_jpeg(photo, **{argument: value})


@pytest.mark.parametrize("shape", [(4, 4), (4, 4, 2), (4, 4, 4), (2, 4, 4, 3)])
def test_another_shape_is_refused(shape):
    with pytest.raises(ValueError, match=r"^encode_jpeg: image must have shape \(height, width"):
        ps.image.encode_jpeg(np.zeros(shape, np.uint8))


def test_the_format_decides_the_channels(photo):
    assert ps.image.encode_jpeg(photo, "rgb") == ps.image.encode_jpeg(photo)
    with pytest.raises(ValueError, match=r"shape \(height, width, 1\), got \(117, 203, 3\)"):
        ps.image.encode_jpeg(photo, "grayscale")
    with pytest.raises(ValueError, match=r"shape \(height, width, 3\), got \(117, 203, 1\)"):
        ps.image.encode_jpeg(photo[..., :1], "rgb")


@pytest.mark.parametrize("shape", [(0, 4, 3), (4, 0, 3), (1, 65501, 1), (65501, 1, 1)])
def test_sizes_that_no_jpeg_has_are_refused(shape):
    with pytest.raises(ValueError, match=r"^encode_jpeg: image must have from 1 to 65500 rows"):
        ps.image.encode_jpeg(np.zeros(shape, np.uint8))


def test_the_largest_side():
    contents = ps.image.encode_jpeg(np.zeros((1, 65500, 1), np.uint8))
    assert ps.image.extract_jpeg_shape(contents).tolist() == [1, 65500, 1]


def test_another_type_is_refused(photo):
    with pytest.raises(TypeError, match=r"^encode_jpeg: image must be of uint8, got float64"):
        ps.image.encode_jpeg(photo / 255)


def test_native(photo):
    assert_native(ps.image.encode_jpeg, [photo, photo[::-1]])
