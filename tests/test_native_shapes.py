"""Shapes in native functions: tuples of Python ints, as in a plain function, or an error."""

# The tests join tuples with +, so these rules do not apply.
# ruff: noqa: RUF005, SIM300
import numpy as np
import pytest

import penstock as ps
from compare import difference
from native_contract import assert_native

Dataset = ps.Dataset
ROWS = [np.arange(6, dtype=np.float32).reshape(2, 3), np.zeros((1, 5), np.float32)]

TUPLES = {
    "+ tuple": lambda x: ps.zeros(x.shape + (3,)),
    "tuple +": lambda x: ps.zeros((1,) + x.shape),
    "+ nothing": lambda x: ps.ones(x.shape + ()),
    "+ shape": lambda x: ps.zeros(x.shape + x.shape[:1]),
    "+ size": lambda x: ps.zeros((x.shape[1],) + x.shape[:1] + (x.shape[0] * 2, 1)),
    "+ value": lambda x: ps.zeros(x.shape + (ps.shape(x)[0],)),
    "*": lambda x: ps.zeros(x.shape * 2),
    "* size": lambda x: ps.zeros(x.shape * x.shape[0]),
    "* none": lambda x: ps.zeros((4,) + x.shape * 0),
    "int *": lambda x: ps.zeros(2 * x.shape),
    "slices": lambda x: ps.zeros(x.shape[::-1] + x.shape[-1:] + x.shape[5:]),
    "fill": lambda x: ps.fill(x.shape + (2,), 1.0),
    "reshape": lambda x: (x.reshape(x.shape[:1] + (-1,)), np.reshape(x, (-1,) + x.shape[1:])),
    "np.shape": lambda x: ps.zeros(np.shape(x) + (1,)),
    "random": lambda x: ps.random.uniform(x.shape[:1] + (1,)),
    "shape of it": lambda x: ps.shape(ps.zeros(x.shape + (3,))),
    "tile": lambda x: np.tile(x, x.shape[:1] + (1,)),
}
ARRAYS = {
    "+ array": lambda x: (x.shape + np.array([1, 2]), np.array([1.5, 2]) - x.shape),
    "+ scalar": lambda x: (x.shape + np.int64(2), np.int8(1) + x.shape),
    "array ==": lambda x: (np.array([2, 3]) == x.shape, np.equal(x.shape, (2, 3))),
    "numpy": lambda x: (np.sum(x.shape), np.prod(x.shape), np.max(x.shape), np.sqrt(x.shape)),
    "with rows": lambda x: np.concatenate([x.shape, [1, 2]]),
    "items": lambda x: np.stack([x.shape, (7, 8)]),
}
SIZES = {
    "size": lambda x: x.shape[0],
    "sizes": lambda x: (x.shape[0], x.shape[-1], np.shape(x)[1]),
    "by": lambda x: (x / x.shape[0], x * x.shape[1], x.shape[0] - x, np.float16(2) * x.shape[0]),
    "mean": lambda x: np.sum(x) * (1 / x.shape[0]) + 0.5 * x.shape[1],
    "int": lambda x: (x.shape[0] + 1, x.shape[0] - 7, 3 * x.shape[1], 7 // x.shape[1], -7 % 3),
    "floor": lambda x: (-7 // x.shape[1], -7 % x.shape[1], x.shape[1] % -2, x.shape[1] // -2),
    "float": lambda x: (x.shape[0] / 2, 2.5 * x.shape[1] // 2, 7.5 % x.shape[1], -x.shape[0] / 3),
    "bits": lambda x: (x.shape[0] & 1, x.shape[1] | 8, x.shape[1] ^ 1, ~x.shape[0], 5 & x.shape[1]),
    "power": lambda x: (x.shape[1] ** 2, x.shape[1] ** 3, x.shape[0] << 4, x.shape[1] >> 1),
    "divmod": lambda x: (*divmod(x.shape[1], 2), *divmod(9, x.shape[1])),
    "compare": lambda x: (x.shape[0] == 2, x.shape[0] != 2, x.shape[1] < 4, 3 <= x.shape[1]),
    "booleans": lambda x: ((x.shape[0] > 1) & (x.shape[1] > 1), (x.shape[0] > 1) + 1),
    "weak float": lambda x: x * (x.shape[0] / x.shape[1]),
    "choose": lambda x: np.where(x > 1, x.shape[0], x),
    "in numpy": lambda x: (np.sqrt(x.shape[0]), np.maximum(x, x.shape[1]), np.add(x.shape[0], 1)),
    "index": lambda x: (x[x.shape[0] - 1], x[:, : x.shape[1] // 2], x[-x.shape[0] :]),
    "as sizes": lambda x: (ps.zeros([x.shape[0], 2]), ps.zeros((x.shape[1],)), ps.ones(x.shape[0])),
    "clip": lambda x: np.clip(x, 0, x.shape[0]),
}


@pytest.mark.parametrize("name", [*TUPLES, *ARRAYS, *SIZES])
def test_shapes_are_what_they_are_in_a_plain_function(name):
    assert_native({**TUPLES, **ARRAYS, **SIZES}[name], ROWS)


@pytest.mark.parametrize("dtype", "?bBhilLefdF")
def test_sizes_take_the_type_of_arrays(dtype):
    x = np.ones((3, 2), dtype)
    for function in (
        lambda x: x + x.shape[0],
        lambda x: x.shape[0] * x,
        lambda x: x * (x.shape[0] / 2),
        lambda x: (x < x.shape[0], np.where(x > 2, x.shape[0], x)),
    ):
        assert_native(function, [x, x[:1]])


def test_a_size_beyond_the_type_of_an_array():
    rows = [np.zeros(n, np.uint8) for n in (3, 300, 4)]
    assert_native(lambda x: (x < x.shape[0], x == x.shape[0] - 5), rows)
    assert_native(lambda x: np.clip(x[:2], x.shape[0] - 300, x.shape[0]), rows)
    source = Dataset.from_generator(lambda: rows, output_signature=ps.TensorSpec([None], "B"))
    it = iter(source.map(ps.native(lambda x: x[:1] + x.shape[0])))
    assert difference(next(it), np.array([3], np.uint8)) is None
    with pytest.raises(OverflowError, match="300 out of bounds for uint8"):
        next(it)
    assert difference(next(it), np.array([4], np.uint8)) is None


def test_sizes_that_are_joined_to_arrays_have_the_type_that_numpy_gives_them():
    rows = [np.zeros((n, 2), np.uint8) for n in (3, 300)]
    assert_native(lambda x: np.concatenate([x.shape[1], x, x.shape[0]], axis=None), rows)
    assert_native(lambda x: np.concatenate([x.shape[0] / 2, x], axis=None), rows)
    assert_native(lambda x: np.concatenate([x.shape[0], 1, 0.5], axis=None), rows)
    assert_native(lambda x: np.stack([x[0, 0], x.shape[0]]), rows)
    assert_native(lambda x: ps.stack([x[0, 0], x.shape[1]]), rows)


CANNOT = {
    "returned": (lambda x: x.shape, r"cannot return x\.shape.*ps\.shape\(x\)"),
    "returned within": (lambda x: {"shape": x.shape}, r"cannot return x\.shape"),
    "==": (lambda x: x.shape == (2, 3), "a tuple to compare"),
    "!=": (lambda x: (2, 3) != x.shape, "a tuple to compare"),
    "<": (lambda x: x.shape < (2, 4), "a tuple to compare"),
    "len": (lambda x: ps.zeros(len(x.shape)), "a length"),
    "unpack": (lambda x: ps.zeros([*x.shape, 1]), r"unpack; write x\.shape\[0\], x\.shape\[1\]"),
    "two": (lambda x: _first_of_two(x.shape), "loop over or unpack"),
    "sum": (lambda x: sum(x.shape), "loop over or unpack"),
    "tuple": (lambda x: ps.zeros(tuple(x.shape)), "loop over or unpack"),
    "in": (lambda x: 2 in x.shape, "search"),
    "text": (lambda x: f"{x.shape}", "text"),
    "text of a size": (lambda x: f"{x.shape[0]}", "text"),
    "if": (lambda x: 1 if x.shape[0] > 1 else 2, "condition"),
    "int": (lambda x: int(x.shape[0] * 0.5), "an int"),
    "range": (lambda x: list(range(x.shape[0])), "an index or a count"),
    "method": (lambda x: x.shape.astype(np.float32), "attribute 'astype'"),
    "method of a size": (lambda x: x.shape[0].astype(np.float32), "attribute 'astype'"),
    "times an array": (lambda x: x.shape * np.array([1, 2]), "repeated or an array"),
    "times a scalar": (lambda x: np.int64(2) * x.shape, "repeated or an array"),
    "float joined": (lambda x: ps.zeros(x.shape + (1.5,)), "joined to float"),
    "ndim": (lambda x: x.ndim, "attribute 'ndim'"),
    "size": (lambda x: x.size, "attribute 'size'"),
    "joined item": (lambda x: (x.shape + (np.int64(1),))[0], "item of a tuple"),
}


def _first_of_two(shape):
    height, _ = shape
    return height


@pytest.mark.parametrize("name", CANNOT)
def test_what_cannot_be_known_of_a_shape_is_said_at_its_line(name):
    function, message = CANNOT[name]
    with pytest.raises(ps.TraceError, match=message):
        Dataset.from_tensors(ROWS[0]).map(ps.native(function))


@pytest.mark.parametrize(
    "function",
    [
        lambda x: ps.zeros(x.shape + [3]),
        lambda x: ps.zeros(x.shape + 3),
        lambda x: ps.zeros(x.shape * 2.0),
        lambda x: x.shape - 1,
        lambda x: x.shape[0.5],
        lambda x: x.shape[None],
        lambda x: -x.shape,
        lambda x: x.shape[0][0],
        lambda x: x.shape[0] + "a",
        lambda x: x.shape[0] @ 2,
    ],
)
def test_what_is_an_error_of_tuples_and_numbers_is_one(function):
    with pytest.raises(TypeError):
        function(ROWS[0])
    with pytest.raises((TypeError, ps.TraceError)):
        Dataset.from_tensors(ROWS[0]).map(ps.native(function))


@pytest.mark.parametrize(
    ("function", "rows"),
    [
        (lambda x: 10 // x.shape[0], "zero"),
        (lambda x: x.shape[0] % (x.shape[0] - 2), "zero"),
        (lambda x: 1.5 / (x.shape[0] - x.shape[0]), "zero"),
        (lambda x: (x.shape[0] + 2) ** 62, "more bits"),
        (lambda x: x.shape[0] * 2**62 + 2**62, "more bits"),
        (lambda x: np.sqrt(x[0].shape[2:]), "tuple of sizes is empty"),
    ],
)
def test_numbers_of_sizes_that_python_alone_has_are_errors_of_their_element(function, rows):
    element = np.zeros((0 if "10" in str(function.__code__.co_consts) else 2, 3))
    with pytest.raises(ValueError, match=rows):
        list(Dataset.from_tensors(element).map(ps.native(function)))
