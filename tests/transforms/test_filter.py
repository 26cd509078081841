"""filter: which elements stay."""

import numpy as np
import pytest

import penstock as ps
from compare import assert_same
from contract import Boom, DatasetContract, Failure, steps


def numbers():
    return ps.Dataset.range(15)


def third(x):
    return x % 3 == 0


class TestFilter(DatasetContract):
    source = staticmethod(numbers)
    apply = staticmethod(lambda ds: ds.filter(third))
    expected = list(range(0, 15, 3))


class TestNothingStays(DatasetContract):
    source = staticmethod(numbers)
    apply = staticmethod(lambda ds: ds.filter(lambda x: False))
    expected = []
    pickles = False


@pytest.mark.parametrize("true", [True, np.True_, np.array(True), np.array([[True]])])
def test_one_bool_of_any_kind_decides(true):
    assert_same(list(ps.Dataset.range(2).filter(lambda x: true)), [0, 1])
    assert_same(list(ps.Dataset.range(2).filter(lambda x: not true)), [])


@pytest.mark.parametrize("answer", [1, 0.0, None, "yes", np.array([True, True]), []])
def test_another_answer_is_an_error_at_each_element(answer):
    came = steps(iter(ps.Dataset.range(2).filter(lambda x: answer)))
    assert [f.kind for f in came] == ["TypeError"] * 2
    assert "filter: the predicate must return one bool" in came[0].text


def test_a_failing_predicate_leaves_the_others():
    def fail(x):
        if x == 2:
            raise Boom("two")
        return x % 2 == 0

    ds = ps.Dataset.range(7).filter(fail)
    assert steps(iter(ds)) == [0, Failure("Boom", "two"), 4, 6]
    with pytest.raises(Boom) as error:
        list(ds)
    (note,) = error.value.__notes__
    assert note.startswith("penstock: in stage filter, element 2")


def test_the_length_is_unknown_even_over_nothing():
    assert ps.Dataset.range(0).filter(third).cardinality() == ps.UNKNOWN_CARDINALITY


def test_a_tuple_becomes_arguments():
    ds = ps.Dataset.from_tensor_slices(([1, 2, 3], ["a", "b", "c"]))
    assert_same(list(ds.filter(lambda n, s: s != "b")), [(1, "a"), (3, "c")])
