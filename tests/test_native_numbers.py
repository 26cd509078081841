"""Python numbers of every size with arrays of every type: NumPy's results, or an error."""

import contextlib
import itertools
import operator

import numpy as np
import pytest

import penstock as ps
from compare import difference
from native_contract import assert_native, dtypes

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
    "concatenate": both_ways(lambda x, s: np.concatenate([x, s, 3, 0.5], axis=None)),
    "concatenate alone": both_ways(lambda x, s: np.concatenate([x, s], axis=None)),
    "stack": both_ways(lambda x, s: np.stack([x[:1].sum(dtype=x.dtype), s])),
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
    """Return how a native result differs from the plain one; errors of one type are equal."""
    if isinstance(native, ps.TraceError):
        return None
    if isinstance(plain, Exception):
        return None if isinstance(plain, type(native)) else f"{native!r}, not {plain!r}"
    return f"{native!r}" if isinstance(native, Exception) else difference(native, plain)


@pytest.mark.filterwarnings("ignore::RuntimeWarning")
@pytest.mark.parametrize("name", OPERATIONS)
def test_plain_numbers_beside_arrays(name):
    operation = OPERATIONS[name]
    found = []
    for x in [x[:size] for x in map(values_of, map(np.dtype, TYPES)) for size in (0, None)]:
        source = Dataset.from_tensors(x)
        for number in NUMBERS:
            plain = outcome(lambda: operation(x, number))  # noqa: B023
            function = ps.native(lambda x: operation(x, number))  # noqa: B023
            native = outcome(lambda: next(iter(source.map(function))))  # noqa: B023
            if text := disagreement(native, plain):
                found.append(f"{x!r} and {number}: {text}")
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


ZEROS = [0.0, -0.0, 1.0, -1.0, 4.0, -np.inf, np.inf, np.nan]
EXPONENTS = [0, 1, 2, 3, -1, -2, 2.0, 0.5, -0.5, -1.0, True, np.float64(0.5), np.float32(0.5)]
EXPONENTS += [np.int8(2), np.array(0.5), np.array([2.0]), np.array([0.5, 2.0], np.float32)]


def values(dtype):
    numbers = ZEROS if dtype.kind in "fc" else [0, 1, 2, 3]
    return np.array(numbers).astype(dtype)


def same_bits(function, rows):
    """Fail unless rows are bit-identical to the plain function's, individually and in a batch."""
    source = Dataset.from_tensor_slices(rows)
    assert len(list(source.map(ps.native(function, check=len(rows))))) == len(rows)
    native = next(iter(source.map(ps.native(function)).batch(len(rows))))
    plain = next(iter(source.map(function).batch(len(rows))))
    for made, wanted in zip(
        *(p if type(p) is tuple else (p,) for p in (native, plain)), strict=True
    ):
        assert np.array_equal(np.signbit(made.real), np.signbit(wanted.real))
        assert difference(made, wanted) is None


@pytest.mark.filterwarnings("ignore::RuntimeWarning")
@pytest.mark.parametrize("dtype", dtypes("?bBhlLefdgFDG"), ids=str)
def test_powers_are_those_of_the_operator(dtype):
    numbers = values(dtype)
    for rows in (numbers, numbers[:, None], np.stack([numbers] * 2)):
        exponents = []
        for exponent in EXPONENTS:
            with contextlib.suppress(ValueError, OverflowError):  # negative integer exponents
                rows[0] ** exponent
                exponents.append(exponent)
        same_bits(lambda x: tuple(x**e for e in exponents), rows)  # noqa: B023


WITHOUT_AXES = {
    "where": lambda x: np.where(True, x, x),
    "where, added": lambda x: np.where(True, x, x) + x,
    "where, cast": lambda x: np.where(True, x, x).astype(np.float64),
    "where, transposed": lambda x: np.where(True, x, x).T,
    "transposed": lambda x: x.T.copy(),
    "cast": lambda x: x.astype(np.float64),
    "reshaped": lambda x: x[None].reshape(()),
    "squeezed": lambda x: np.squeeze(x[None]),
    "item": lambda x: x[None][0],
    "item, ...": lambda x: x[None][0, ...],
    "...": lambda x: x[...],
    "tiled": lambda x: np.tile(x, ()),
    "padded": lambda x: np.pad(x, 1),
    "clipped": lambda x: np.clip(np.where(True, x, x), 0, 9),
    "sum": lambda x: np.where(True, x, x).sum(keepdims=True),
}


@pytest.mark.filterwarnings("ignore::RuntimeWarning")
@pytest.mark.parametrize("dtype", dtypes("lefdF"), ids=str)
@pytest.mark.parametrize("name", WITHOUT_AXES)
def test_powers_of_arrays_without_axes_are_those_of_arrays(name, dtype):
    made = WITHOUT_AXES[name]
    numbers = np.random.default_rng(7).uniform(0.1, 9, (12, 2)).astype(dtype)
    numbers[:2] = values(dtype)[:4].reshape(2, 2) ** 2
    constants = [2, 0.5, 3.7, np.float32(3.7), np.array(3.7), np.array([3.7])]
    if dtype.kind != "i":
        constants += [-1, -2]

    def function(x, y):
        pairs = [(made(x), y), (x, made(y)), (made(x), made(y))]
        powers = [one**other for one, other in pairs]
        powers += [made(x) ** constant for constant in constants]
        powers += [3.7 ** made(y), np.float32(3.7) ** made(y), abs(made(x))]
        return tuple(powers)

    same_bits(lambda xy: function(xy[0], xy[1]), numbers)


@pytest.mark.filterwarnings("ignore::RuntimeWarning")
@pytest.mark.parametrize("kind", "bBlefdF")
def test_powers_of_scalars_of_numpy_are_those_of_the_operator(kind):
    base = np.dtype(kind).type(3)
    other = np.dtype(kind).type(2)
    for dtype in dtypes("Befd"):
        numbers = np.random.default_rng(7).uniform(0.1, 9, 20).astype(dtype)

        def function(x):
            power = other
            power **= x
            return base**x, power, np.power(base, x), base ** x[None]

        same_bits(function, numbers)
    sizes = [np.zeros(n) for n in (2, 3)]
    assert_native(lambda x: base ** x.shape[0], sizes)


def test_bools_to_the_power_of_two_have_the_type_of_numpy():
    flags = np.array([True, False])
    made = next(iter(Dataset.from_tensors(flags).map(ps.native(lambda x: x**2))))
    assert made.dtype == (flags**2).dtype


def test_powers_of_a_size_that_differs_from_row_to_row():
    rows = [np.ones((n, 2), np.complex64) * (1 + 2j) for n in (1, 2, 3)]
    assert_native(lambda x: x ** x.shape[0], rows)


@pytest.mark.filterwarnings("ignore::RuntimeWarning")
@pytest.mark.parametrize("dtype", dtypes("bBhlLefd"), ids=str)
def test_limits_at_the_ends_of_a_type_are_none(dtype):
    x = values(dtype)
    wide = np.array([200, 5], np.int16)

    def function(x):
        return (
            np.clip(x, 0, -0.0),
            np.clip(x, -0.0, 0.0),
            np.clip(x, 300, wide),
            np.clip(x, wide, 2**40),
            np.clip(x, -(2**63), 255),
            np.clip(x, 0, 255),
            np.clip(5, x, 300),
            np.clip(5, None, x),
        )

    for rows in (x, x[:, None], np.stack([x[:2]] * 3)):
        same_bits(function, rows)


def test_zeros_between_limits_have_the_sign_that_numpy_gives_them():
    x = np.array([[-0.0, 0.0, 1.0]] * 4, np.float32)
    low, high = np.array([[1], [0]]), np.array([[-0.0], [2.0]])
    function = lambda x: (  # noqa: E731
        np.clip(x, low, 3.0),
        np.clip(x, low, high),
        np.clip(x, high[0], 1.0),
        np.clip(x, 0, -0.0),
        np.fmax(x, -x),
    )
    same_bits(function, x)
    same_bits(function, np.tile(x[0], (3, 2, 1)))


@pytest.mark.filterwarnings("ignore::RuntimeWarning")
def test_complex_scalars_with_nan_are_not_ordered():
    number = np.complex64(complex(1, np.nan))
    less = ps.native(lambda x: x < 1)
    with pytest.raises(ValueError, match="has no order"):
        next(iter(Dataset.from_tensors(number).map(less)))
    same_bits(lambda x: x < 1, np.full((2, 3), number))


@pytest.mark.parametrize("dtype", dtypes("FD"), ids=str)
@pytest.mark.parametrize("name", [name for name in WITHOUT_AXES if "cast" not in name])
def test_products_of_complex_numbers_without_axes_are_those_of_arrays_or_scalars(name, dtype):
    made = WITHOUT_AXES[name]
    parts = np.random.default_rng(4).normal(0, 3, (40, 2, 2))
    numbers = (parts[..., 0] + 1j * parts[..., 1]).astype(dtype)
    factor = dtype.type(3 - 2.2j)

    def function(x, y):
        products = (made(x) * y, x * made(y), made(x) * made(y), x * y, np.multiply(x, y))
        return *products, made(x) * factor, factor * made(x), factor * x, np.multiply(factor, x)

    same_bits(lambda xy: function(xy[0], xy[1]), numbers)


def test_lengths_of_complex_scalars_are_those_of_the_operator():
    parts = np.random.default_rng(3).normal(size=(50, 2))
    same_bits(abs, parts[:, 0] + 1j * parts[:, 1])
    same_bits(np.abs, parts[:, 0] + 1j * parts[:, 1])


def test_an_exponent_of_many_items_that_is_cast_is_one_for_each():
    x = np.array([[2], [3]], np.int16)
    same_bits(lambda x: np.full((2, 3), np.float32(1e-7)) ** x, np.stack([x, x]))


def test_several_types_have_the_one_in_common_that_numpy_finds():
    found = []
    for kinds in itertools.product("?bHhefLF", repeat=3):
        arrays = [np.ones(1, kind) for kind in kinds]
        made = ps.concat(arrays, axis=0).dtype
        if made != np.result_type(*arrays):
            found.append(f"{kinds}: {made}, not {np.result_type(*arrays)}")
    assert not found, "\n".join(found)


def test_plain_complex_numbers_beside_float64_are_numbers_of_python():
    for function in (lambda x: 1j / x, lambda x: 1j**x):
        with pytest.raises(ValueError, match=r"np\.complex128"):
            next(iter(Dataset.from_tensors(0.0).map(ps.native(function))))
        same_bits(function, np.ones((2, 3)))


def test_integers_that_numpy_rounds_in_two_ways_are_refused():
    x = np.zeros(2, np.clongdouble)
    with pytest.raises(ValueError, match="write it as a float"):
        next(iter(Dataset.from_tensors(x).map(ps.native(lambda x: x + (2**53 + 1)))))
    same_bits(lambda x: x + 2**53, x[None])


def test_a_constant_with_bits_that_mean_nothing_is_the_same_each_time():
    def function(x):
        made = np.empty(4, np.longdouble)
        made.view(np.uint8)[:] = np.random.Generator(np.random.PCG64()).integers(
            0, 256, made.nbytes
        )
        made[:] = 3
        return x + made

    assert next(iter(Dataset.range(1).map(ps.native(function)))).tolist() == [3] * 4
