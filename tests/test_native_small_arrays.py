"""Random calls on scalars and small arrays, with no axes, one item or no item, against NumPy."""

import operator
import random

import numpy as np
import pytest

import penstock as ps

TYPES = ["?", "b", "h", "l", "B", "L", "e", "f", "f", "d", "F", "D"]
SHAPES = [(), (), (), (1,), (1, 1), (0,), (0, 2), (3,), (2, 3)]
NUMBERS = [0, 1, 2, 3, -1, -2, 100, 255, 256, 300, -129, 2**31, 2**53 + 1, 2**63, -(2**63), True]
NUMBERS += [0.5, 2.0, -1.0, 0.1, -2.5, 1e300, float("inf"), float("nan"), 2 - 1j]

OPERATORS = [
    *(operator.add, operator.sub, operator.mul, operator.truediv, operator.floordiv, operator.mod),
    *(operator.lt, operator.le, operator.eq, operator.ne, operator.and_, operator.xor, divmod),
    *(np.maximum, np.fmin, np.arctan2, np.power, np.logical_and, np.copysign),
    *(lambda a, b: a**b,) * 12,
]
REDUCTIONS = ["sum", "prod", "mean", "max", "min", "any", "all"]

# Where NumPy keeps a zero-dimensional array, and where it returns a scalar.
FORMS = [
    *(lambda x: x,) * 4,
    lambda x: np.where(True, x, x),
    lambda x: x[None][0, ...],
    lambda x: np.squeeze(x),
    lambda x: np.squeeze(x[None], 0),
    lambda x: np.reshape(x, ()),
    lambda x: np.reshape(x, -1)[:1].reshape(()),
    lambda x: np.where(True, x, x)[()],
    lambda x: np.where(True, x, x).T.copy(),
    lambda x: -np.where(True, x, x),
    lambda x: x[None][0],
]


def number(rng, kind):
    if kind == "?":
        return rng.random() < 0.5
    if kind in "bhlBL":
        return rng.randint(0 if kind in "BL" else -5, 9)
    if rng.random() < 0.1:
        return rng.choice([0.0, -0.0, float("nan"), float("inf"), -float("inf")])
    return rng.gauss(0, 4) + (1j * rng.gauss(0, 4) if kind in "FD" else 0)


def array(rng, shape=None):
    """Return an array, or a scalar if there are no axes."""
    shape = rng.choice(SHAPES) if shape is None else shape
    if rng.random() < 0.05:
        return np.full(shape, rng.randint(-9, 9), "m8[s]")[()]
    kind = rng.choice(TYPES)
    items = [number(rng, kind) for _ in range(int(np.prod(shape)))]
    return np.array(items, kind).reshape(shape)[()]


def constant(rng):
    if rng.random() < 0.5:
        return rng.choice(NUMBERS)
    value = array(rng, rng.choice([(), (), (1,), (0,)]))
    return np.asarray(value) if rng.random() < 0.2 else value


def operation(rng):
    function, form, other = rng.choice(OPERATORS), rng.choice(FORMS), rng.choice(FORMS)
    value, way = constant(rng), rng.randrange(3)
    if way == 0:
        return lambda x, y: function(form(x), other(y))
    if way == 1:
        return lambda x, y: function(value, form(x))
    return lambda x, y: function(form(x), value)


def reduction(rng):
    name, form, method = rng.choice(REDUCTIONS), rng.choice(FORMS), rng.random() < 0.5
    options = {"axis": rng.choice([None, 0, -1, 1, (), (0,)]), "keepdims": rng.random() < 0.5}
    if method:
        return lambda x, y: getattr(form(x), name)(**options)
    return lambda x, y: getattr(np, name)(form(x), **options)


def movement(rng):
    form, axis, value, last = (
        rng.choice(FORMS),
        rng.choice([None, 0, -1]),
        constant(rng),
        constant(rng),
    )
    width, times = rng.choice([0, 1, (0, 2), (3, 1)]), rng.choice([0, 2, (2, 1), ()])
    mode, places = rng.choice(["reflect", "symmetric", "edge"]), rng.choice([0, [0], [0, -1], []])
    return rng.choice(
        [
            lambda x, y: np.concatenate([value, form(x), last], axis=None),
            lambda x, y: np.concatenate([form(x), value], axis=None),
            lambda x, y: np.concatenate([form(x), y], axis=axis),
            lambda x, y: np.stack([form(x), value]),
            lambda x, y: np.where(y, form(x), value),
            lambda x, y: np.clip(form(x), value, last),
            lambda x, y: np.clip(form(x), y, value),
            lambda x, y: np.pad(form(x), width, constant_values=value),
            lambda x, y: np.pad(form(x), width, mode),
            lambda x, y: np.take(form(x), places, axis),
            lambda x, y: np.squeeze(form(x), axis),
            lambda x, y: np.tile(form(x), times),
            lambda x, y: (np.zeros_like(form(x)), np.transpose(form(x)), form(x).ravel()),
        ]
    )


def outcome(dataset):
    try:
        return next(iter(dataset()))
    except Exception as error:
        return error


def bits(value):
    """Return the properties that two results must share; the sign of a NaN is ignored."""
    if isinstance(value, tuple):
        return tuple(map(bits, value))
    value = np.array(value)
    for part in (value.real, value.imag) if value.dtype.kind == "c" else (value,):
        if value.dtype.kind in "fc":
            part[np.isnan(part)] = np.nan
    return value.dtype, value.shape, value.tobytes()


# Calls that native functions refuse although NumPy has a result: two where the result is not
# certain, and times with plain numbers.
REFUSED = ("has no order", "by zero, which is an error in Python", "is what Python makes of it")
REFUSED += (
    "no such operation",
    "must be of one kind",
    "numbers were expected",
    "as the array, got",
)
REFUSED += ("must be booleans or numbers", "must be an array of numbers")


def disagree(native, plain):
    if isinstance(native, Exception):
        if isinstance(native, ps.TraceError) or any(text in str(native) for text in REFUSED):
            return False
        if isinstance(plain, OverflowError) and "be broadcast together" not in str(native):
            return not isinstance(native, OverflowError)
        return not isinstance(plain, Exception)
    return isinstance(plain, Exception) or bits(native) != bits(plain)


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("seed", range(8))
def test_random_calls_give_what_numpy_gives(seed):
    rng = random.Random(seed)
    found = []
    for _ in range(500):
        x = array(rng)
        y = array(rng, np.shape(x) if rng.random() < 0.5 else None)
        case = rng.getrandbits(32)
        make = rng.choice([operation, operation, reduction, movement])
        function = make(random.Random(case))
        source = ps.Dataset.from_tensors((x, y))
        plain = outcome(lambda: source.map(function))  # noqa: B023
        native = outcome(lambda: source.map(ps.native(function)))  # noqa: B023
        if disagree(native, plain):
            found.append(
                f"{make.__name__}(Random({case})), {x!r}, {y!r}: {native!r}, not {plain!r}"
            )
    assert not found, "\n".join(found)
