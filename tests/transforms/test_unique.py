"""unique: no element twice."""

import threading

import numpy as np
import pytest

import penstock as ps
from compare import assert_same
from contract import DatasetContract, Failure, steps


def modulo(x):
    return x * 7 % 10


class TestUnique(DatasetContract):
    source = staticmethod(lambda: ps.Dataset.range(30))
    apply = staticmethod(lambda ds: ds.map(modulo).unique())
    expected = [7 * i % 10 for i in range(10)]


def word(x):
    return "ab"[x % 2] * (x % 4)


class TestUniqueOfStrings(DatasetContract):
    source = staticmethod(lambda: ps.Dataset.range(20))
    apply = staticmethod(lambda ds: ds.map(word).unique())
    expected = ["", "b", "aa", "bbb"]


class TestUniqueOfManyElements(DatasetContract):
    """Too many for a small state."""

    build = staticmethod(
        lambda: ps.Dataset.range(3000).concatenate(ps.Dataset.range(3005)).unique()
    )
    expected = list(range(3005))
    # Only at a few of the elements.
    test_a_state_saved_at_any_element_gives_the_same_tail = None
    test_closing_frees_all_threads = None
    test_dropping_frees_all_threads = None

    @pytest.mark.parametrize("at", [0, 1, 1999, 3000, 3004, 3005])
    def test_a_small_state_gives_the_same_tail(self, at):
        ds = self.build()
        it = iter(ds)
        for _ in range(at):
            next(it)
        state = it.get_state()
        assert len(state) < 300
        resumed = iter(ds)
        resumed.set_state(state)
        assert_same(list(resumed), list(range(at, 3005)))


@pytest.mark.parametrize("dtype", ["bool", "i1", "u1", "i2", "u2", "i4", "u4", "i8", "u8"])
def test_integers_of_all_sizes(dtype):
    values = np.array([1, 0, 1, 1, 0]).astype(dtype)
    assert_same(list(ps.Dataset.from_tensor_slices(values).unique()), list(values[:2]))


def of(values):
    return ps.Dataset.range(len(values)).map(lambda i: values[i])


def test_arrays_are_equal_when_all_their_items_are():
    rows = np.array([[1, 2], [1, 2], [2, 1]])
    assert_same(list(ps.Dataset.from_tensor_slices(rows).unique()), [rows[0], rows[2]])
    shapes = [np.zeros(2, int), np.zeros((2, 1), int), np.zeros((1, 2), int), np.zeros(2, int)]
    assert_same(list(of(shapes).unique()), shapes[:3])
    texts = [np.array(t, object) for t in (["ab", "c"], ["a", "bc"], ["ab", "c"], ["", "abc"])]
    assert_same(list(of(texts).unique()), [texts[0], texts[1], texts[3]])


def test_text_is_not_bytes_and_a_number_not_its_text():
    values = ["a", b"a", "a", np.int64(97), np.int8(97), b"a", np.True_, np.int8(1)]
    assert_same(list(of(values).unique()), [*values[:2], *values[3:5], *values[6:]])


@pytest.mark.parametrize("values", [{"a": [1, 2, 1]}, ([1, 2, 1],)])
def test_one_leaf_may_be_nested(values):
    ds = ps.Dataset.from_tensor_slices(values)
    assert_same(list(ds.unique()), list(ds.take(2)))


@pytest.mark.parametrize(
    ("value", "error", "words"),
    [
        (1.5, TypeError, "integers, booleans or strings were expected, got dtype float64"),
        ({1}, TypeError, "got dtype object"),
        ((1, 2), ValueError, r"elements of one leaf were expected, got \(leaf, leaf\)"),
        (None, ValueError, "elements of one leaf were expected, got None"),
    ],
)
def test_other_elements_are_refused(value, error, words):
    with pytest.raises(error, match=f"unique: .*{words}"):
        ps.Dataset.from_tensors(value).unique()
    came = steps(iter(of([1, value, 1, value, 2]).unique()))
    assert_same([came[0], came[3]], [1, 2])
    assert [came[1].kind, came[2].kind] == [error.__name__] * 2
    it = iter(of([1, value, 1, value, 2]).unique())
    next(it)
    assert isinstance(steps(iter(of([value]).unique()))[0], Failure)
    resumed = iter(of([1, value, 1, value, 2]).unique())
    resumed.set_state(it.get_state())
    assert_same(steps(resumed)[2:], [2])


def test_cardinality_and_spec():
    assert ps.Dataset.range(3).unique().cardinality() == ps.UNKNOWN_CARDINALITY
    assert ps.Dataset.range(3).repeat().unique().cardinality() == ps.UNKNOWN_CARDINALITY
    assert ps.Dataset.range(3).unique().element_spec == ps.TensorSpec((), np.int64)
    assert list(ps.Dataset.range(0).unique()) == []
    assert_same(list(ps.Dataset.range(2).unique().repeat(2)), [0, 1, 0, 1])


def test_closing_ends_a_search_without_end():
    reached = threading.Event()

    def look(x):
        if x == 50:
            reached.set()
        return x % 3

    it = iter(ps.Dataset.range(2**60).map(look).unique().prefetch(1))
    assert_same([next(it), next(it), next(it)], [0, 1, 2])
    assert reached.wait(60)
    it.close()
    assert list(it) == []


def test_the_experimental_name():
    assert_same(list(ps.Dataset.range(2).repeat(2).apply(ps.experimental.unique())), [0, 1])
