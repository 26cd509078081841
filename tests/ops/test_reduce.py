"""Reductions: NumPy's results for NumPy functions, TensorFlow's types for reduce_*."""

import numpy as np
import pytest

import penstock as ps
from compare import assert_same
from native_contract import assert_native, dtypes

RNG = np.random.default_rng(5)
AXES = [None, 0, 1, -1, -2, (0, 1), (0, 2), (-1, -3), (0, 1, 2), ()]


def same(came, wanted):
    assert_same([np.asarray(came)], [np.asarray(wanted)])


def normal(shape, dtype="f"):
    return RNG.normal(0, 10, shape).astype(dtype)


@pytest.mark.parametrize("keepdims", [False, True])
@pytest.mark.parametrize("axis", AXES)
def test_axes(axis, keepdims):
    for shape in [(3, 4, 5), (1, 7, 1), (2, 1, 300)]:
        x = normal(shape, "d")
        for ours, numpys in PAIRS:
            wanted = numpys(x, axis=axis, keepdims=keepdims)
            same(ours(x, axis, keepdims), wanted)
        assert_native(lambda a: ps.reduce_sum(a, axis, keepdims), [x, -x])
        assert_native(lambda a: np.mean(a, axis, keepdims=keepdims), [x, -x])
        assert_native(lambda a: a.max(axis, keepdims=keepdims), [x, -x])


@pytest.mark.parametrize("axis", [0, -1, np.int64(0), None, ()], ids=repr)
@pytest.mark.parametrize("keepdims", [False, True])
def test_the_axis_of_a_scalar_is_none_for_numpys_functions(axis, keepdims):
    scalars = [np.float32(2.5), np.float32(-0.0)]
    for function in (np.sum, np.prod, np.max, np.min, np.any, np.all):
        assert_native(lambda a: function(a, axis=axis, keepdims=keepdims), scalars)  # noqa: B023
        assert_native(lambda a: function(np.where(True, a, a), axis=axis), scalars)  # noqa: B023
    assert_native(lambda a: (a.sum(axis), a.max(axis, keepdims=keepdims), a.any(axis)), scalars)


@pytest.mark.parametrize("axis", [1, -2, (0,), (-1,), (0, 1)], ids=repr)
def test_other_axes_of_a_scalar_are_errors_that_show_no_empty_range(axis):
    source = ps.Dataset.from_tensors(np.float32(1))
    for name in ("sum", "max", "all", "mean", "squeeze"):
        function = lambda a: getattr(np, name)(a, axis=axis)  # noqa: B023, E731
        with pytest.raises(np.exceptions.AxisError):
            list(source.map(function))
        with pytest.raises(ValueError, match=rf"{name}: axis -?\d is not an axis of a number"):
            list(source.map(ps.native(function)))


def test_numpys_mean_and_tensorflows_functions_refuse_an_axis_of_a_scalar():
    for function in (np.mean, *(ours for ours, _ in PAIRS), ps.squeeze):
        mapped = ps.Dataset.from_tensors(1.0).map(ps.native(lambda a: function(a, axis=0)))  # noqa: B023
        with pytest.raises(ValueError, match="axis 0 is not an axis of a number, which has none"):
            list(mapped)


@pytest.mark.filterwarnings("ignore::RuntimeWarning")
@pytest.mark.parametrize("dtype", dtypes("efdg"), ids=str)
@pytest.mark.parametrize("shape", [(), (1,), (5,), (64,), (1, 1), (3, 5), (3, 1, 4), (4, 40)])
def test_the_largest_and_smallest_keep_the_sign_of_nan_and_zero(shape, dtype):
    numbers = np.array([0.0, -0.0, np.nan, -np.nan, 1.0, -1.0], dtype)
    for chosen in (slice(0, 2), slice(2, 4), slice(0, 4), slice(1, 6)):
        some = numbers[chosen]
        x = some[RNG.integers(0, some.size, shape)]
        for axis in (None, *range(len(shape))):
            for ours, numpys in ((ps.reduce_max, np.max), (ps.reduce_min, np.min)):
                came, wanted = ours(x, axis), numpys(x, axis)
                same(came, wanted)
                same(np.signbit(came), np.signbit(wanted))


PAIRS = [
    (ps.reduce_sum, np.sum),
    (ps.reduce_mean, np.mean),
    (ps.reduce_max, np.max),
    (ps.reduce_min, np.min),
    (ps.reduce_any, np.any),
    (ps.reduce_all, np.all),
]


@pytest.mark.parametrize("dtype", ["e", "f", "d", "g", "F", "D"])
@pytest.mark.parametrize("shape", [(9,), (8192,), (100_003,), (300, 301), (7, 129, 3), (2, 9000)])
def test_sums_of_floats_are_numpys_to_the_last_bit(shape, dtype):
    x = normal(shape, dtype)
    for axis in (None, *range(len(shape))):
        same(ps.reduce_sum(x, axis), np.sum(x, axis))
        same(ps.reduce_mean(x, axis), np.mean(x, axis))
    assert_native(lambda a: (a.sum(), a.sum(0), a.sum(-1), np.prod(a, -1)), [x])


@pytest.mark.filterwarnings("ignore::RuntimeWarning")
@pytest.mark.parametrize("dtype", dtypes(), ids=str)
def test_types_are_numpys_for_numpys_functions(dtype):
    x = RNG.integers(0, 100, (4, 5)).astype(dtype)
    for function in (np.sum, np.mean, np.prod, np.max, np.min, np.any, np.all):
        assert_native(lambda a: function(a), [x, x])  # noqa: B023
        assert_native(lambda a: function(a, axis=-1), [x, x])  # noqa: B023
    assert_native(lambda a: (a.sum(dtype="f"), a.mean(0, dtype=np.float32)), [x])


@pytest.mark.parametrize("dtype", ["b", "B", "i", "l", "Q", "e", "f", "d", "D"])
def test_types_are_tensorflows_for_penstocks(dtype):
    x = np.array([[100, 27, 3], [120, 1, 2]]).astype(dtype)
    same(ps.reduce_sum(x, 1), x.sum(1, dtype=dtype))
    same(ps.reduce_max(x, 0), x.max(0))
    if np.dtype(dtype).kind in "iu":
        sums = x.sum(1, dtype=object)
        wanted = np.array([int(s / 3) for s in sums], dtype)
        same(ps.reduce_mean(x, 1), wanted)
    assert_native(lambda a: (ps.reduce_sum(a, 0), ps.reduce_mean(a), ps.reduce_any(a)), [x, x])


@pytest.mark.parametrize("dtype", dtypes("bhilBHIL"), ids=str)
def test_means_of_integers_hold_their_sums(dtype):
    ends = np.iinfo(dtype)
    for values in (
        np.full((3, 1000), ends.max, dtype),
        np.full((3, 1000), ends.min, dtype),
        np.resize(np.array([ends.max, ends.max, ends.min, ends.max], dtype), (3, 7)),
        np.resize(np.array([ends.min, 1, ends.min, 0, ends.min], dtype), (2, 9)),
        RNG.integers(ends.min, ends.max, (5, 11), dtype, endpoint=True),
    ):
        for axis in (None, 0, 1, -1):
            whole = values.astype(object)
            sums = np.sum(whole, axis)
            number = whole.size // np.size(sums)
            wanted = np.vectorize(lambda s: abs(s) // number * (1 if s > 0 else -1), [object])(sums)  # noqa: B023
            same(ps.reduce_mean(values, axis), np.asarray(wanted.tolist(), dtype))
        assert_native(lambda a: (ps.reduce_mean(a), ps.reduce_mean(a, -1)), [values, values])


def test_the_mean_of_half_floats_is_numpys():
    x = np.full(2000, 200, np.float16)  # their sum overflows the type
    same(ps.reduce_mean(x), np.mean(x))
    x = normal((30, 70), "e")
    for axis in (None, 0, 1):
        same(ps.reduce_mean(x, axis), np.mean(x, axis))


def test_means_of_negative_integers_are_cut_towards_zero():
    assert ps.reduce_mean([-3, 0]) == -1


def test_nan_and_infinities():
    x = np.array([[1, np.nan, 3], [np.inf, 1, 2]])
    for ours, numpys in PAIRS:
        same(ours(x, 1), numpys(x, 1))
    assert_native(lambda a: (a.sum(-1), a.max(-1), a.min(), a.any(), a.all(), a.mean()), [x, x])


def test_nothing_at_all():
    empty = np.zeros((0, 3), np.float32)
    same(ps.reduce_sum(empty, 0), np.zeros(3, np.float32))
    same(ps.reduce_sum(empty, 1), np.zeros(0, np.float32))
    same(ps.reduce_max(empty, 1), np.zeros(0, np.float32))
    same(ps.reduce_any(empty), np.bool_(False))
    same(ps.reduce_all(empty), np.bool_(True))
    assert np.isnan(ps.reduce_mean(empty))
    for call in (
        lambda: ps.reduce_max(empty),
        lambda: ps.reduce_min(empty, 0),
        lambda: ps.reduce_mean(np.zeros(0, int)),
    ):
        with pytest.raises(ValueError, match=r"reduce_\w+: at least one item"):
            call()


@pytest.mark.parametrize("axis", [2, -3, (0, 0), (0, -2)])
def test_axes_that_are_not_there(axis):
    with pytest.raises(ValueError, match="reduce_sum: axis must"):
        ps.reduce_sum(np.zeros((2, 3)), axis)
    ds = ps.Dataset.from_tensors(np.zeros((2, 3))).repeat(4)
    with pytest.raises(ValueError, match="sum: axis must"):
        list(ds.map(ps.native(lambda a: a.sum(axis))))


@pytest.mark.parametrize("x", [b"a", ["a", "b"], np.array(["1"], "M8[s]"), [True, False], object()])
def test_what_cannot_be_added(x):
    with pytest.raises(TypeError, match="reduce_sum: "):
        ps.reduce_sum(x)


def test_rows_are_reduced_together_or_one_by_one_alike():
    x = normal((50, 4, 6))
    ds = ps.Dataset.from_tensor_slices(x)
    for axis in (-1, -2, (-1, -2), 0, 1, None):
        came = list(ds.batch(25).unbatch().map(ps.native(lambda a: a.sum(axis))))  # noqa: B023
        assert_same(came, [row.sum(axis) for row in x])
