"""skip: the elements after the first ones; failed ones count."""

import pytest
from hypothesis import strategies as st

import oracle
import penstock as ps
from compare import assert_same
from contract import Boom, DatasetContract, Failure, steps
from plan_stage import PLACES, Stage, args


class TestSkip(DatasetContract):
    source = staticmethod(lambda: ps.Dataset.range(12))
    apply = staticmethod(lambda ds: ds.skip(3))
    expected = list(range(3, 12))

    def expected_around_error(self):
        return [3, 5, 6, 7, 8, 9, 10, 11]


class TestSkipOverFunctions(DatasetContract):
    source = staticmethod(lambda: ps.Dataset.range(12))
    apply = staticmethod(
        lambda ds, num_parallel_calls: ds.map(abs, num_parallel_calls=num_parallel_calls).skip(9)
    )
    expected = [9, 10, 11]

    def expected_around_error(self):
        return [9, 10, 11]


# For random pipelines (tests/plans.py).
STAGE = Stage(
    args(count=st.integers(-1, 9)),
    lambda ds, run, count: ds.skip(count),
    lambda again, expect, count: oracle.skip(again(), count),
    PLACES,
)


@pytest.mark.parametrize("count", [-1, -5, 9, 100, 2**62])
def test_a_negative_or_large_count_skips_everything(count):
    ds = ps.Dataset.range(9).skip(count)
    assert list(ds) == []
    assert len(ds) == 0
    assert list(ps.Dataset.range(9).map(abs).skip(count)) == []


def test_nothing_skipped_is_everything():
    assert_same(list(ps.Dataset.range(3).skip(0)), [0, 1, 2])


def test_a_failure_among_the_skipped_is_told():
    def fail(x):
        if x == 1:
            raise Boom("one")
        return x

    assert steps(iter(ps.Dataset.range(4).map(fail).skip(3))) == [Failure("Boom", "one"), 3]


@pytest.mark.parametrize(
    ("ds", "wanted"),
    [
        (lambda: ps.Dataset.range(5).repeat(), ps.INFINITE_CARDINALITY),
        (lambda: ps.Dataset.range(5).filter(bool), ps.UNKNOWN_CARDINALITY),
        (lambda: ps.Dataset.range(5), 3),
    ],
)
def test_the_cardinality_is_what_is_left(ds, wanted):
    assert ds().skip(2).cardinality() == wanted
