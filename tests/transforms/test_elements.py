"""Datasets as elements of others: ordinary datasets, except that they cannot be pickled."""

import gc
import pickle
import threading
import weakref

import numpy as np
import pytest

import penstock as ps
from compare import assert_same
from contract import DatasetContract


def window(items=8):
    return ps.Dataset.range(20).window(items).first()


class TestElements(DatasetContract):
    build = staticmethod(window)
    expected = list(range(8))
    pickles = False


class TestElementsOfPieces(DatasetContract):
    """Individually produced rows, of several shapes."""

    build = staticmethod(
        lambda: ps.Dataset.range(9).map(lambda n: np.full(n, n)).window(5, stride=2).first()
    )
    expected = [np.full(n, n) for n in range(0, 9, 2)]
    pickles = False


class TestElementsBehindOtherStages(DatasetContract):
    source = staticmethod(lambda: window(9))
    apply = staticmethod(lambda ds: ds.repeat(2).batch(4).unbatch().skip(1))
    expected = [*range(1, 9), *range(9)]
    pickles = False
    errors_upstream = 2

    def expected_around_error(self):
        return [x for x in self.expected if x != 4]


def test_they_may_be_transformed_like_any_other():
    d = window(4)
    assert_same(list(d.map(lambda x: x + 1)), [1, 2, 3, 4])
    assert_same(list(d.concatenate(window(2)).batch(3)), [np.arange(3), np.array([3, 0, 1])])
    assert_same(list(ps.Dataset.zip((d, d.skip(1)))), [(0, 1), (1, 2), (2, 3)])
    assert sorted(int(x) for x in d.shuffle(4)) == [0, 1, 2, 3]
    assert_same(list(d.cache().prefetch(2)), [0, 1, 2, 3])
    assert len(d) == 4
    assert d.element_spec == ps.TensorSpec((), np.int64)
    assert repr(d.batch(2)).startswith("<Dataset elements().batch(")


@pytest.mark.parametrize("calls", [None, 2])
def test_they_travel_through_other_stages(calls):
    ds = ps.Dataset.range(9).window(3).map(lambda w: w.batch(2), num_parallel_calls=calls)
    ds = ds.enumerate().prefetch(2).flat_map(lambda i, w: w)
    assert_same(list(ds), [np.array(x) for x in ([0, 1], [2], [3, 4], [5], [6, 7], [8])])


def test_a_batch_of_them_is_an_array_of_objects():
    batch = ps.Dataset.range(4).window(2).batch(2).first()
    assert batch.dtype == object
    assert [[int(x) for x in d] for d in batch] == [[0, 1], [2, 3]]


def test_they_cannot_be_pickled_nor_written_to_files(tmp_path):
    with pytest.raises(TypeError, match="pickle: a dataset that is an element of another one"):
        pickle.dumps(window().batch(2))
    with pytest.raises((TypeError, ValueError), match="object"):
        ps.Dataset.range(4).window(2).save(str(tmp_path / "saved"))


def test_caches_in_files_tell_them_apart(tmp_path):
    name = str(tmp_path / "cache")
    first, second = ps.Dataset.range(4).window(2)
    assert_same(list(first.cache(name)), [0, 1])
    with pytest.warns(RuntimeWarning, match="made by another pipeline"):
        assert_same(list(second.cache(name)), [2, 3])


def test_they_outlive_their_iterator_and_go_with_their_last_reference():
    class Thing:
        pass

    things = [Thing(), Thing()]
    seen = weakref.ref(things[0])
    ds = ps.Dataset.from_generator(lambda: iter(things)).window(2)
    d = ds.first()
    assert next(iter(d)) is things[0]
    del ds
    things.clear()
    gc.collect()
    assert seen() is not None
    del d
    gc.collect()
    assert seen() is None


def test_many_threads_may_read_one():
    d = window(20)
    came = []
    readers = [threading.Thread(target=lambda: came.append(list(d))) for _ in range(4)]
    for reader in readers:
        reader.start()
    for reader in readers:
        reader.join()
    for items in came:
        assert_same(items, list(range(20)))
