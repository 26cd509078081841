"""counter: an infinite arithmetic sequence."""

import itertools

import numpy as np
import pytest

import penstock as ps
from compare import assert_same
from contract import BOOM, DatasetContract


class TestCounter(DatasetContract):
    source = staticmethod(lambda: ps.Dataset.counter(7, -3))
    apply = staticmethod(lambda ds: ds.take(9))
    expected = [7 - 3 * i for i in range(9)]

    def expected_around_error(self):
        return [x for i, x in enumerate(self.wanted()) if i != BOOM]  # take counts it


class TestCounterOfFloats(DatasetContract):
    source = staticmethod(lambda: ps.Dataset.counter(0.5, 0.25, dtype=np.float32))
    apply = staticmethod(lambda ds: ds.skip(2).take(6))
    expected = [np.float32(1 + 0.25 * i) for i in range(6)]

    def expected_around_error(self):
        return [x for i, x in enumerate(self.wanted()) if i != BOOM - 2]  # take counts it


# tf.data 2.21's results.
GOLDEN = [
    ({}, np.array([0, 1, 2, 3])),
    ({"start": 2, "step": 5}, np.array([2, 7, 12, 17])),
    ({"start": 1, "step": 0}, np.array([1, 1, 1, 1])),
    ({"start": 126, "dtype": np.int8}, np.array([126, 127, -128, -127], np.int8)),
    ({"start": 0.5, "step": 0.25, "dtype": np.float32}, np.array([0.5, 0.75, 1, 1.25], np.float32)),
]


@pytest.mark.parametrize(("args", "wanted"), GOLDEN)
def test_numbers_and_types_are_those_of_tf_data(args, wanted):
    assert_same(list(itertools.islice(ps.Dataset.counter(**args), 4)), list(wanted))


def test_it_has_no_end():
    ds = ps.Dataset.counter()
    assert ds.cardinality() == ps.INFINITE_CARDINALITY
    assert ds.element_spec == ps.TensorSpec((), np.int64)
    assert ds.skip(10**5).first() == 10**5
    assert_same(list(ds.repeat(2).take(3)), [0, 1, 2])


def test_integers_wrap_around():
    ds = ps.Dataset.counter(2**63 - 1)
    assert_same(list(ds.take(2)), [2**63 - 1, -(2**63)])


@pytest.mark.parametrize(
    ("args", "words"),
    [
        ({"start": 0.5}, "counter: start must be an int, got a float"),
        ({"step": "1"}, "counter: step must be an int, got a str"),
        ({"dtype": bool}, "counter: dtype must be an integer or float type, got bool"),
        ({"dtype": complex}, "counter: dtype must be"),
    ],
)
def test_wrong_arguments_are_refused(args, words):
    with pytest.raises(TypeError, match=words):
        ps.Dataset.counter(**args)


def test_the_experimental_name_is_the_method():
    assert_same(list(ps.experimental.Counter(3, 2).take(3)), [3, 5, 7])
