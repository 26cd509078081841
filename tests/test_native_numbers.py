"""Plain numbers of every size beside arrays of every type: NumPy's results, or an error."""

import operator

import numpy as np
import pytest

import penstock as ps
from compare import difference
from native_contract import assert_native

Dataset = ps.Dataset

INTEGERS = [0, -1, 2, 127, -128, 128, 255, 256, 300, -300, 2**31, -(2**31) - 1, 2**53 + 1]
INTEGERS += [2**60 + 2**36 + 1, -(2**63), 2**63 - 1, 2**63, 2**64 - 1, 2**64, 2**70]
NUMBERS = [*INTEGERS, True, 0.5, -2.5, 1e300, float("inf"), float("nan"), 1j]
TYPES = "?bBilLefdD"


def both_ways(function):
    return lambda x, s: (function(x, s), function(s, x))


OPERATIONS = {
    "+": both_ways(operator.add),
    "-": both_ways(operator.sub),
    "*": both_ways(operator.mul),
    "/": both_ways(operator.truediv),
    "//": both_ways(operator.floordiv),
    "%": both_ways(operator.mod),
    "<<": lambda x, s: x << s,
    ">>": lambda x, s: x >> s,
    "&": lambda x, s: (x & s, s | x, x ^ s),
    "==": lambda x, s: (x == s, s != x),
    "<": lambda x, s: (x < s, x <= s, s < x, s <= x),
    ">": lambda x, s: (x > s, x >= s, s > x, s >= x),
    "maximum": both_ways(np.maximum),
    "clip": lambda x, s: np.clip(x, s, 100),
    "clip above": lambda x, s: (np.clip(x, 0, s), np.clip(x, None, s)),
    "clip below": lambda x, s: np.clip(x, s, None),
    "where": lambda x, s: (np.where(x, s, x), np.where(False, x, s)),
    "divmod": lambda x, s: np.divmod(x, s),
    "arctan2": both_ways(np.arctan2),
    "logical_and": both_ways(np.logical_and),
}


def values_of(dtype):
    values = np.array([0, 1, 2, 5, 100], dtype)
    if dtype.kind in "iu":
        ends = np.iinfo(dtype)
        values = np.concatenate([values, np.array([ends.min, ends.max], dtype)])
    return values


def outcome(call):
    try:
        return call()
    except Exception as error:
        return error


def disagreement(native, plain):
    """Say how a native result differs from the plain one; an error of both is the same."""
    if isinstance(plain, Exception):
        return None if isinstance(native, Exception) else f"no error, but {native!r}"
    if isinstance(native, ps.TraceError):
        return None
    return f"{native!r}" if isinstance(native, Exception) else difference(native, plain)


@pytest.mark.filterwarnings("ignore::RuntimeWarning")
@pytest.mark.parametrize("name", OPERATIONS)
def test_plain_numbers_beside_arrays(name):
    operation = OPERATIONS[name]
    found = []
    for dtype in map(np.dtype, TYPES):
        x = values_of(dtype)
        source = Dataset.from_tensors(x)
        for number in NUMBERS:
            plain = outcome(lambda: operation(x, number))  # noqa: B023
            function = ps.native(lambda x: operation(x, number))  # noqa: B023
            native = outcome(lambda: next(iter(source.map(function))))  # noqa: B023
            if text := disagreement(native, plain):
                found.append(f"{dtype} and {number}: {text}")
    assert not found, "\n".join(found)


def test_integers_beyond_the_type_are_compared_for_rows_together_too():
    rows = [np.array([1, 2, n], np.uint8) for n in range(5)]
    assert_native(lambda x: (x < 300, x == -1, x > -1, x >= 2**63), rows)
    assert_native(lambda x: (np.clip(x, -1, 300), np.clip(x, -5, 2), x.clip(2, 2**63)), rows)
    assert_native(lambda x: np.where(x > 1, 300, x), rows)


@pytest.mark.parametrize("number", [2**64, -(2**63) - 1, 2**70])
def test_integers_of_more_than_64_bits_are_refused_when_traced(number):
    for function in (
        lambda x: x * number,
        lambda x: x < number,
        lambda x: np.where(x > 0, number, x),
        lambda x: np.clip(x, 0, number),
    ):
        with pytest.raises(ps.TraceError, match="more than 64 bits"):
            Dataset.from_tensors(np.float32(3)).map(ps.native(function))


def test_a_clipped_zero_keeps_its_sign():
    x = np.array([-0.0, 0.0] * 9, np.float32)
    assert_native(lambda x: np.copysign(1, np.clip(x, 0.0, 1.0)), [x, x])
