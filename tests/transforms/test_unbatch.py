"""unbatch: individual rows."""

import numpy as np
import pytest

import penstock as ps
from compare import assert_same
from contract import DatasetContract, Failure, steps


class TestUnbatch(DatasetContract):
    source = staticmethod(lambda: ps.Dataset.range(9).batch(2))
    apply = staticmethod(lambda ds: ds.unbatch())
    expected = list(range(9))

    def expected_around_error(self):
        return [0, 1, 2, 3, 4, 5, 6, 7]


class TestUnbatchOfStructures(DatasetContract):
    source = staticmethod(
        lambda: ps.Dataset.from_tensor_slices(
            {"x": np.arange(24.0).reshape(6, 2, 2), "s": [["a", "b"]] * 6}
        )
    )
    apply = staticmethod(lambda ds: ds.unbatch())
    expected = [{"x": np.arange(24.0).reshape(12, 2)[i], "s": "ab"[i % 2]} for i in range(12)]


def test_batches_of_unequal_sizes_come_apart():
    sizes = [3, 0, 1, 5, 0]
    ds = ps.Dataset.from_generator(lambda: (np.full(n, n) for n in sizes)).unbatch()
    assert_same(list(ds), [n for n in sizes for _ in range(n)])


@pytest.mark.parametrize(
    ("bad", "words"),
    [
        ((5, [1, 2]), "is a scalar"),
        (([1, 2], [1, 2, 3]), "rows"),
    ],
)
def test_what_has_no_common_rows_is_an_error_that_leaves_the_others(bad, words):
    good = (np.array([1, 2]), np.array([3, 4]))
    bad = tuple(np.array(part) for part in bad)
    ds = ps.Dataset.from_generator(lambda: iter([good, bad, good])).unbatch()
    came = steps(iter(ds))
    assert_same(came[:2] + came[3:], [(1, 3), (2, 4)] * 2)
    assert isinstance(came[2], Failure)
    assert came[2].kind == "ValueError"
    assert came[2].text.startswith("unbatch: element 1")
    assert words in came[2].text


def test_elements_without_rows_give_nothing():
    assert list(ps.Dataset.from_tensors(np.zeros((0, 3))).unbatch()) == []
    assert list(ps.Dataset.from_tensors(()).unbatch()) == []


def test_the_cardinality_is_known_when_all_batches_are_alike():
    assert ps.Dataset.range(8).batch(4).unbatch().cardinality() == 8
    assert ps.Dataset.range(9).batch(4).unbatch().cardinality() == ps.UNKNOWN_CARDINALITY
    assert ps.Dataset.range(0).batch(4).unbatch().cardinality() == 0


def test_unbatch_undoes_batch_for_strings_and_objects():
    values = [("a", b"b", {"k": None, "l": 2.5}), ("ä", b"\0", {"k": None, "l": 3.5})]
    ds = ps.Dataset.from_generator(lambda: iter(values))
    assert_same(list(ds.batch(2).unbatch()), values)
