"""Native arithmetic on operands of different shapes is bit-identical to NumPy."""

import operator

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import penstock as ps

FUNCTIONS = [
    *(operator.add, operator.sub, operator.mul, operator.truediv, operator.pow, operator.mod),
    *(operator.lt, operator.ge, operator.eq, np.maximum, np.minimum, np.arctan2, np.hypot),
]
DTYPES = [np.float32, np.float64, np.float16, np.int32, np.uint8]


def as_map(function, a, b):
    """Run it in C++, as a map of one element."""
    native = ps.native(lambda x, y: function(x, y))
    (result,) = ps.Dataset.from_tensors((a, b)).map(native)
    return result


def same(one, other):
    one, other = np.asarray(one), np.asarray(other)
    return (
        one.dtype == other.dtype and one.shape == other.shape and one.tobytes() == other.tobytes()
    )


@st.composite
def shapes(draw):
    """Draw two shapes that can be broadcast together."""
    whole = draw(st.lists(st.sampled_from([0, 1, 2, 3, 5, 64, 65, 200]), min_size=1, max_size=4))
    if np.prod(whole, dtype=np.int64) > 100_000:
        whole = whole[-2:]
    pair = []
    for _ in range(2):
        shape = [1 if draw(st.booleans()) and draw(st.booleans()) else size for size in whole]
        pair.append(tuple(shape[draw(st.integers(0, len(shape))) :]))
    return pair


@settings(max_examples=150)
@given(shapes(), st.sampled_from(FUNCTIONS), st.sampled_from(DTYPES), st.integers(0, 2**32 - 1))
@pytest.mark.filterwarnings("ignore")
def test_any_two_shapes(pair, function, dtype, seed):
    rng = np.random.default_rng(seed)
    a, b = (rng.integers(1, 100, shape).astype(dtype) for shape in pair)
    with np.errstate(all="ignore"):
        # `map` passes scalars to a function; their powers may differ by one bit from those of
        # arrays.
        expected = function(a[()], b[()])
    assert same(as_map(function, a, b), expected)


@pytest.mark.parametrize("rows", [1, 2, 3, 4, 340, 341, 342, 683, 5000])
@pytest.mark.parametrize("row", [1, 2, 3, 4, 63, 64, 65])
def test_rows_against_one_row(rows, row):
    rng = np.random.default_rng(rows * row)
    image = rng.random((rows, row), np.float32)
    scale, shift = rng.random(row, np.float32), rng.random((1, row), np.float32)
    native = ps.native(lambda x: (x * scale + shift - x[:1]) / scale)
    (found,) = ps.Dataset.from_tensors(image).map(native)
    assert same(found, (image * scale + shift - image[:1]) / scale)


def test_three_channels_against_images_of_a_batch():
    images = np.random.default_rng(1).integers(0, 256, (4, 37, 41, 3)).astype(np.float32)
    mean, deviation = np.float32([123.7, 116.3, 103.5]), np.float32([58.4, 57.1, 57.4])
    per_image = np.arange(4, dtype=np.float32).reshape(4, 1, 1, 1) + mean
    for other in (mean, per_image, mean[None, None], deviation[:, None][:, 0], np.float32(255)):
        assert same(as_map(operator.sub, images, other), images - other)
        assert same(as_map(operator.sub, other, images), other - images)
    assert same(as_map(operator.mul, mean, np.float64(2)), mean * np.float64(2))
