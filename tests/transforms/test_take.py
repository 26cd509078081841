"""take: the first elements; failed ones count."""

import pytest
from hypothesis import strategies as st

import oracle
import penstock as ps
from compare import assert_same
from contract import DatasetContract
from plan_stage import PLACES, Stage, args


class TestTake(DatasetContract):
    source = staticmethod(lambda: ps.Dataset.range(12))
    apply = staticmethod(lambda ds: ds.take(7))
    expected = list(range(7))

    def expected_around_error(self):
        return [0, 1, 2, 3, 5, 6]


# For random pipelines (tests/plans.py).
STAGE = Stage(
    args(count=st.integers(-1, 20)),
    lambda ds, run, count: ds.take(count),
    lambda again, expect, count: oracle.take(again(), count),
    PLACES,
)


@pytest.mark.parametrize("count", [-1, -5, 9, 100, 2**62])
def test_a_negative_or_large_count_takes_everything(count):
    ds = ps.Dataset.range(9).take(count)
    assert_same(list(ds), list(range(9)))
    assert len(ds) == 9


def test_nothing_is_pulled_beyond_the_count():
    pulled = []
    ds = ps.Dataset.range(9).map(lambda x: pulled.append(int(x)) or x)
    list(ds.take(2))
    list(ds.take(0))
    assert pulled == [0, 1]


@pytest.mark.parametrize("ahead", [False, True])
def test_taking_ends_infinite_sources(ahead):
    ds = ps.Dataset.range(3).repeat()
    assert_same(list((ds.prefetch(2) if ahead else ds).take(4)), [0, 1, 2, 0])


@pytest.mark.parametrize(
    ("ds", "count", "wanted"),
    [
        (lambda: ps.Dataset.range(5).repeat(), 3, 3),
        (lambda: ps.Dataset.range(5).repeat(), -1, ps.INFINITE_CARDINALITY),
        (lambda: ps.Dataset.range(5).filter(bool), 0, ps.UNKNOWN_CARDINALITY),
        (lambda: ps.Dataset.range(5), 0, 0),
    ],
)
def test_the_cardinality_is_the_least(ds, count, wanted):
    assert ds().take(count).cardinality() == wanted


@pytest.mark.parametrize("after", [lambda ds: ds, lambda ds: ds.batch(2), lambda ds: ds.repeat(1)])
def test_a_generator_is_closed_when_all_are_taken(after):
    closed = []

    def numbers():
        try:
            yield from range(100)
        finally:
            closed.append(True)

    ds = ps.Dataset.from_generator(numbers, output_signature=ps.TensorSpec((), "i8"))
    it = iter(after(ds.take(4)))
    assert len(list(it)) in (2, 4)
    assert closed == [True]
    state = it.get_state()
    again = iter(after(ds.take(4)))
    again.set_state(state)
    assert list(again) == []
