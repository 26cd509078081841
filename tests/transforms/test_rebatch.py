"""rebatch: batches of different sizes, with the same rows."""

import itertools

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import penstock as ps
from compare import assert_same
from contract import BOOM, DatasetContract, Failure, steps


class TestRebatch(DatasetContract):
    source = staticmethod(lambda: ps.Dataset.range(14).batch(3))
    apply = staticmethod(lambda ds: ds.rebatch(4))
    expected = [np.arange(0, 4), np.arange(4, 8), np.arange(8, 12), np.arange(12, 14)]

    def expected_around_error(self):  # the batch with number BOOM holds rows 12 and 13
        assert BOOM == 4
        return self.expected[:3]


class TestRebatchToSizesInTurn(DatasetContract):
    source = staticmethod(lambda: ps.Dataset.range(17).batch(4))
    apply = staticmethod(lambda ds: ds.rebatch([1, 5, 2]))
    expected = [np.arange(a, b) for a, b in itertools.pairwise([0, 1, 6, 8, 9, 14, 16, 17])]

    def expected_around_error(self):  # row 16
        return self.expected[:-1]


class TestRebatchOfStructures(DatasetContract):
    source = staticmethod(
        lambda: ps.Dataset.from_tensor_slices(
            {"x": np.arange(36.0).reshape(9, 2, 2), "s": list("abcdefghi")}
        ).batch(2)
    )
    apply = staticmethod(lambda ds: ds.rebatch(3, drop_remainder=True))
    expected = [
        {
            "x": np.arange(36.0).reshape(9, 2, 2)[i : i + 3],
            "s": np.array(list("abcdefghi")[i : i + 3], object),
        }
        for i in (0, 3, 6)
    ]

    def expected_around_error(self):
        return self.expected[:2]


def lengths(ds):
    return [len(batch) for batch in ds]


@settings(max_examples=60)
@given(
    given_sizes=st.lists(st.integers(0, 6), max_size=8),
    wanted=st.one_of(st.integers(1, 9), st.lists(st.integers(1, 6), min_size=1, max_size=4)),
    drop=st.booleans(),
)
def test_any_sizes_become_any_others(given_sizes, wanted, drop):
    ends = list(itertools.accumulate(given_sizes, initial=0))
    given_batches = [np.arange(a, b) for a, b in itertools.pairwise(ends)]
    ds = ps.Dataset.from_generator(lambda: iter(given_batches))
    came = list(ds.rebatch(wanted, drop))
    sizes = itertools.cycle([wanted] if isinstance(wanted, int) else wanted)
    expected, at = [], 0
    while at < ends[-1]:
        size = next(sizes)
        if at + size <= ends[-1] or not drop:
            expected.append(np.arange(at, min(at + size, ends[-1])))
        at += size
    assert_same(came, expected)


@pytest.mark.parametrize("n", [0, 1, 5, 6, 7, 12, 23])
@pytest.mark.parametrize("sizes", [[1], [3], [1, 2, 3], [6, 1], [4, 4]])
@pytest.mark.parametrize("drop", [False, True])
def test_the_cardinality_is_the_count(n, sizes, drop):
    ds = ps.Dataset.from_tensor_slices(np.zeros((n, 2))).batch(1).rebatch(sizes, drop)
    assert ds.cardinality() == len(list(ds))


def test_the_spec_tells_a_size_that_all_batches_have():
    ds = ps.Dataset.range(12).batch(4)
    assert ds.rebatch(6).element_spec.shape == (6,)
    assert ds.rebatch([3, 3]).element_spec.shape == (3,)
    assert ds.rebatch(5).element_spec.shape == (None,)
    assert ds.rebatch(5, drop_remainder=True).element_spec.shape == (5,)
    assert ds.rebatch([1, 2]).element_spec.shape == (None,)


def test_a_batch_that_does_not_fit_leaves_its_neighbours():
    batches = [np.zeros((2, 3)), np.zeros((1, 4)), np.ones((2, 3))]
    came = steps(iter(ps.Dataset.from_generator(lambda: iter(batches)).rebatch(4)))
    assert isinstance(came[0], Failure)
    assert came[0].text.startswith("rebatch: element 2 has shape (4,)")
    assert_same(came[1:], [np.concatenate([batches[0], batches[2]])])


def test_batches_do_not_share_memory():
    kept = list(ps.Dataset.range(24).batch(8).rebatch(4))
    for batch in kept:
        batch[:] = -1
    assert not any(np.shares_memory(a, b) for a, b in itertools.combinations(kept, 2))
    rows = np.arange(12.0).reshape(4, 3)
    for batch in ps.Dataset.from_tensors(rows).rebatch(4):
        batch[:] = -1
    assert rows[0, 0] == 0


@pytest.mark.parametrize(
    ("sizes", "error", "words"),
    [
        (0, ValueError, "batch_size must be >= 1, got 0"),
        ([2, -1], ValueError, "batch_size must be >= 1, got -1"),
        ([], ValueError, "got an empty list"),
        (2.5, TypeError, "an int or a sequence of them, got 2.5"),
        ("23", TypeError, "an int or a sequence of them, got '23'"),
        ([2, "3"], TypeError, "an int or a sequence of them"),
        (None, TypeError, "an int or a sequence of them"),
    ],
)
def test_wrong_sizes_are_refused_at_the_call(sizes, error, words):
    with pytest.raises(error, match=f"rebatch: .*{words}"):
        ps.Dataset.range(3).batch(2).rebatch(sizes)


def test_numpy_integers_are_sizes():
    ds = ps.Dataset.range(6).batch(6)
    assert lengths(ds.rebatch(np.int64(4))) == [4, 2]
    assert lengths(ds.rebatch(np.array([4, 2]))) == [4, 2]
    assert lengths(ds.rebatch((5, 1))) == [5, 1]


def test_a_state_of_a_longer_list_of_sizes_is_refused():
    it = iter(ps.Dataset.range(12).batch(4).rebatch([1, 1, 3]))
    next(it), next(it)
    other = iter(ps.Dataset.range(12).batch(4).rebatch([1, 3]))
    with (
        pytest.raises(ValueError, match="batch size number 2"),
        pytest.warns(RuntimeWarning, match=r"rebatch: batch_size \[1, 3\], the state has \[1, 1"),
    ):
        other.set_state(it.get_state(), strict=False)
