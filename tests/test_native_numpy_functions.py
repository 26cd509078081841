"""NumPy functions that rearrange, round or reduce arrays, in native functions."""

import numpy as np
import pytest

import penstock as ps
from compare import assert_same
from native_contract import assert_native

TYPES = ["int8", "uint8", "int64", "float16", "float32", "float64"]


def arrays(dtype, *shape, count=3):
    rng = np.random.default_rng(len(shape))
    return [(rng.normal(0, 40, shape) * (i + 1)).astype(dtype) for i in range(count)]


@pytest.mark.parametrize("dtype", TYPES)
@pytest.mark.parametrize("decimals", [-2, -1, 0, 1, 3])
def test_round(dtype, decimals):
    elements = arrays(dtype, 4, 5)
    assert_native(lambda x: np.round(x, decimals), elements)
    assert_native(lambda x: np.around(x, decimals) * 2, elements)
    assert_native(lambda x: x.round(decimals), [x[0, 0] for x in elements])


@pytest.mark.parametrize("dtype", ["float16", "float32", "float64"])
def test_round_of_halves_and_special_values(dtype):
    values = [0.5, 1.5, 2.5, -0.5, -0.4, 0.0, -0.0, np.inf, -np.inf, np.nan, 1e-7, 6e4]
    x = np.array(values, dtype)
    assert_native(np.round, [x, -x])
    (made,) = ps.Dataset.from_tensors(x).map(ps.native(np.round))
    np.testing.assert_array_equal(np.signbit(made), np.signbit(np.round(x)))


def test_round_of_other_types_is_refused():
    with pytest.raises(TypeError, match="round: a must be of an integer or float type, got bool"):
        list(ps.Dataset.from_tensors([True]).map(ps.native(np.round)))


ONE = {
    "flip": np.flip,
    "flip of an axis": lambda x: np.flip(x, 1),
    "flip of axes": lambda x: np.flip(x, (0, -1)),
    "fliplr": np.fliplr,
    "flipud": np.flipud,
    "swapaxes": lambda x: np.swapaxes(x, 0, -1),
    "swapaxes, the method": lambda x: x.swapaxes(1, 2),
    "moveaxis": lambda x: np.moveaxis(x, -1, 0),
    "moveaxis of several": lambda x: np.moveaxis(x, (0, 1), (-1, 0)),
    **{f"rot90 {k}": lambda x, k=k: np.rot90(x, k) for k in (-1, 0, 1, 2, 3, 5)},
    "rot90 of other axes": lambda x: np.rot90(x, 1, (2, 1)),
    "roll": lambda x: np.roll(x, 3),
    "roll of an axis": lambda x: np.roll(x, -2, 1),
    "roll by more than the size": lambda x: np.roll(x, 17, -1),
    "roll of axes": lambda x: np.roll(x, (1, 2), (0, 1)),
    "roll by one for all axes": lambda x: np.roll(x, 1, (0, 2)),
    "roll by a value": lambda x: np.roll(x, np.shape(x)[0], 1),
    "split at positions": lambda x: tuple(np.split(x, [1, 3], axis=1)),
    "split beyond the end": lambda x: tuple(np.split(x, [2, 90])),
    "hstack": lambda x: np.hstack([x, x * 2]),
    "hstack of rows": lambda x: np.hstack([x[0, 0], np.arange(3.0)]),
    "hstack of scalars": lambda x: np.hstack((x[0, 0, 0], x[1, 0, 0])),
    "vstack": lambda x: np.vstack([x[0, 0], x[0, 1]]),
    "vstack of more axes": lambda x: np.vstack([x, x]),
    "dstack": lambda x: np.dstack([x, x]),
    "dstack of fewer axes": lambda x: np.dstack([x[0], x[1]]),
    "dstack of rows": lambda x: np.dstack((x[0, 0], x[0, 1])),
    "column_stack": lambda x: np.column_stack([x[0, 0], x[0, 1]]),
    "atleast_1d": lambda x: np.atleast_1d(x[0, 0, 0]),
    "atleast_2d": lambda x: np.atleast_2d(x[0, 0], x),
    "atleast_3d": lambda x: np.atleast_3d(x[0, 0], x[0], x[0, 0, 0]),
    "broadcast_to": lambda x: np.broadcast_to(x[0], (2, 6, 5)),
    "broadcast_to of one": lambda x: np.broadcast_to(x[0, 0, 0], (3,)),
    "full_like": lambda x: np.full_like(x, 7),
    "full_like of a type": lambda x: np.full_like(x, 2.7, dtype=np.float32),
    "ptp": np.ptp,
    "ptp of an axis": lambda x: np.ptp(x, axis=1, keepdims=True),
    "average": np.average,
    "average of an axis": lambda x: np.average(x, axis=(0, 2)),
}


@pytest.mark.parametrize("name", ONE)
@pytest.mark.parametrize("dtype", TYPES)
def test_functions_of_one_array(name, dtype):
    assert_native(ONE[name], arrays(dtype, 4, 6, 5))


@pytest.mark.parametrize("dtype", TYPES)
def test_equal_parts_of_known_sizes(dtype):
    source = ps.Dataset.from_tensor_slices(np.stack(arrays(dtype, 4, 6, 5)))
    for function in (
        lambda x: tuple(np.split(x, 2)),
        lambda x: tuple(np.split(x, 3, axis=-2)),
        lambda x: tuple(np.array_split(x, 3, axis=2)),
    ):
        assert_same(list(source.map(ps.native(function))), list(source.map(function)))
    with pytest.raises(ValueError, match="equal division"):
        source.map(ps.native(lambda x: np.split(x, 3)))


def test_sizes_that_are_not_known():
    elements = [*arrays("uint8", 4, 5, 3), *arrays("uint8", 6, 2, 3)]
    for name in ("flip", "fliplr", "flipud", "roll", "roll of axes", "rot90 1", "moveaxis", "ptp"):
        assert_native(ONE[name], elements)
    assert_native(lambda x: np.vstack([x, x]), elements)
    assert_native(lambda x: np.roll(x[:0], 1, 0), elements)


@pytest.mark.parametrize(
    ("function", "words"),
    [
        (lambda x: np.split(x, 2), "split into equal parts needs an axis whose size is known"),
        (lambda x: np.full_like(x, 2.5), "full_like with 2.5 needs a dtype"),
        (lambda x: np.full_like(x, x[0, 0]), "full_like of a value"),
        (lambda x: np.broadcast_to(x, (1, 3)), "broadcast_to of shape"),
        (lambda x: np.average(x, weights=x), "average cannot be traced so"),
        (lambda x: np.round(x, out=x), "round with out"),
        (lambda x: np.moveaxis(np.squeeze(x), 0, 1), "number of axes is known"),
    ],
)
def test_what_cannot_be_traced(function, words):
    source = ps.Dataset.from_generator(
        lambda: iter([np.ones((4, 3))]), output_signature=ps.TensorSpec((None, 3), np.float64)
    )
    with pytest.raises(ps.TraceError, match=words):
        source.map(ps.native(function))
