"""image.convert_image_dtype against TensorFlow's rules in NumPy."""

import numpy as np
import pytest

import penstock as ps

NUMBERS = ["int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64"]
FLOATS = ["float16", "float32", "float64"]


def converted(image, dtype, saturate):
    """Return TensorFlow's convert_image_dtype, computed in NumPy."""
    of, to = image.dtype, np.dtype(dtype)
    with np.errstate(all="ignore"):
        if of == to or (of.kind == "f" and to.kind == "f"):
            return image.astype(to)
        if of.kind == "f":
            scaled = image * of.type(np.iinfo(to).max + 0.5)
            if saturate:
                low, high = limits(of, to)
                scaled = np.clip(scaled, low, high)
            return ps.cast(scaled, to)
        if to.kind == "f":
            return image.astype(to) * to.type(1.0 / np.iinfo(of).max)
        most, least = np.iinfo(of).max, np.iinfo(to).max
        x = image // of.type((most + 1) // (least + 1)) if most > least else image
        if saturate:
            info = np.iinfo(to)
            x = np.array([min(max(int(v), info.min), info.max) for v in x.ravel()]).reshape(x.shape)
        x = x.astype(to)
        return x if most > least else x * to.type((least + 1) // (most + 1))


def limits(of, to):
    """Return the range of `to`, as the nearest values of `of` within it."""
    info, finfo = np.iinfo(to), np.finfo(of)
    low, high = of.type(max(float(finfo.min), info.min)), of.type(min(float(finfo.max), info.max))
    if int(high) > info.max:
        high = np.nextafter(high, of.type(0))
    return low, high


@pytest.mark.parametrize("saturate", [False, True])
@pytest.mark.parametrize("to", NUMBERS + FLOATS)
@pytest.mark.parametrize("of", NUMBERS + FLOATS)
def test_values_are_tensorflows(of, to, saturate):
    if np.dtype(of).kind == "f":
        image = np.array([0, 0.1, 0.5, 0.999, 1, 1.5, 7, -0.25, -3], of)
        if not saturate:
            image = image[:4]
    else:
        info = np.iinfo(of)
        image = np.array([0, 1, 2, 100, 127, info.max, info.max - 1, info.min], of)
    image = np.resize(image, 2500).reshape(50, 50)
    result = ps.image.convert_image_dtype(image, to, saturate=saturate)
    assert result.dtype == to
    np.testing.assert_array_equal(result, converted(image, to, saturate))


@pytest.mark.parametrize("to", ["float32", "float64", "uint16", "int32"])
def test_there_and_back_changes_nothing(to):
    image = np.arange(256, dtype=np.uint8).reshape(16, 16, 1)
    there = ps.image.convert_image_dtype(image, to)
    np.testing.assert_array_equal(ps.image.convert_image_dtype(there, np.uint8), image)


def test_any_shape():
    assert ps.image.convert_image_dtype(np.uint8(255), np.float32) == 1
    assert ps.image.convert_image_dtype(np.zeros((0, 3), np.uint8), np.float32).shape == (0, 3)


@pytest.mark.parametrize("dtype", ["bool", "complex64"])
def test_other_types_are_refused(dtype):
    with pytest.raises(TypeError, match="convert_image_dtype: dtype must be an integer or float"):
        ps.image.convert_image_dtype(np.zeros(3), dtype)
    with pytest.raises(TypeError, match="convert_image_dtype: image must be an integer or float"):
        ps.image.convert_image_dtype(np.zeros(3, dtype), np.float32)
