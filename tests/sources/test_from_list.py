"""from_list: elements whose shapes may differ."""

import numpy as np
import pytest

import penstock as ps
from compare import assert_same
from contract import DatasetContract

from_list = ps.experimental.from_list


class TestFromList(DatasetContract):
    build = staticmethod(lambda: from_list([[i] * (i % 3) or [7] for i in range(7)]))
    expected = [np.array([i] * (i % 3) or [7]) for i in range(7)]


class TestFromListOfStructures(DatasetContract):
    source = staticmethod(
        lambda: from_list([{"a": (i, f"{i}"), "b": np.float32(i)} for i in range(7)])
    )
    apply = staticmethod(lambda ds: ds.batch(2))

    @staticmethod
    def expected():
        rows = [range(0, 2), range(2, 4), range(4, 6), range(6, 7)]
        return [
            {
                "a": (np.array(r), np.array([f"{i}" for i in r], object)),
                "b": np.array(r, np.float32),
            }
            for r in rows
        ]

    def expected_around_error(self):
        return list(self.apply(self.source().filter(lambda e: e["a"][0] != 4)))


class TestFromListShuffled(DatasetContract):
    """By its positions, and by its elements: the same order."""

    source = staticmethod(lambda: from_list([[i] * (1 + i % 2) for i in range(9)]))
    apply = staticmethod(lambda ds: ds.shuffle(5, seed=1, reshuffle_each_iteration=False))

    @staticmethod
    def expected():
        ds = from_list([[i] * (1 + i % 2) for i in range(9)])
        kept = ds._then(
            "shuffle", buffer_size=5, seed=1, reshuffle_each_iteration=False, fused=False
        )
        return list(kept)


def test_the_spec_covers_all_shapes():
    assert from_list([1, 2]).element_spec == ps.TensorSpec((), np.int64)
    assert from_list([[1], [1, 2]]).element_spec == ps.TensorSpec((None,), np.int64)
    assert from_list([[1], [[1, 2]]]).element_spec == ps.TensorSpec(None, np.int64)
    assert len(from_list([[1], [1, 2]])) == 2


def test_dicts_may_list_their_keys_in_another_order():
    ds = from_list([{"a": 1, "b": "x"}, {"b": "y", "a": 2}])
    assert_same(list(ds.batch(2)), [{"a": np.array([1, 2]), "b": np.array(["x", "y"], object)}])


@pytest.mark.parametrize("elements", [(1, 2), np.arange(3), "ab", None, []])
def test_what_is_no_list_of_elements_is_refused(elements):
    with pytest.raises(ValueError, match="from_list:"):
        from_list(elements)


@pytest.mark.parametrize("other", [2.5, "2", (2,), {"a": 2}, None])
def test_elements_of_another_kind_are_refused(other):
    with pytest.raises(TypeError, match=r"from_list: all elements must have .* for element 2"):
        from_list([1, 1, other])
