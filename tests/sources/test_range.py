"""range: its numbers, and refused arguments."""

import inspect

import numpy as np
import pytest

import penstock as ps
from compare import assert_same
from contract import DatasetContract

INTEGERS = ["int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64"]
FLOATS = ["float32", "float64"]


class TestRange(DatasetContract):
    build = staticmethod(lambda: ps.Dataset.range(11))
    expected = list(range(11))


class TestRangeBackwards(DatasetContract):
    build = staticmethod(lambda: ps.Dataset.range(20, -4, -3, output_type=np.float32))
    expected = [np.float32(x) for x in range(20, -4, -3)]


class TestEmptyRange(DatasetContract):
    build = staticmethod(lambda: ps.Dataset.range(5, 5))
    expected = []


@pytest.mark.parametrize("dtype", INTEGERS + FLOATS)
def test_range_counts_in_any_real_type(dtype):
    wanted = [np.dtype(dtype).type(x) for x in range(2, 9, 3)]
    assert_same(list(ps.Dataset.range(2, 9, 3, output_type=dtype)), wanted)
    assert_same(
        list(ps.Dataset.range(2, 9, 3, output_type=dtype).batch(2)),
        [np.array(wanted[:2]), np.array(wanted[2:])],
    )


@pytest.mark.parametrize(
    "args",
    [(0,), (-3,), (5, 5), (5, 9, -1), (9, 5), (5, 9, 2), (9, 5, -2), (0, 10, 100), (-3, 4, 2)],
)
def test_range_counts_as_pythons_does(args):
    ds = ps.Dataset.range(*args)
    assert_same(list(ds), list(range(*args)))
    assert ds.cardinality() == len(range(*args))


@pytest.mark.parametrize(
    "args",
    [
        (2**63 - 1,),
        (-(2**63), 2**63 - 1, 2**62),
        (2**63 - 1, -(2**63), -(2**62)),
        (2**63 - 3, 2**63 - 1),
        (-(2**63), -(2**63) + 2),
    ],
)
def test_range_reaches_the_ends_of_int64(args):
    wanted = range(*args)
    ds = ps.Dataset.range(*args)
    assert_same(list(ds.take(5)), [int(x) for x in wanted[:5]])
    assert_same(list(ds.skip(max(0, ds.cardinality() - 2)).take(2)), list(wanted[-2:]))


def test_range_too_long_to_count_is_refused():
    with pytest.raises(ValueError, match="range"):
        ps.Dataset.range(-(2**63), 2**63 - 1)


def test_range_skips_without_counting():
    assert_same(list(ps.Dataset.range(2**62).skip(2**62 - 1)), [2**62 - 1])


@pytest.mark.parametrize(
    ("args", "error"),
    [
        ((), TypeError),
        ((1, 2, 3, 4), TypeError),
        ((0, 5, 0), ValueError),
        (("5",), TypeError),
        ((2.5,), TypeError),
        ((None,), TypeError),
        ((2**63,), (ValueError, OverflowError)),
    ],
)
def test_range_refuses_what_is_no_range(args, error):
    with pytest.raises(error, match="range"):
        ps.Dataset.range(*args)


@pytest.mark.parametrize("dtype", ["complex64", str, bool, "M8[s]"])
def test_range_refuses_types_that_cannot_count(dtype):
    with pytest.raises((TypeError, ValueError), match="range"):
        ps.Dataset.range(3, output_type=dtype)


def test_range_takes_numpy_integers():
    assert_same(list(ps.Dataset.range(np.int32(1), np.uint8(3))), [1, 2])


def test_its_type_is_not_taken_for_a_function(monkeypatch):
    def look(function):
        raise AssertionError(f"{function} was looked at, which takes a millisecond")

    monkeypatch.setattr(inspect, "signature", look)
    assert list(ps.Dataset.range(3, output_type=np.float32)) == [0, 1, 2]
