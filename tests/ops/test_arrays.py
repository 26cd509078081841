"""Array operations: shape, concatenation, selection and creation, against NumPy."""

import numpy as np
import pytest

import penstock as ps
from compare import assert_same
from native_contract import assert_native, dtypes

RNG = np.random.default_rng(3)
WORDS = np.array([[b"a", b"", b"ccc"], [b"dd", b"\xff\x00", b"f"]], object)
NUMBERS = np.arange(6, dtype=np.int16).reshape(2, 3)


def some(shape, dtype="f"):
    return RNG.integers(-9, 9, shape).astype(dtype)


def same(came, wanted):
    assert_same([np.asarray(came)], [np.asarray(wanted)])


@pytest.mark.parametrize("x", [NUMBERS, WORDS, some((2, 3), "F"), some((2, 3)) > 0])
@pytest.mark.parametrize("shape", [(6,), (3, 2), (-1,), (2, -1), (1, 6, 1), (3, -1, 2)])
def test_reshape(x, shape):
    same(ps.reshape(x, shape), np.reshape(x, shape))
    assert_native(lambda a: ps.reshape(a, shape), [x, x])
    assert_native(lambda a: (a.reshape(shape), a.reshape(*shape), np.reshape(a, shape)), [x])


def test_reshape_to_a_size_that_is_a_value():
    elements = [(np.arange(12), n) for n in (1, 2, 3, 12)]
    assert_native(lambda a, n: ps.reshape(a, [n, -1]), elements)
    assert_native(lambda a, n: ps.reshape(ps.ones([n, 2]), -1), elements)


@pytest.mark.parametrize("shape", [(5,), (-1, -1), (4, -1), (0, -1), (-2, 3), (2**62, 2**62)])
def test_a_shape_that_does_not_fit(shape):
    with pytest.raises(ValueError, match="reshape: shape"):
        ps.reshape(NUMBERS, shape)


def test_reshape_of_nothing():
    same(ps.reshape(np.zeros((0, 3)), (3, 0)), np.zeros((3, 0)))
    same(ps.reshape(np.float32(5), (1, 1)), np.float32([[5]]))
    same(ps.reshape(np.zeros((0, 3)), (0, -1)), np.zeros((0, 0)))


@pytest.mark.parametrize("axis", [0, 1, 2, -1, -2, -3, (0, 2), (-1, 0)])
def test_expand_dims_and_squeeze(axis):
    for x in (NUMBERS, WORDS):
        wide = np.expand_dims(x, axis)
        same(ps.expand_dims(x, axis), wide)
        same(ps.squeeze(wide, axis), x)
        same(ps.squeeze(wide), x)
        assert_native(lambda a: ps.squeeze(ps.expand_dims(a, axis), axis), [x, x])
        assert_native(lambda a: (np.expand_dims(a, axis), a[None].squeeze()), [x, x])


@pytest.mark.parametrize(
    "call",
    [
        lambda: ps.expand_dims(NUMBERS, 3),
        lambda: ps.expand_dims(NUMBERS, -4),
        lambda: ps.squeeze(NUMBERS, 0),
        lambda: ps.squeeze(NUMBERS, 2),
        lambda: ps.squeeze(NUMBERS[None], (0, 0)),
        lambda: ps.transpose(NUMBERS, (0,)),
        lambda: ps.transpose(NUMBERS, (0, 0)),
        lambda: ps.transpose(NUMBERS, (0, 2)),
        lambda: ps.concat([NUMBERS], 2),
        lambda: ps.stack([NUMBERS], -4),
    ],
)
def test_axes_that_are_not_there(call):
    with pytest.raises(ValueError, match=r"^\w+: (axis|perm) must"):
        call()


def test_an_axis_that_is_not_there_is_an_error_for_rows_together_too():
    ds = ps.Dataset.range(8).map(ps.native(lambda x: ps.expand_dims(x, -2)))
    with pytest.raises(ValueError, match="expand_dims: axis must lie"):
        list(ds)


@pytest.mark.parametrize("dtype", ["?", "b", "h", "f", "d", "D", "g", "G"])
@pytest.mark.parametrize("perm", [(0, 1, 2, 3), (3, 2, 1, 0), (1, 0, 2, 3), (0, 3, 1, 2), None])
def test_transpose(perm, dtype):
    x = some((2, 3, 4, 5), dtype)
    same(ps.transpose(x, perm), np.transpose(x, perm))
    assert_native(lambda a: (ps.transpose(a, perm), np.transpose(a, perm)), [x])


def test_transpose_by_methods_and_of_strings():
    assert_native(lambda a: (a.T, a.transpose(), a.transpose(1, 0), a.transpose((1, 0))), [WORDS])
    assert_native(lambda a: (a.T, a.transpose(1, 0)), [np.zeros((0, 3)), np.zeros((3, 0))])
    same(ps.transpose(np.int64(3)), np.int64(3))


@pytest.mark.parametrize("axis", [0, 1, -1, -2])
def test_concat(axis):
    for x in (NUMBERS, WORDS):
        empty = x[:0] if axis in (0, -2) else x[:, :0]
        same(ps.concat([x, x, empty], axis), np.concatenate([x, x, empty], axis))
        assert_native(lambda a: ps.concat([a, a[:], a], axis), [x, x])
        assert_native(lambda a: np.concatenate([a, a], axis), [x, x])
    assert_native(lambda a: np.concatenate([a, [1.5]], axis=None), [NUMBERS])


@pytest.mark.parametrize("axis", [0, 1, 2, -1, -3])
def test_stack(axis):
    for x in (NUMBERS, WORDS):
        same(ps.stack([x, x], axis), np.stack([x, x], axis))
        assert_native(lambda a: (ps.stack([a, a], axis), np.stack([a, a], axis)), [x, x])


def test_numbers_of_several_types_are_promoted_as_numpy_does():
    for a in dtypes():
        for b in dtypes():
            x, y = some((2,), a), some((3,), b)
            same(ps.concat([x, y], 0), np.concatenate([x, y]))
            same(ps.stack([x, y[:2]]), np.stack([x, y[:2]]))
            same(ps.where([True, False], x, y[:2]), np.where([True, False], x, y[:2]))


@pytest.mark.parametrize("number", [3, -2, 0.5, 1j, True, np.float32(1), np.int8(3)])
def test_plain_numbers_take_the_type_of_the_other(number):
    for dtype in dtypes():
        if np.dtype(dtype).kind == "u" and number == -2:
            continue
        x = np.arange(4).astype(dtype)
        wanted = np.where([True, False, True, False], x, number)
        same(ps.where([True, False, True, False], x, number), wanted)
        assert_native(lambda a: np.where(a == 1, a, number), [x, x])
        assert_native(lambda a: np.where(a == 1, number, a), [x, x])
    same(ps.where(True, 2, 0.5), np.where(True, 2, 0.5))
    with pytest.raises(OverflowError, match="where: Python integer 300 out of bounds for uint8"):
        ps.where([True], np.uint8([1]), 300)


@pytest.mark.parametrize(
    ("call", "error"),
    [
        (lambda: ps.concat([], 0), "concat: values must hold at least one"),
        (lambda: ps.concat([[1], [[1]]], 0), "concat: values must have the same shape"),
        (lambda: ps.concat([1, 2], 0), "concat: values must have at least one axis"),
        (lambda: ps.stack([[1], [1, 2]]), r"stack: values must be of one shape; .*\(1,\).*\(2,\)"),
        (lambda: ps.concat([WORDS[0], [1]], 0), "concat: values must be of one kind"),
        (lambda: ps.concat([[b"a"], ["a"]], 0), "concat: values must be of one kind, got bytes"),
        (lambda: ps.stack([object(), object()]), "stack: values must be numbers or strings"),
    ],
)
def test_values_that_do_not_go_together(call, error):
    with pytest.raises((ValueError, TypeError), match=error):
        call()


@pytest.mark.parametrize("reps", [(1, 1), (2, 1), (1, 3), (2, 2), (0, 2)])
def test_tile(reps):
    for x in (NUMBERS, WORDS):
        same(ps.tile(x, reps), np.tile(x, reps))
        assert_native(lambda a: ps.tile(a, reps), [x, x])
    assert_native(lambda a, n: ps.tile(a, [n, 1]), [(NUMBERS, np.int32(n)) for n in range(3)])


@pytest.mark.parametrize("reps", [3, (2,), (2, 1), (2, 1, 2), ()])
def test_tile_of_numpy(reps):
    assert_native(lambda a: np.tile(a, reps), [NUMBERS, NUMBERS + 1])


@pytest.mark.parametrize("multiples", [(1,), (1, -1), (2**40, 2**40), (1.0, 2.0)])
def test_multiples_that_do_not_fit(multiples):
    with pytest.raises((ValueError, TypeError)):
        ps.tile(NUMBERS, multiples)


PADDINGS = [[[0, 0], [0, 0]], [[1, 0], [0, 2]], [[0, 0], [2, 1]], [[1, 1], [0, 0]]]


@pytest.mark.parametrize("paddings", PADDINGS)
@pytest.mark.parametrize("mode", ["constant", "reflect", "symmetric", "edge"])
def test_pad(mode, paddings):
    for x in (NUMBERS, some((2, 3), "D"), some((2, 3, 4), "B")):
        width = paddings + [[0, 0]] * (x.ndim - 2)
        wanted = np.pad(x, width, mode)
        same(ps.pad(x, width, mode.upper()), wanted)
        assert_native(lambda a: (ps.pad(a, width, mode), np.pad(a, width, mode)), [x, x])  # noqa: B023


def test_pad_with_a_constant():
    same(ps.pad(NUMBERS, [[1, 0], [0, 0]], constant_values=7.9)[0], np.int16([7, 7, 7]))
    same(ps.pad(WORDS, [[0, 0], [0, 1]], constant_values=b"x")[:, 3], WORDS[:, 0] * 0 + b"x")
    elements = [(NUMBERS, n) for n in range(3)]
    assert_native(lambda a, n: ps.pad(a, [[n, 0], [0, 1]], constant_values=n), elements)
    assert_native(lambda a, n: np.pad(a, 2, constant_values=9), elements)
    assert_native(lambda a, n: np.pad(a, (1, 2)), elements)
    assert_native(lambda a, n: np.pad(a, ((1, 2),)), elements)


def test_a_scalar_is_an_array_of_one_item_for_take_and_squeeze_of_numpy():
    scalars = [np.int16(7), np.int16(8)]
    for axis in (0, -1, None):
        assert_native(lambda a: (np.take(a, [0, -1], axis=axis), a.take(0, axis)), scalars)  # noqa: B023
        assert_native(lambda a: (np.squeeze(a, axis), a.squeeze(axis)), scalars)  # noqa: B023
    assert_native(lambda a: np.take(a, [], axis=0), scalars)
    with pytest.raises(ValueError, match=r"indices must lie in \[-1, 1\) for axis 0, got 1"):
        list(ps.Dataset.from_tensors(1.0).map(ps.native(lambda a: np.take(a, [1], axis=0))))


TIMES = [np.array([5, 6], "m8[s]"), np.array(["2020-01-01", "NaT"], "M8[D]")]


@pytest.mark.parametrize("times", TIMES, ids=["durations", "dates"])
def test_times_are_padded_with_counts_of_their_unit(times):
    unitless = times.dtype.type("NaT")  # without a unit
    constants = [0, 7, 7.9, np.int8(-7), True, 2**63, np.nan, times[0], times[1], unitless]
    for constant in constants:
        wanted = np.pad(times, 1, constant_values=constant)
        same(ps.pad(times, [[1, 1]], constant_values=constant), wanted)
        assert_native(lambda a: np.pad(a, 1, constant_values=constant), [times, times])  # noqa: B023


@pytest.mark.parametrize(
    ("array", "constant"),
    [
        (TIMES[0], np.timedelta64(3, "m")),
        (TIMES[0], TIMES[1][0]),
        (TIMES[1], np.timedelta64(3, "D")),
        (np.ones(2), TIMES[0][0]),
        (np.ones(2, bool), TIMES[1][0]),
    ],
)
def test_a_constant_of_another_kind_than_the_array_is_refused(array, constant):
    with pytest.raises(TypeError, match=r"pad: constant_values must be .* as the array, got "):
        ps.pad(array, [[1, 1]], constant_values=constant)


CONSTANTS = [300, -129, 2**40, 2**63, np.int64(300), np.int8(-5), np.uint64(2**63), True, 1j]
CONSTANTS += [-1.9, 1e10, np.inf, np.nan, np.float32(-1.5), np.array(200)]


@pytest.mark.filterwarnings("ignore::RuntimeWarning", "ignore::numpy.exceptions.ComplexWarning")
@pytest.mark.parametrize("constant", CONSTANTS, ids=repr)
@pytest.mark.parametrize("dtype", dtypes("?bhilBHefF"), ids=str)
def test_a_constant_is_converted_as_by_numpy_or_refused(dtype, constant):
    x = np.ones(2, dtype)
    native = ps.native(lambda a: np.pad(a, 1, constant_values=constant))
    try:
        wanted = np.pad(x, 1, constant_values=constant)
    except (OverflowError, ValueError) as error:
        with pytest.raises(type(error), match="pad: "):
            list(ps.Dataset.from_tensors(x).map(native))
    else:
        same(next(iter(ps.Dataset.from_tensors(x).map(native))), wanted)
    assert_native(lambda a: np.pad(a, 1, constant_values=constant), [x[0], x[1]])


@pytest.mark.parametrize("mode", ["reflect", "symmetric", "edge"])
@pytest.mark.parametrize("size", [1, 2, 3, 5])
def test_mirrors_of_numpy_show_what_they_mirror(size, mode):
    x = np.arange(2 * size).reshape(2, size)
    for width in [1, (0, 3), (7, 4), ((0, 0), (13, 30)), ((9, 2), (1, 0))]:
        assert_native(lambda a: np.pad(a, width, mode), [x, x])  # noqa: B023


@pytest.mark.parametrize("mode", ["reflect", "symmetric", "edge"])
def test_an_axis_of_no_items_has_nothing_to_pad_with(mode):
    empty = np.zeros((0, 2))
    with pytest.raises(ValueError, match=r"in \[0, 0\] for axis 0 of shape \(0, 2\), got 1 and"):
        ps.pad(empty, [[1, 0], [0, 0]], mode)
    assert_native(lambda a: np.pad(a, ((0, 0), (1, 1)), mode), [empty, empty])


@pytest.mark.parametrize(
    ("paddings", "mode"),
    [
        ([[1, 1]], "CONSTANT"),
        ([[0, -1], [0, 0]], "CONSTANT"),
        ([[2**60, 0], [0, 0]], "CONSTANT"),
        ([[2, 0], [0, 0]], "REFLECT"),
        ([[3, 0], [0, 0]], "SYMMETRIC"),
        ([[0, 0], [0, 0]], "WRAP"),
    ],
)
def test_paddings_that_do_not_fit(paddings, mode):
    with pytest.raises(ValueError, match=r"pad: (paddings|mode) must"):
        ps.pad(NUMBERS, paddings, mode)


@pytest.mark.parametrize("axis", [0, 1, -1])
@pytest.mark.parametrize("indices", [0, [1], [[0, 1], [1, 0]], []])
def test_gather(axis, indices):
    indices = np.array(indices, np.int32)
    for x in (NUMBERS, WORDS):
        same(ps.gather(x, indices, axis=axis), np.take(x, indices, axis))
        assert_native(lambda a: ps.gather(a, indices, axis=axis), [x, x])
        assert_native(lambda a: (np.take(a, indices - 1, axis), a.take(indices)), [x, x])
    table = some((2, 5))
    assert_native(lambda i: ps.gather(table, i), [indices, indices])


def test_gather_with_batch_dims():
    params, indices = some((2, 3, 4, 5)), RNG.integers(0, 4, (2, 3, 2))
    wanted = np.stack([[params[i, j][indices[i, j]] for j in range(3)] for i in range(2)])
    same(ps.gather(params, indices, batch_dims=2), wanted)
    wanted = np.stack([params[i][..., indices[i, 0]] for i in range(2)])
    same(ps.gather(params, indices[:, 0], axis=3, batch_dims=1), wanted)


@pytest.mark.parametrize(
    ("call", "error"),
    [
        (lambda: ps.gather(NUMBERS, [2]), r"indices must lie in \[0, 2\).*got 2"),
        (lambda: ps.gather(NUMBERS, [-1]), r"indices must lie in \[0, 2\).*got -1"),
        (lambda: ps.gather(NUMBERS, [0.0]), "indices must hold integers, got float64"),
        (lambda: ps.gather(3, [0]), "params must have at least one axis"),
        (lambda: ps.gather(NUMBERS, [0, 0, 0], batch_dims=1), "batch_dims"),
        (lambda: ps.gather(NUMBERS, [0], axis=2), "axis must lie"),
        (lambda: ps.gather(np.zeros((0, 2)), [0]), "axis 0 has no items to take, got 0"),
    ],
)
def test_what_gather_refuses(call, error):
    with pytest.raises((ValueError, TypeError), match=f"gather: .*{error}"):
        call()


@pytest.mark.parametrize("shapes", [((3,), (3,), (3,)), ((2, 1), (3,), ()), ((), (2, 3), (3,))])
def test_where(shapes):
    for dtype in ("b", "h", "f", "d", "D", "g"):
        condition = some(shapes[0]) > 0
        x, y = some(shapes[1], dtype), some(shapes[2], dtype)
        same(ps.where(condition, x, y), np.where(condition, x, y))
        assert_native(lambda c, a, b: (ps.where(c, a, b), np.where(c, b, a)), [(condition, x, y)])
    assert_native(lambda w: ps.where(NUMBERS > 2, w, b"-"), [WORDS, WORDS])


def test_where_alone_gives_places():
    for x in (NUMBERS, some((2, 3, 4)), np.float64(3), np.zeros((0, 3)), np.array([np.nan, 0])):
        same(ps.where(x), np.argwhere(x))
        assert_native(lambda a: ps.where(a), [x, x])


@pytest.mark.parametrize(
    "call",
    [
        lambda: ps.where([True], 1),
        lambda: ps.where([True, False], [1, 2, 3], 0),
        lambda: ps.where([True], [1], b"a"),
        lambda: ps.where([b"a"], 1, 2),
        lambda: ps.where([b"a"]),
    ],
)
def test_what_where_refuses(call):
    with pytest.raises((ValueError, TypeError), match=r"^where: "):
        call()


@pytest.mark.parametrize("limits", [(-2, 3), (0.5, 2.5), (np.float32(-1), [0, 1, 2])])
def test_clip(limits):
    x = some((2, 3))
    same(ps.clip_by_value(x, *limits), np.clip(x, *limits))
    assert_native(lambda a: (ps.clip_by_value(a, *limits), np.clip(a, *limits)), [x, x])
    assert_native(lambda a: (a.clip(-1), a.clip(max=2), np.clip(a, 0, 1)), [x, x])


@pytest.mark.parametrize("depth", [0, 1, 4])
@pytest.mark.parametrize("axis", [-1, 0, 1])
def test_one_hot(axis, depth):
    indices = np.array([[0, 3, 1], [-1, 4, 9]])
    wanted = np.moveaxis(indices[..., None] == np.arange(depth), -1, axis).astype(np.float32)
    same(ps.one_hot(indices, depth, axis=axis), wanted)
    same(ps.one_hot(indices, depth, axis=axis, dtype=bool), wanted.astype(bool))
    same(ps.one_hot(indices, depth, 5, np.int8(2), axis), np.where(wanted, np.int8(5), np.int8(2)))
    assert_native(lambda i: ps.one_hot(i, depth, axis=axis), [indices, indices])


def test_one_hot_of_each_number():
    same(ps.one_hot(np.uint8(2), 3), np.float32([0, 0, 1]))
    assert_native(lambda i: ps.one_hot(i, 5), [np.int64(n) for n in range(6)])
    assert_native(lambda i, n: ps.one_hot(i, n, on_value=n), [(0, 2), (1, 3)])


@pytest.mark.parametrize("depth", [-1, [1, 2], 2.0, 2**62])
def test_depths_that_are_none(depth):
    with pytest.raises((ValueError, TypeError), match="one_hot: depth"):
        ps.one_hot([1, 2, 3], depth)


def test_zeros_and_ones():
    same(ps.zeros((2, 3)), np.zeros((2, 3), np.float32))
    same(ps.ones(2, "int16"), np.ones(2, np.int16))
    same(ps.ones((), complex), np.ones((), complex))
    same(ps.fill([0, 2], 1.5), np.zeros((0, 2)))
    assert_native(lambda n: (ps.zeros([n, 2]), ps.ones(n, bool), ps.fill([2], n)), [1, 3])
    for dtype in dtypes():
        x = some((2, 3), dtype)
        same(ps.zeros_like(x), np.zeros_like(x))
        assert_native(
            lambda a: (np.ones_like(a), np.zeros_like(a, np.uint8), ps.zeros_like(a)), [x]
        )


@pytest.mark.parametrize("sizes", [(-1,), (2**62, 2**62), (2, 1.5), ((1, 2), (3, 4))])
def test_sizes_that_are_none(sizes):
    with pytest.raises((ValueError, TypeError)):
        ps.zeros(sizes)


def test_options_of_numpy_that_cannot_be_traced():
    for function in (
        lambda x: np.reshape(x, (2, 3), order="F"),
        lambda x: np.sum(x, where=x > 1),
        lambda x: np.where(x),
        lambda x: np.cumsum(x),
        lambda x: np.pad(x, 1, "linear_ramp", end_values=3),
    ):
        with pytest.raises((ps.TraceError, ValueError)):
            list(ps.Dataset.from_tensors(NUMBERS).map(ps.native(function)))


@pytest.mark.parametrize(
    "call",
    [
        lambda x: ps.transpose(x),
        lambda x: ps.tile(x, (2,)),
        lambda x: ps.gather(x, [0]),
        lambda x: ps.pad(x, [[1, 0]], constant_values=None),
        lambda x: ps.concat([x, x], 0),
        lambda x: ps.where([True], x, x),
    ],
)
def test_opaque_objects_are_refused(call):
    with pytest.raises(TypeError, match="numbers or strings"):
        call(np.array([object()]))
