"""get_next and get_next_as_optional, under tf.data's names."""

import numpy as np
import pytest

import penstock as ps
from compare import assert_same
from contract import Boom

Optional = ps.experimental.Optional


def test_get_next_is_next():
    it = iter(ps.Dataset.range(4))
    assert_same([it.get_next(), next(it), it.get_next(), it.get_next()], [0, 1, 2, 3])
    for end in (ps.OutOfRangeError, StopIteration):
        with pytest.raises(end, match="get_next: there are no more elements"):
            it.get_next()


def test_a_loop_as_programs_write_it():
    it, came = iter(ps.Dataset.range(3)), []
    while True:
        try:
            came.append(int(it.get_next()))
        except StopIteration:
            break
    assert came == [0, 1, 2]


def test_the_end_inside_a_function_ends_nothing_silently():
    other = iter(ps.Dataset.range(2))
    ds = ps.Dataset.range(4).map(lambda x: other.get_next())
    it = iter(ds)
    assert [next(it), next(it)] == [0, 1]
    with pytest.raises(RuntimeError, match="would end the data silently"):
        next(it)


def test_errors_are_raised_and_passed():
    def boom(x):
        if x == 1:
            raise Boom("no")
        return x

    it = iter(ps.Dataset.range(3).map(boom))
    assert it.get_next() == 0
    with pytest.raises(Boom):
        it.get_next()
    assert it.get_next() == 2
    it = iter(ps.Dataset.range(3).map(boom))
    it.get_next_as_optional()
    with pytest.raises(Boom):
        it.get_next_as_optional()
    assert it.get_next_as_optional().get_value() == 2


def test_an_element_may_be_none_or_empty():
    it = iter(ps.Dataset.from_tensors(None))
    optional = it.get_next_as_optional()
    assert optional.has_value()
    assert optional.get_value() is None
    assert not it.get_next_as_optional().has_value()


@pytest.mark.parametrize(
    "get", [ps.Iterator.get_next_as_optional, ps.experimental.get_next_as_optional]
)
def test_optionals_tell_what_they_hold(get):
    it = iter(ps.Dataset.range(1).map(lambda x: {"a": x, "b": "text"}))
    full, empty = get(it), get(it)
    assert (full.has_value(), empty.has_value()) == (True, False)
    assert_same([full.get_value()], [{"a": 0, "b": "text"}])
    spec = {"a": ps.TensorSpec((), np.int64), "b": ps.TensorSpec((), str)}
    assert full.element_spec == empty.element_spec == it.element_spec == spec
    with pytest.raises(ValueError, match="the optional has no value; ask has_value"):
        empty.get_value()


def test_optionals_can_be_made():
    assert Optional.from_value([1, 2]).get_value() == [1, 2]
    assert Optional.from_value(np.zeros(3)).element_spec == ps.TensorSpec((3,), np.float64)
    empty = Optional.empty(ps.TensorSpec((2,), np.int32))
    assert not empty.has_value()
    assert empty.element_spec == ps.TensorSpec((2,), np.int32)
    assert repr(empty) == "Optional.empty()"


def test_the_spec_of_an_iterator_is_its_datasets():
    ds = ps.Dataset.range(7).map(lambda x: (x, float(x))).batch(2)
    it = iter(ds)
    assert it.element_spec == ds.element_spec
    it.close()
    assert it.element_spec == ds.element_spec
