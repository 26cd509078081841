"""image.resize by each filter: against weights in NumPy, Pillow, and TensorFlow's results."""

import numpy as np
import pytest
from PIL import Image

import penstock as ps
from native_contract import assert_native

SIZES = [(20, 20), (37, 53), (74, 106), (5, 90), (111, 7), (1, 1)]
NUMBERS = ["int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64"]
FLOATS = ["float16", "float32", "float64"]


def image_of(shape, dtype="uint8"):
    return np.random.default_rng(0).integers(0, 100, shape).astype(dtype)


def keys(x):
    near, far = (1.5 * x - 2.5) * x * x + 1, ((-0.5 * x + 2.5) * x - 4) * x + 2
    return np.where(x < 1, near, np.where(x < 2, far, 0))


def mitchell(x):
    near = (7 * x**3 - 12 * x**2 + 16 / 3) / 6
    far = (-7 / 3 * x**3 + 12 * x**2 - 20 * x + 32 / 3) / 6
    return np.where(x < 1, near, np.where(x < 2, far, 0))


# Radius, and weight by distance, of each filter.
KERNELS = {
    "bilinear": (1, lambda x: np.maximum(0, 1 - x)),
    "bicubic": (2, keys),
    "mitchellcubic": (2, mitchell),
    "lanczos3": (3, lambda x: np.where(x < 3, np.sinc(x) * np.sinc(x / 3), 0)),
    "lanczos5": (5, lambda x: np.where(x < 5, np.sinc(x) * np.sinc(x / 5), 0)),
    "gaussian": (1.5, lambda x: np.where(x < 1.5, np.exp(-2 * x * x), 0)),
}


def weights(method, antialias, old, new):
    """Return the matrix from a row of `old` values to one of `new`, float64."""
    if method == "area":
        edges = np.arange(new + 1) * old / new
        inside = np.minimum.outer(edges[1:], np.arange(1, old + 1)) - np.maximum.outer(
            edges[:-1], np.arange(old)
        )
        return np.maximum(inside, 0) * new / old
    _, kernel = KERNELS[method]
    widening = max(old / new, 1) if antialias else 1
    center = (np.arange(new) + 0.5) * old / new
    matrix = kernel(np.abs(np.arange(old) + 0.5 - center[:, None]) / widening)
    return matrix / matrix.sum(1, keepdims=True)


def expected(image, size, method, antialias):
    rows = weights(method, antialias, image.shape[0], size[0])
    columns = weights(method, antialias, image.shape[1], size[1])
    return np.einsum("yi,xj,ijc->yxc", rows, columns, image.astype(np.float64))


@pytest.mark.parametrize("antialias", [False, True])
@pytest.mark.parametrize("method", [*KERNELS, "area"])
@pytest.mark.parametrize("channels", [1, 2, 3, 4, 5])
def test_pixels_are_sums_of_weights(method, antialias, channels):
    if method == "bilinear" and not antialias:
        pytest.skip("has a formula of its own: test_resize.py")
    image = image_of((37, 53, channels))
    # Bicubic positions are rounded to 1/1024. The Gaussian is cut off abruptly, and a pixel may be
    # on either side of the cut.
    tolerance = {("bicubic", False): 0.1, ("gaussian", True): 0.5}.get((method, antialias), 1e-3)
    for size in SIZES:
        result = ps.image.resize(image, size, method, antialias=antialias)
        assert result.dtype == np.float32
        difference = np.abs(result - expected(image, size, method, antialias))
        assert difference.max() < tolerance, size


@pytest.mark.parametrize("method", [*KERNELS, "area"])
@pytest.mark.parametrize("antialias", [False, True])
@pytest.mark.parametrize("dtype", NUMBERS + FLOATS)
def test_every_type_gives_the_values_of_float32(method, antialias, dtype):
    image = image_of((19, 23, 3), dtype)
    result = ps.image.resize(image, (12, 40), method, antialias=antialias)
    assert result.dtype == np.float32
    as_float = ps.image.resize(image.astype(np.float32), (12, 40), method, antialias=antialias)
    np.testing.assert_array_equal(result, as_float)


@pytest.mark.parametrize("method", [*KERNELS, "area"])
@pytest.mark.parametrize("antialias", [False, True])
def test_a_constant_stays_constant(method, antialias):
    image = np.full((40, 31, 3), 200, np.uint8)
    for size in SIZES:
        result = ps.image.resize(image, size, method, antialias=antialias)
        np.testing.assert_allclose(result, 200, rtol=1e-5)


@pytest.mark.parametrize("method", ["bicubic", "lanczos3", "lanczos5", "area"])
@pytest.mark.parametrize("antialias", [False, True])
def test_the_same_size_gives_the_same_values(method, antialias):
    image = image_of((20, 30, 3))
    result = ps.image.resize(image, (20, 30), method, antialias=antialias)
    np.testing.assert_allclose(result, image, atol=1e-3)


@pytest.mark.parametrize(
    ("method", "filter"),
    [("bicubic", Image.Resampling.BICUBIC), ("lanczos3", Image.Resampling.LANCZOS)],
)
@pytest.mark.parametrize("size", [(40, 60), (117, 30), (200, 300)])
def test_within_one_of_pillow(photo, method, filter, size):
    image = photo // 2 + 64  # nothing is clipped between Pillow's two passes
    pillow = Image.fromarray(image).resize(size[::-1], filter)
    result = ps.image.resize(image, size, method, antialias=True)
    assert np.abs(np.rint(result) - np.asarray(pillow)).max() <= 1


def test_area_is_the_mean_of_blocks():
    image = image_of((24, 36, 3))
    blocks = image.reshape(8, 3, 9, 4, 3).mean((1, 3))
    np.testing.assert_allclose(ps.image.resize(image, (8, 9), "area"), blocks, rtol=1e-6)


# TensorFlow 2.21: tf.image.resize of the row [0, 10, 50, 200, 255] to 8 and to 3 pixels.
FIGURES = {
    ("bicubic", False, 8): [
        -0.7196,
        1.934,
        11.4746,
        28.3691,
        91.9403,
        193.0328,
        240.8386,
        258.9576,
    ],
    ("bicubic", False, 3): [1.3778, 50, 245.0119],
    ("bicubic", True, 8): [-0.7196, 1.934, 11.4746, 28.3691, 91.9403, 193.0328, 240.8386, 258.9576],
    ("bicubic", True, 3): [-1.6923, 71.3488, 238],
    ("area", False, 8): [0, 4, 10, 42, 80, 200, 233, 255],
    ("area", False, 3): [4, 72, 233],
    ("lanczos3", False, 8): [
        0.2266,
        2.8438,
        10.1349,
        24.6656,
        89.8481,
        191.4951,
        247.1382,
        255.9382,
    ],
    ("lanczos3", False, 3): [1.5067, 50, 250.5785],
    ("lanczos3", True, 8): [
        0.2266,
        2.8438,
        10.1349,
        24.6656,
        89.8481,
        191.4951,
        247.1382,
        255.9382,
    ],
    ("lanczos3", True, 3): [-5.1416, 69.6897, 242.395],
    ("lanczos5", False, 8): [
        -1.7756,
        3.7874,
        11.0614,
        30.3199,
        83.3058,
        190.0157,
        249.7602,
        254.7507,
    ],
    ("lanczos5", False, 3): [2.9067, 50, 252.4249],
    ("lanczos5", True, 8): [
        -1.7756,
        3.7874,
        11.0614,
        30.3199,
        83.3058,
        190.0157,
        249.7602,
        254.7507,
    ],
    ("lanczos5", True, 3): [-5.6094, 68.9478, 243.8428],
    ("gaussian", False, 8): [0.6009, 4.3782, 14.61, 41.3453, 95.8621, 184.1545, 230.9197, 251.6952],
    ("gaussian", False, 3): [3.3924, 61.7158, 236.3416],
    ("gaussian", True, 8): [0.6009, 4.3782, 14.61, 41.3453, 95.8621, 184.1545, 230.9197, 251.6952],
    ("gaussian", True, 3): [7.8607, 79.842, 217.0744],
    ("mitchellcubic", False, 8): [
        -0.1407,
        2.9678,
        13.1912,
        33.4494,
        95.41,
        187.883,
        236.5672,
        255.7736,
    ],
    ("mitchellcubic", False, 3): [2.251, 56.1111, 241.0856],
    ("mitchellcubic", True, 8): [
        -0.1407,
        2.9678,
        13.1912,
        33.4494,
        95.41,
        187.883,
        236.5672,
        255.7736,
    ],
    ("mitchellcubic", True, 3): [2.3672, 75.9034, 228.2582],
}


@pytest.mark.parametrize(("method", "antialias", "width"), FIGURES)
def test_figures_of_tensorflow(method, antialias, width):
    row = np.array([0, 10, 50, 200, 255], np.uint8).reshape(1, 5, 1)
    result = ps.image.resize(row, (1, width), method, antialias=antialias).ravel()
    np.testing.assert_allclose(result, FIGURES[method, antialias, width], atol=1e-4)


@pytest.mark.slow
@pytest.mark.parametrize("method", [*KERNELS, "area"])
def test_a_strip_ends_anywhere(method):
    # Rows with more values than one summation handles.
    image = image_of((6, 1500, 3))
    result = ps.image.resize(image, (4, 1500), method, antialias=True)
    assert np.abs(result - expected(image, (4, 1500), method, True)).max() < 1e-2


@pytest.mark.parametrize("method", [*KERNELS, "area"])
def test_the_smallest_images(method):
    pixel = np.array([[[7, 9]]], np.uint8)
    for antialias in (False, True):
        result = ps.image.resize(pixel, (3, 2), method, antialias=antialias)
        np.testing.assert_allclose(result, np.broadcast_to(pixel, (3, 2, 2)), rtol=1e-6)


def test_batches_and_programs():
    images = image_of((3, 12, 17, 3))
    for method in [*KERNELS, "area", "nearest"]:
        result = ps.image.resize(images, (5, 30), method)
        for image, resized in zip(images, result, strict=True):
            np.testing.assert_array_equal(ps.image.resize(image, (5, 30), method), resized)

        def function(image, n, method=method):
            half = ps.image.resize(image, [n, 2 * n], method, antialias=True)
            return half, ps.image.resize(image, ps.shape(image)[:2] * 2, method)

        assert_native(function, [(images[0, : 5 + i], np.int64(3 + i)) for i in range(3)])


@pytest.mark.parametrize("method", [*KERNELS, "area", "nearest"])
def test_programs_that_go_on_with_the_rows(method):
    def function(image):
        large = ps.image.resize(image, (260, 180), method, antialias=True)
        small = ps.image.resize(image, (150, 40), method)
        return ps.image.flip_up_down(large) / 255.0, ps.image.flip_left_right(small) * 2

    assert_native(function, [image_of((60 + i, 50, 3)) for i in range(3)])


@pytest.mark.parametrize("name", [n for n in vars(ps.image.ResizeMethod) if n.isupper()])
def test_names_of_methods(name):
    method = getattr(ps.image.ResizeMethod, name)
    assert ps.image.resize(image_of((4, 4, 3)), (2, 2), method).shape == (2, 2, 3)


@pytest.mark.parametrize("method", [*KERNELS, "area"])
def test_types_without_a_mean_are_refused(method):
    with pytest.raises(TypeError, match=f"integer or float type for method '{method}', got bool"):
        ps.image.resize(np.zeros((4, 4, 3), bool), (2, 2), method)
