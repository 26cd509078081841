"""assert_cardinality: a promised number of elements, which is checked."""

import pytest

import penstock as ps
from compare import assert_same
from contract import Boom, DatasetContract, fail_at, steps

promise = ps.experimental.assert_cardinality


class TestAssertCardinality(DatasetContract):
    source = staticmethod(lambda: ps.Dataset.range(9).batch(1).unbatch())
    apply = staticmethod(lambda ds: ds.apply(promise(9)))
    expected = list(range(9))

    def expected_around_error(self):  # failed elements count
        return [0, 1, 2, 3, 5, 6, 7, 8]


@pytest.mark.parametrize("ahead", [None, 3])
@pytest.mark.parametrize("n", range(6))
def test_a_wrong_number_is_told_behind_the_elements_promised(n, ahead):
    for promised in range(6):
        ds = ps.Dataset.range(n).apply(promise(promised))
        assert len(ds) == promised
        came = steps(iter(ds if ahead is None else ds.prefetch(ahead)))
        if promised == n:
            assert_same(came, list(range(n)))
            continue
        assert_same(came[:-1], list(range(min(n, promised))))
        assert came[-1].kind == "ValueError"
        count = f"only {n}" if n < promised else f"at least {promised + 1}"
        assert came[-1].text.startswith(
            f"assert_cardinality: {promised} elements were expected, the input has {count}"
        )


@pytest.mark.parametrize("n", [3, 4, 5, 6])
@pytest.mark.parametrize("bad", [0, 2, 3, 4, 5])
def test_an_error_counts_as_an_element(n, bad):
    def boom(i, x):
        return fail_at(bad)(i, x)

    came = steps(iter(ps.Dataset.range(n).enumerate().map(boom).apply(promise(4))))
    plain = steps(iter(ps.Dataset.range(n).enumerate().map(boom)))
    assert_same(came[: min(n, 4)], plain[:4])
    assert len(came) == min(n, 4) + (n != 4)
    if n != 4:
        assert came[-1].kind == "ValueError"


def test_the_end_comes_behind_an_error_at_the_end():
    def last(x):
        if x == 2:
            raise Boom("last")
        return x

    ds = ps.Dataset.range(3).map(last, num_parallel_calls=2).apply(promise(5))
    came = steps(iter(ds))
    assert [getattr(c, "kind", None) for c in came] == [None, None, "Boom", "ValueError"]


def test_endless_data_may_be_promised():
    endless = promise(ps.INFINITE_CARDINALITY)
    ds = ps.Dataset.from_tensors(1).repeat().apply(endless)
    assert ds.cardinality() == ps.INFINITE_CARDINALITY
    assert_same(list(ds.take(3)), [1, 1, 1])
    with pytest.raises(ValueError, match="without end were expected, the input has only 2"):
        list(ps.Dataset.range(2).apply(endless))


def test_endless_data_under_a_finite_promise_ends():
    came = steps(iter(ps.Dataset.from_tensors(1).repeat().apply(promise(3))))
    assert_same(came[:3], [1, 1, 1])
    assert "at least 4" in came[3].text
    assert len(came) == 4


def test_the_number_is_checked_at_the_call():
    with pytest.raises(ValueError, match="must be >= 0 or INFINITE_CARDINALITY, got -2"):
        ps.Dataset.range(3).apply(promise(ps.UNKNOWN_CARDINALITY))
    with pytest.raises(TypeError, match="expected_cardinality must be an int"):
        ps.Dataset.range(3).apply(promise(2.5))


@pytest.mark.parametrize("n", [2, 4, 7])
def test_states_keep_the_count(n):
    def make():
        return iter(ps.Dataset.range(n).apply(promise(4)))

    whole = steps(make())
    for at in range(len(whole) + 1):
        it = make()
        for _ in range(at):
            steps_one(it)
        resumed = make()
        resumed.set_state(it.get_state())
        assert_same(steps(resumed), whole[at:])


def steps_one(it):
    try:
        return next(it)
    except ValueError:
        return None
