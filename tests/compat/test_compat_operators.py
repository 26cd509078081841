"""Tensor operators: NumPy's where TensorFlow computes the same, otherwise the class's rules."""

import operator
import sys
import warnings

import numpy as np
import pytest

import penstock.compat.tf as tf
from penstock.compat.tensor import Tensor

BINARY = [
    *(operator.add, operator.sub, operator.mul, operator.truediv, operator.floordiv, operator.mod),
    *(operator.pow, operator.eq, operator.ne, operator.lt, operator.le, operator.gt, operator.ge),
]
OF_BITS = [operator.and_, operator.or_, operator.xor, operator.lshift, operator.rshift]
IN_PLACE = [
    *(operator.iadd, operator.isub, operator.imul, operator.itruediv, operator.ifloordiv),
    *(operator.imod, operator.ipow),
]
UNARY = [operator.neg, operator.pos, operator.abs]
VALUES = [3, [1, 2, 100], [[1, 2, 3], [4, 5, 6]]]


def name_of(value):
    return getattr(value, "__name__", repr(value))


def is_same(made, expected):
    assert type(made) is Tensor
    assert made.dtype == expected.dtype
    assert made.shape == expected.shape
    np.testing.assert_array_equal(made, expected)


@pytest.fixture(autouse=True)
def _without_warnings():
    with np.errstate(all="ignore"):
        yield


@pytest.mark.parametrize("value", VALUES, ids=repr)
@pytest.mark.parametrize("dtype", ["int32", "int64", "uint64", "float16", "float32", "float64"])
@pytest.mark.parametrize("compute", BINARY, ids=name_of)
def test_operators_compute_as_numpy_does(compute, dtype, value):
    x, array = tf.constant(value, dtype), np.array(value, dtype)
    is_same(compute(x, x), compute(array, array))
    is_same(compute(x, 2), compute(array, 2))
    is_same(compute(2, x), compute(2, array))
    is_same(compute(x, 2.5), compute(array, 2.5))
    is_same(compute(2.5, x), compute(2.5, array))


@pytest.mark.parametrize("dtype", ["uint8", "int64"])
@pytest.mark.parametrize("compute", OF_BITS, ids=name_of)
def test_operators_of_bits_compute_as_numpy_does(compute, dtype):
    x, array = tf.constant([1, 2, 7], dtype), np.array([1, 2, 7], dtype)
    is_same(compute(x, x), compute(array, array))
    is_same(compute(x, 3), compute(array, 3))
    is_same(compute(3, x), compute(3, array))


@pytest.mark.parametrize("value", VALUES, ids=repr)
@pytest.mark.parametrize("compute", UNARY, ids=name_of)
def test_operators_of_one_compute_as_numpy_does(compute, value):
    is_same(compute(tf.constant(value, "int32")), np.asarray(compute(np.array(value, "int32"))))


@pytest.mark.parametrize("compute", IN_PLACE, ids=name_of)
def test_operators_in_place_make_another_tensor(compute):
    x = tf.constant([2.0, 4.0])
    made = compute(x, 2)
    assert made is not x
    assert x.numpy().tolist() == [2, 4]
    assert type(made) is Tensor


def test_views_of_all_kinds_are_operands():
    array = np.arange(12.0).reshape(3, 4)
    x = tf.constant(array)
    for view in (
        np.s_[1:],
        np.s_[:, ::2],
        np.s_[::-1, 1],
        np.s_[2, 3],
        np.s_[..., None],
        np.s_[:0],
    ):
        is_same(x[view] + 1, np.asarray(array[view] + 1))
        is_same(x[view] * x[view], np.asarray(array[view] * array[view]))
    is_same(tf.transpose(x) + 1, array.T + 1)
    swapped = array.astype(">f4")
    is_same(swapped.view(Tensor) + 1, swapped + 1)


@pytest.mark.parametrize("shape", [(2, 3), (6, 1)])
def test_an_array_that_is_given_another_shape_leaves_its_tensor_as_it_was(shape):
    array = np.arange(6.0)
    x = array.view(Tensor)
    array.resize(shape, refcheck=False)
    is_same(x + 1, np.arange(6.0) + 1)


def test_a_result_has_memory_of_its_own():
    x = tf.constant([1, 2])
    for made in (x + 0, +x, x * 1, x**1, x // 1):
        assert not np.shares_memory(made, x)
    large = tf.zeros([1 << 17])  # for arrays of this size, NumPy adds to temporaries in place
    kept = large + 1
    assert np.asarray((kept + 1) + 1).max() == 3
    assert np.asarray(kept).max() == 1


@pytest.mark.parametrize(
    "keep", [lambda x: x, lambda x: x[1:], lambda x: x.base], ids=["all", "some", "base"]
)
def test_a_result_that_a_function_keeps_is_not_its_consumers(keep):
    kept = []

    def double(x):
        made = x * 2
        kept.append(keep(made))
        return made

    before = []
    for result in (
        tf.data.Dataset.from_tensor_slices([[1, 2], [3, 4]]).map(double).as_numpy_iterator()
    ):
        before.append(np.array(kept[-1]))
        result.flags.writeable = True
        result[:] = 0
    np.testing.assert_array_equal(kept, before)
    assert np.all(before)


@pytest.mark.parametrize(
    ("compute", "error"),
    [
        (lambda x: x + 300, OverflowError),
        (lambda x: x - (-1), OverflowError),
        (lambda x: 2**80 * x, OverflowError),
        (lambda x: x + object(), TypeError),
        (lambda x: x < "text", TypeError),
        (lambda x: pow(x, 2, 3), TypeError),
        (lambda x: x // 0, tf.errors.InvalidArgumentError),
        (lambda x: x % tf.constant([1, 0, 2], tf.uint8), tf.errors.InvalidArgumentError),
        (lambda x: 5 // (x - x), tf.errors.InvalidArgumentError),
        (lambda x: x + tf.constant([1, 2], tf.uint8), ValueError),
        (lambda x: x @ 2, ValueError),
    ],
)
def test_what_is_no_operand_is_refused(compute, error):
    with pytest.raises(error):
        compute(tf.constant([1, 2, 3], tf.uint8))


def test_an_error_is_numpys_own():
    with pytest.raises(OverflowError) as of_numpy:
        np.array([1], np.uint8) + 300
    with pytest.raises(OverflowError) as found:
        tf.constant([1], tf.uint8) + 300
    assert str(found.value) == str(of_numpy.value)
    with pytest.raises(OverflowError):
        tf.constant([1.0]) + 10**400


def test_numbers_beyond_a_type_are_compared():
    x = tf.constant([1, 255], tf.uint8)
    assert (x < 300).numpy().tolist() == [True, True]
    assert (x == -1).numpy().tolist() == [False, False]
    assert (x != 2**80).numpy().tolist() == [True, True]


def test_a_number_that_overflows_warns_as_in_numpy():
    for x in (np.ones(2, np.float32), tf.constant([1.0, 1.0])):
        with warnings.catch_warnings(record=True) as caught, np.errstate(all="warn"):
            warnings.simplefilter("always")
            x + 1e300
        assert [str(each.message) for each in caught] == ["overflow encountered in cast"]


def test_none_is_equal_to_no_tensor():
    x = tf.constant([1, 2])
    assert (x == None) is False  # noqa: E711 - the comparison is the test
    assert (x != None) is True  # noqa: E711


def test_another_class_computes_what_a_tensor_does_not():
    class Other:
        __array_ufunc__ = None

        def __radd__(self, x):
            return "sum", x

        def __gt__(self, x):
            return "greater", x

    x, other = tf.constant([1, 2]), Other()
    assert (x + other)[0] == "sum"
    assert (x < other)[0] == "greater"
    assert x.__sub__(other) is NotImplemented


def test_numbers_of_bfloat16_stay_what_they_are():
    ml_dtypes = pytest.importorskip("ml_dtypes")
    for value in (2.0, [1.0, 2.0]):
        x = tf.constant(value, "bfloat16")
        array = np.array(value, ml_dtypes.bfloat16)
        is_same(x + 1, np.asarray(array + 1))
        is_same(x * x, np.asarray(array * array))
        is_same(-x, np.asarray(-array))


def test_operators_keep_no_references():
    x, y, n = tf.constant([1.0, 2.0]), tf.constant(3.0), 12345.5
    objects = (x, y, n, Tensor, x.base, y.base, np.dtype(np.float32))

    def compute():
        for each in BINARY:
            for a, b in ((x, y), (x, n), (n, x), (y, n)):
                each(a, b)
        -x
        for bad in (object(), None, "text", [1, 2, 3]):
            with pytest.raises((TypeError, ValueError)):
                x + bad

    compute()
    before = list(map(sys.getrefcount, objects))
    for _ in range(20):
        compute()
    assert list(map(sys.getrefcount, objects)) == before
