"""concatenate: one dataset after the other."""

import numpy as np
import pytest

import penstock as ps
from compare import assert_same
from contract import DatasetContract


class TestConcatenate(DatasetContract):
    source = staticmethod(lambda: ps.Dataset.range(6))
    apply = staticmethod(lambda ds: ds.concatenate(ps.Dataset.range(10, 14)))
    expected = [*range(6), *range(10, 14)]


class TestThree(DatasetContract):
    source = staticmethod(lambda: ps.Dataset.range(5))
    apply = staticmethod(
        lambda ds: ps.Dataset.range(2).concatenate(ps.Dataset.range(0)).concatenate(ds.map(abs))
    )
    expected = [0, 1, 0, 1, 2, 3, 4]


@pytest.mark.parametrize(
    "other",
    [
        lambda: ps.Dataset.from_tensors(1.5),
        lambda: ps.Dataset.from_tensors((1,)),
        lambda: ps.Dataset.from_tensors({"a": 1}),
        lambda: ps.Dataset.from_tensors("a"),
    ],
)
def test_another_structure_or_dtype_is_refused_at_the_call(other):
    with pytest.raises(TypeError, match="concatenate: both datasets must have the same structure"):
        ps.Dataset.range(3).concatenate(other())


@pytest.mark.parametrize("thing", [3, [1], None])
def test_what_is_no_dataset_is_refused(thing):
    with pytest.raises(TypeError, match="concatenate: dataset must be a Dataset"):
        ps.Dataset.range(3).concatenate(thing)


def test_shapes_may_differ():
    ds = ps.Dataset.from_tensors(np.zeros(2)).concatenate(ps.Dataset.from_tensors(np.zeros(3)))
    assert_same(list(ds), [np.zeros(2), np.zeros(3)])
    assert ds.element_spec == ps.TensorSpec((None,), np.float64)


@pytest.mark.parametrize(
    ("a", "b", "wanted"),
    [
        (lambda: ps.Dataset.range(2), lambda: ps.Dataset.range(3), 5),
        (lambda: ps.Dataset.range(2).repeat(), lambda: ps.Dataset.range(3).filter(bool), -1),
        (lambda: ps.Dataset.range(3).filter(bool), lambda: ps.Dataset.range(2).repeat(), -1),
        (lambda: ps.Dataset.range(3).filter(bool), lambda: ps.Dataset.range(2), -2),
    ],
)
def test_the_cardinality_is_the_sum(a, b, wanted):
    assert a().concatenate(b()).cardinality() == wanted
