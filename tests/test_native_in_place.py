"""In-place operators in native functions behave as in plain ones."""

import copy
import operator

import numpy as np
import pytest

import penstock as ps
from native_contract import assert_native, dtypes, run, source_of

Dataset = ps.Dataset

OPERATORS = {
    "+=": operator.iadd,
    "-=": operator.isub,
    "*=": operator.imul,
    "/=": operator.itruediv,
    "//=": operator.ifloordiv,
    "%=": operator.imod,
    "**=": operator.ipow,
    "&=": operator.iand,
    "|=": operator.ior,
    "^=": operator.ixor,
    "<<=": operator.ilshift,
    ">>=": operator.irshift,
}


def outcome(dataset):
    """Return the elements, or the type of the first error."""
    try:
        return run(dataset)
    except (TypeError, ValueError, OverflowError) as error:
        return next(
            kind for kind in (OverflowError, ValueError, TypeError) if isinstance(error, kind)
        )


@pytest.mark.parametrize("name", OPERATORS)
@pytest.mark.parametrize(
    "other", [2, 2.5, np.float32(3), np.int64(2), np.ones((2, 3), np.int8)], ids=repr
)
@pytest.mark.filterwarnings("ignore::RuntimeWarning")
def test_every_type_and_operator(name, other):
    change = OPERATORS[name]

    def function(x):
        return change(x, other)

    for dtype in dtypes():
        for value in (np.arange(6).reshape(2, 3).astype(dtype), dtype.type(3)):
            source = source_of([value, value])
            plain = outcome(source.map(function))
            if isinstance(plain, type):
                assert outcome(source.map(ps.native(function))) is plain, dtype
            else:
                assert_native(function, [value, value])


SHAPES = [((3,), (2, 3)), ((3,), (1, 3)), ((2, 3), (3,)), ((2, 3), (1, 3)), ((1, 3), (2, 3))]
SHAPES += [((), (3,)), ((3,), ()), ((1,), (1,)), ((1, 1), (1,)), ((0,), (1,)), ((2, 1), (2, 1))]


@pytest.mark.parametrize(("mine", "its"), SHAPES)
def test_shapes_that_fit_and_those_that_do_not(mine, its):
    def function(x, y):
        x += y
        return x

    element = (np.ones(mine)[()], np.full(its, 2.0)[()])
    source = source_of([element, element])
    plain = outcome(source.map(function))
    if plain is ValueError:
        for calls in (None, 2):
            native = source.map(ps.native(function), num_parallel_calls=calls)
            assert outcome(native) is plain
            assert outcome(source.batch(2).unbatch().map(ps.native(function))) is plain
    else:
        assert_native(function, [element, element])


@pytest.mark.filterwarnings("ignore::RuntimeWarning")
@pytest.mark.parametrize("name", OPERATORS)
def test_an_array_without_axes_keeps_its_type_as_one_with_axes_does(name):
    change = OPERATORS[name]
    made = [
        lambda x: np.where(True, x, x),
        lambda x: x[...],
        lambda x: np.squeeze(x[None]),
        lambda x: np.squeeze(x),
        lambda x: change(np.where(True, x, x), x),
    ]
    for form in made:
        for dtype in dtypes("?hBfF"):
            for other in (2, 2.5, np.float64(2.5), np.int16(3), np.ones(1)):
                source = source_of([dtype.type(3), dtype.type(1)])
                function = lambda x: change(form(x), other)  # noqa: B023, E731
                plain = outcome(source.map(function))
                if isinstance(plain, type):
                    assert outcome(source.map(ps.native(function))) is plain
                else:
                    assert_native(function, [dtype.type(3), dtype.type(1)])


def test_the_commonest_lines():
    def scaled(image, label):
        image = image.astype(np.float32)
        image /= 255
        image -= image.mean()
        label += 1
        return image, label

    def of_a_dict(d):
        d["image"] *= 2
        return d

    image = np.arange(12, dtype=np.uint8).reshape(2, 2, 3)
    assert_native(scaled, [(image, 1), (image + 1, 2)])
    assert_native(of_a_dict, [{"image": image}, {"image": image + 1}])
    with pytest.raises(
        TypeError, match=r"numpy\.divide in place: the result is float64, .* uint8; write"
    ):
        list(source_of([image]).map(ps.native(lambda x: operator.itruediv(x, 255))))


def test_rows_that_a_plain_function_could_not_change():
    ds = Dataset.from_tensor_slices(np.ones((4, 3)))

    @ps.native
    def doubled(x):
        x *= 2
        return x

    assert [x.tolist() for x in ds.map(doubled)] == [[2.0] * 3] * 4
    assert [x.tolist() for x in ds.map(ps.native(doubled.__wrapped__, check=2))] == [[2.0] * 3] * 4
    assert ds.first().tolist() == [1.0] * 3


def _change(x):
    x += 1
    return x


ANOTHER_NAME = {
    "itself": lambda x: (_change(x), x),
    "a view": lambda x: (_change(x[1:]), x),
    "what it is a view of": lambda x: (y := x[1:], _change(x), y)[1:],
    "a view of both": lambda x: (y := x[:2], _change(x[1:]), y)[1:],
    "reshaped": lambda x: (_change(x.reshape(3, 1)), x),
}


@pytest.mark.parametrize("name", ANOTHER_NAME)
def test_a_change_that_another_name_may_see_cannot_be_traced(name):
    with pytest.raises(ps.TraceError, match=r"changed in place .* another name"):
        Dataset.from_tensors(np.zeros(3)).map(ps.native(ANOTHER_NAME[name]))


def test_a_copy_is_changed_alone():
    assert_native(lambda x: (_change(x.copy()), x), [np.zeros(3), np.ones(2)])
    assert_native(lambda x: (_change(copy.copy(x)), x), [np.zeros(3), np.ones(2)])
    assert_native(lambda x: (_change(copy.deepcopy(x)), x), [np.zeros(3), np.ones(2)])
    assert_native(lambda x: (_change(x * 2), _change(x.astype(np.float32)), x), [np.zeros(3)])
