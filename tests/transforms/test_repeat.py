"""repeat: several epochs, none, and empty ones."""

import pytest

import penstock as ps
from compare import assert_same
from contract import Boom, DatasetContract, Failure, steps


class TestRepeat(DatasetContract):
    source = staticmethod(lambda: ps.Dataset.range(5))
    apply = staticmethod(lambda ds: ds.repeat(3))
    expected = list(range(5)) * 3
    errors_upstream = 3


class TestForEver(DatasetContract):
    source = staticmethod(lambda: ps.Dataset.range(6))
    apply = staticmethod(lambda ds: ds.repeat().take(14))
    expected = (list(range(6)) * 3)[:14]
    errors_upstream = 2

    def expected_around_error(self):
        return [0, 1, 2, 3, 5, 0, 1, 2, 3, 5, 0, 1]


class TestNotAtAll(DatasetContract):
    source = staticmethod(lambda: ps.Dataset.range(6))
    apply = staticmethod(lambda ds: ds.repeat(0))
    expected = []
    errors_upstream = 0


@pytest.mark.parametrize("count", [None, -1, -7])
def test_none_and_negative_counts_are_for_ever(count):
    ds = ps.Dataset.range(2).repeat(count)
    assert ds.cardinality() == ps.INFINITE_CARDINALITY
    assert_same(list(ds.take(5)), [0, 1, 0, 1, 0])
    with pytest.raises(TypeError, match="infinite"):
        len(ds)


@pytest.mark.parametrize(
    "empty",
    [
        lambda: ps.Dataset.range(0),
        lambda: ps.Dataset.range(3).filter(lambda x: False),
        lambda: ps.Dataset.from_generator(lambda: iter(())),
        lambda: ps.Dataset.range(3).skip(3).prefetch(1),
        lambda: ps.Dataset.range(3).take(0).map(lambda x: x, num_parallel_calls=2),
        lambda: ps.Dataset.range(2).batch(3, drop_remainder=True),
        lambda: ps.Dataset.range(0).repeat(),
    ],
)
def test_for_ever_over_nothing_ends(empty):
    assert list(empty().repeat()) == []
    assert list(empty().repeat(5)) == []


def test_a_number_of_times_goes_on_after_an_empty_epoch():
    lengths = iter([2, 0, 0, 1])
    ds = ps.Dataset.from_generator(lambda: range(next(lengths))).repeat(4)
    assert_same(list(ds), [0, 1, 0])


def test_endless_epochs_end_at_the_first_one_that_is_empty():
    lengths = iter([2, 1, 0, 5])
    ds = ps.Dataset.from_generator(lambda: range(next(lengths))).repeat()
    assert_same(list(ds), [0, 1, 0])


@pytest.mark.parametrize(("n", "count", "wanted"), [(5, 3, 15), (0, 3, 0), (5, 0, 0), (0, -1, 0)])
def test_the_cardinality_is_multiplied(n, count, wanted):
    assert ps.Dataset.range(n).repeat(count).cardinality() == wanted


def test_a_cardinality_beyond_64_bits_is_not_a_wrong_number():
    assert ps.Dataset.range(2**40).repeat(2**40).cardinality() in (-2, -1)


def test_repeats_nest():
    assert_same(list(ps.Dataset.range(2).repeat(2).repeat(2)), [0, 1] * 4)


def refuse(x):
    raise Boom(f"element {x}")


def test_for_ever_ends_behind_an_epoch_in_which_everything_failed():
    ds = ps.Dataset.range(2).map(refuse).repeat()
    wanted = [Failure("Boom", "element 0"), Failure("Boom", "element 1")]
    it = iter(ds)
    assert steps(it) == wanted
    resumed = iter(ds)
    resumed.set_state(it.get_state())
    assert steps(resumed) == []


def test_a_number_of_times_goes_on_behind_an_epoch_in_which_everything_failed():
    assert len(steps(iter(ps.Dataset.range(2).map(refuse).repeat(3)))) == 6
