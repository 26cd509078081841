"""from_list: elements whose shapes may differ."""

import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import penstock as ps
from compare import assert_same
from contract import DatasetContract
from process import reads_memory

from_list = ps.experimental.from_list
TESTS = Path(__file__).parent.parent


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
    """The order is the same by position and by element."""

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


class TestGroups:
    """Elements are stored in groups of 256, as columns or unchanged, without visible effect."""

    FORMS = {
        "numbers": lambda i: i,
        "rows of one shape": lambda i: [i, -i],
        "rows of many lengths": lambda i: np.full(i % 5, i),
        "lengths that change late": lambda i: [i] * (2 if i < 300 else 3),
        "large and small ones": lambda i: np.full(2000 if 250 < i < 260 else 3, i),
        "ranks that change": lambda i: [i] if i < 400 else [[i]],
        "strings": lambda i: ("x" * (i % 3), str(i).encode()),
        "lists of strings": lambda i: [str(i)] * (1 + i % 4),
        "dicts in two orders": lambda i: {"a": i, "b": [i]} if i < 256 else {"b": [i], "a": i},
        "dicts in orders that alternate": lambda i: {"a": i, "b": 0} if i % 2 else {"b": 0, "a": i},
        "no leaves": lambda i: (),
    }

    @pytest.mark.parametrize("form", FORMS)
    @pytest.mark.parametrize("count", [1, 255, 256, 257, 600])
    def test_elements_come_as_they_are(self, form, count):
        elements = [self.FORMS[form](i) for i in range(count)]
        ds = from_list(elements)
        one_by_one = list(
            ps.Dataset.from_generator(lambda: elements, output_signature=ds.element_spec)
        )
        assert_same(list(ds), one_by_one)
        assert_same(list(ds.skip(count // 2).take(3)), one_by_one[count // 2 :][:3])
        drawn = list(from_list(list(enumerate(elements))).shuffle(count, seed=1))
        assert sorted(int(i) for i, _ in drawn) == list(range(count))
        assert_same([element for _, element in drawn], [one_by_one[int(i)] for i, _ in drawn])

    @pytest.mark.parametrize("form", ["rows of many lengths", "lengths that change late"])
    def test_rows_are_padded_across_groups(self, form):
        elements = [self.FORMS[form](i) for i in range(600)]
        batches = list(from_list(elements).padded_batch(100))
        rows = [row[row != 0].tolist() for batch in batches for row in batch]
        assert rows == [[int(x) for x in element if x] for element in elements]

    def test_the_element_of_another_kind_is_named(self):
        with pytest.raises(TypeError, match="for element 512"):
            from_list([*range(512), "x"])
        with pytest.raises(TypeError, match="for element 512"):
            from_list([*range(512), *map(str, range(300))])

    def test_small_arrays_may_be_changed_afterwards(self):
        array = np.arange(3)
        ds = from_list([array, array])
        array[:] = 9
        assert_same(list(ds), [np.arange(3)] * 2)


@reads_memory
@pytest.mark.parametrize(
    ("element", "bytes_each"), [("i", 8), ("np.full(8, i)", 64), ("np.full(i % 9, i)", 40)]
)
def test_small_elements_take_little_more_than_their_numbers(element, bytes_each):
    code = f"""
import numpy as np, penstock as ps, process
elements = [{element} for i in range(100_000)]
ps.experimental.from_list(elements[:10])
before = process.resident()
ds = ps.experimental.from_list(elements)
print((process.resident() - before) / len(elements))
"""
    taken = float(subprocess.check_output([sys.executable, "-c", code], cwd=TESTS, text=True))
    assert taken < 2 * bytes_each + 60


@pytest.mark.parametrize("mixed", [[1, "a"], ["a", 1], [1.5, "a", None], [[1, 2], ["a", "b"]]])
def test_numbers_among_strings_stay_what_they_are(mixed):
    rows = [mixed, [*mixed]]
    for ds in (
        from_list([{"x": x} for x in rows]),
        ps.Dataset.from_generator(lambda: ({"x": x} for x in rows)),
    ):
        for element in ds:
            assert element["x"].tolist() == mixed
            assert element["x"].dtype == object
