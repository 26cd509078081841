"""cast: NumPy's astype, between all numeric types."""

from contextlib import nullcontext

import numpy as np
import pytest

import penstock as ps

INTEGERS = ["int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64"]
FLOATS = ["float16", "float32", "float64", "longdouble"]
COMPLEX = ["complex64", "complex128", "clongdouble"]
TYPES = ["bool", *INTEGERS, *FLOATS, *COMPLEX]


def values_of(dtype):
    """Return values of a type, including its limits; floats are within int8, without halves."""
    dtype = np.dtype(dtype)
    if dtype.kind == "b":
        return np.array([False, True, True])
    if dtype.kind in "iu":
        info = np.iinfo(dtype)
        return np.array([0, 1, 2, 100, info.max, info.max - 1, info.min, info.min + 1], dtype)
    real = np.array([0, -0.0, 0.25, 0.99, 1, 1.5, 100.7, 127], dtype)
    return real + np.array(1j, dtype) * real[::-1] if dtype.kind == "c" else real


@pytest.mark.parametrize("to", TYPES)
@pytest.mark.parametrize("of", TYPES)
def test_every_pair_of_types_is_as_astype(of, to):
    # Longer than the loops' chunks and vectors, and of odd length.
    x = np.resize(values_of(of), 1537)
    with np.errstate(all="ignore"), pytest.warns() if is_complex_to_real(of, to) else nullcontext():
        expected = x.astype(to)
    result = ps.cast(x, to)
    assert result.dtype == expected.dtype
    np.testing.assert_array_equal(result, expected)


def is_complex_to_real(of, to):
    return of in COMPLEX and to not in COMPLEX and to != "bool"


@pytest.mark.parametrize("to", INTEGERS)
@pytest.mark.parametrize("of", ["float32", "float64"])
def test_floats_are_cut_towards_zero_up_to_the_edges(of, to):
    info = np.iinfo(to)
    edges = [max(info.min, -(2**52)), info.min // 2, -1.5 if info.min else 0.5, 2.9, info.max // 2]
    x = np.array(edges, of)
    np.testing.assert_array_equal(ps.cast(x, to), [int(value) for value in x])


@pytest.mark.parametrize(
    ("to", "expected"),
    [
        ("int8", [0, 0, 0, 44]),
        ("uint8", [0, 0, 0, 44]),
        ("uint16", [0, 0, 0, 300]),
        ("int32", [-(2**31)] * 3 + [300]),
        ("uint32", [0, 0, 0, 300]),
        ("int64", [-(2**63)] * 3 + [300]),
        ("uint64", [2**63, 2**63, 0, 300]),
    ],
)
def test_floats_beyond_the_range_give_the_same_on_every_processor(to, expected):
    x = np.array([np.nan, -1e30, 1e30, 300.5], np.float32)
    assert ps.cast(x, to).tolist() == expected


def test_all_halves_survive_the_way_to_float_and_back():
    halves = np.arange(2**16, dtype=np.uint16).view(np.float16)
    floats = ps.cast(halves, np.float32)
    np.testing.assert_array_equal(floats, halves.astype(np.float32))
    np.testing.assert_array_equal(ps.cast(floats, np.float16), halves)


@pytest.mark.parametrize("of", ["float32", "float64"])
def test_halves_are_rounded_to_nearest_even(of):
    halves = np.arange(0x7BFF, dtype=np.uint16).view(np.float16).astype(of)
    between = (halves[1:] + halves[:-1]) / 2
    x = np.concatenate([between, np.nextafter(between, 0), np.nextafter(between, np.inf), -between])
    x = np.concatenate([x, np.array([65504, 65519.99, 65520, 1e6, np.inf, -np.inf, np.nan], of)])
    with np.errstate(over="ignore"):
        np.testing.assert_array_equal(ps.cast(x, np.float16), x.astype(np.float16))


@pytest.mark.parametrize("shape", [(), (0,), (3, 0, 2), (1,), (2, 3, 4)])
def test_shape_is_kept(shape):
    result = ps.cast(np.ones(shape, np.int64), np.float32)
    assert np.shape(result) == shape
    assert result.dtype == np.float32


def test_strided_and_swapped_arrays_are_read_right():
    x = np.arange(24).reshape(4, 6)[::-1, ::2]
    np.testing.assert_array_equal(ps.cast(x, "float32"), x)
    np.testing.assert_array_equal(ps.cast(x.astype(">i4"), "float32"), x)


def test_the_input_is_left_alone():
    x = np.arange(3.0)
    ps.cast(x, np.float64)[:] = 7
    np.testing.assert_array_equal(x, [0, 1, 2])


@pytest.mark.parametrize("dtype", ["S3", "U", "object", "datetime64[s]"])
def test_a_dtype_that_is_no_number_is_refused(dtype):
    with pytest.raises(TypeError, match="cast: dtype must be a bool, integer, float or complex"):
        ps.cast([1], dtype)


@pytest.mark.parametrize(
    "x", [b"text", "text", np.array(["a"]), np.array([0], "datetime64[s]"), object()]
)
def test_a_value_that_is_no_number_is_refused(x):
    with pytest.raises(TypeError, match="cast: x must be an array of numbers, got"):
        ps.cast(x, np.int32)
