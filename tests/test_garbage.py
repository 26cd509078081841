"""Unreferenced objects are freed, including reference cycles."""

import gc
import sys
import threading
import weakref

import numpy as np
import pytest

import penstock as ps
from process import lanes
from scripts import wait_until

Dataset = ps.Dataset

WITHIN = 60.0  # seconds


def test_arrays_given_out_are_freed_when_nobody_holds_them():
    class Payload:
        pass

    freed = []

    def source():
        for i in range(6):
            payload = Payload()
            weakref.finalize(payload, freed.append, i)
            yield payload

    it = iter(ps.prefetch(source))
    first = next(it)
    assert isinstance(first, Payload)
    del first
    it.close()
    del it
    gc.collect()
    wait_until(lambda: len(freed) >= 1)
    produced = len(freed)
    gc.collect()
    assert sorted(freed) == list(range(produced))


def test_exceptions_are_not_kept():
    class Mine(Exception):
        pass

    refs = []

    def fails(x):
        error = Mine()
        refs.append(weakref.ref(error))
        raise error

    for parallel in (None, 2):
        it = iter(Dataset.range(4).map(fails, num_parallel_calls=parallel))
        for _ in range(4):
            with pytest.raises(Mine):
                next(it)
        assert next(it, None) is None
        del it
    gc.collect()
    wait_until(lambda: all(ref() is None for ref in refs))


def test_loader_object_with_a_dataset_of_its_own_methods_is_collected():
    class Loader:
        def __init__(self):
            self.data = np.zeros(1000)
            self.ds = Dataset.range(5).map(self.get, num_parallel_calls=2)
            self.it = iter(self.ds)

        def get(self, x):
            return self.data[x]

    loader = Loader()
    next(loader.it)
    gone = weakref.ref(loader)
    del loader
    gc.collect()
    assert gone() is None


@pytest.mark.parametrize("debug", [False, True])
def test_object_with_a_dataset_of_its_own_native_methods_is_collected(debug):
    class Model:
        def __init__(self):
            self.ds = Dataset.range(5).map(self.add, num_parallel_calls=2).filter(self.large)

        @ps.native
        def add(self, x):
            return x + 1

        @ps.native
        def large(self, x):
            return x > 2

    model = Model()
    if debug:
        with ps.experimental.debug_mode():
            assert len(list(model.ds)) == 3
    gone = weakref.ref(model)
    del model

    def collected():
        gc.collect()
        return gone() is None

    wait_until(collected, WITHIN)


@pytest.mark.slow
def test_iterator_that_its_function_refers_to_is_collected():
    class Marker:
        pass

    def begin():
        held = [Marker()]
        it = iter(Dataset.range(10**12).map(lambda x: (held, x)[1], num_parallel_calls=2))
        held.append(it)
        next(it)
        return weakref.ref(held[0])

    # Each time, the function may be running when the collector finds it.
    gone = [begin() for _ in range(100) if gc.collect() >= 0]

    def collected():
        gc.collect()
        return all(marker() is None for marker in gone)

    wait_until(collected, WITHIN)


def pulled(opaque):
    """Yield many more elements than any buffer holds."""
    for i in range(10**6):
        yield np.full(3, i) if opaque else i


def of_prefetch(self):
    return iter(ps.prefetch(self.values, buffer_size=2))


def of_generator(self):
    return iter(Dataset.from_generator(self.values))


def of_generator_ahead(self):
    return iter(Dataset.from_generator(self.values).prefetch(2))


def of_generator_mapped(self):
    return iter(Dataset.from_generator(self.values).map(self.plus, num_parallel_calls=2))


def of_interleave(self):
    ds = Dataset.range(9)
    return iter(ds.interleave(self.opened, cycle_length=2, num_parallel_calls=2))


def of_interleave_inline(self):
    return iter(Dataset.range(9).interleave(self.opened, cycle_length=2).prefetch(2))


def of_flat_map(self):
    return iter(Dataset.range(9).flat_map(self.opened).prefetch(1))


def of_flat_map_inline(self):
    return iter(Dataset.range(9).flat_map(self.opened))


def of_group_by_window(self):
    ds = Dataset.range(10**6).group_by_window(
        lambda x: 0, lambda key, rows: rows.map(self.plus), window_size=3
    )
    return iter(ds.prefetch(1))


@pytest.mark.parametrize(
    "made",
    [
        of_prefetch,
        of_generator,
        of_generator_ahead,
        of_generator_mapped,
        of_interleave,
        of_interleave_inline,
        of_flat_map,
        of_flat_map_inline,
        of_group_by_window,
    ],
)
@pytest.mark.parametrize("taken", [0, 1, 40])
def test_object_with_an_iterator_over_its_own_methods_is_collected(made, taken):
    closed = []

    class Loader:
        def __init__(self):
            self.it = made(self)

        def values(self):
            try:
                yield from pulled(made is of_prefetch)
            finally:
                closed.append(self.plus(1))

        def plus(self, x):
            return x + 1

        def opened(self, x):
            return Dataset.from_generator(self.values)

    before = lanes()
    loader = Loader()
    for _ in range(taken):
        next(loader.it)
    gone = weakref.ref(loader)
    del loader

    def collected():
        gc.collect()
        return gone() is None

    wait_until(collected, WITHIN)
    # The thread that ran a generator has closed it, while its object was intact.
    assert set(closed) <= {2}
    assert bool(closed) == (taken > 0 and made is not of_group_by_window)
    wait_until(lambda: lanes() <= before, WITHIN)


@pytest.mark.parametrize(
    ("made", "end"),
    [
        (lambda self: ps.experimental.from_list([self]), "let go"),
        (lambda self: Dataset.from_tensors(self), "let go"),
        (lambda self: Dataset.range(3).map(lambda x: self).cache(), "close"),
        (lambda self: Dataset.range(3).map(lambda x: self).shuffle(3), "close"),
        (lambda self: Dataset.from_indexable([self, self]), None),
    ],
    ids=["from_list", "from_tensors", "cache", "shuffle", "from_indexable"],
)
def test_an_element_that_holds_its_iterator_is_freed_as_the_guide_says(made, end):
    class Element:
        def __init__(self):
            self.it = iter(made(self))
            next(self.it)

    element = Element()
    if end == "let go":
        element.it = None
    elif end == "close":
        element.it.close()
    gone = weakref.ref(element)
    del element

    def collected():
        gc.collect()
        return gone() is None

    wait_until(collected, WITHIN)


@pytest.fixture
def small_heap():
    """Exclude objects older than the test from collections, so that they are fast."""
    gc.collect()
    gc.freeze()
    yield
    gc.unfreeze()


@pytest.mark.usefixtures("small_heap")
def test_collector_beside_a_run_leaves_what_is_in_use_alone():
    asked = threading.Event()  # set by each element, to start the next collection

    class Loader:
        def __init__(self):
            self.parts = [self]
            self.ds = Dataset.range(4).interleave(
                lambda x: Dataset.from_generator(self.values).map(self.same),
                cycle_length=2,
                num_parallel_calls=2,
            )

        def values(self):
            yield from range(len(self.parts) * 50)

        def same(self, x):
            asked.set()
            assert self.parts[0] is self
            return x

    def sums():
        return sum(int(x) for x in iter(Loader().ds))

    collections = []
    finished = threading.Event()

    def collect():
        # The number is bounded, because each collection stops all other threads, for a long time if
        # there are many.
        while asked.wait() and not finished.is_set() and len(collections) < 500:
            asked.clear()
            collections.append(gc.collect())

    collecting = threading.Thread(target=collect)
    collecting.start()
    try:
        for _ in range(100):
            assert sums() == 4 * sum(range(50))
            if len(collections) >= 10:  # a run may end before the collection that it requested
                break
        assert len(collections) >= 10
    finally:
        finished.set()
        asked.set()
        collecting.join()


@pytest.mark.skipif(sys.platform != "linux", reason="worker processes need Linux")
def test_the_collector_closes_iterators_on_a_thread_that_calls_a_function():
    def collects(x):
        it = iter(Dataset.from_generator(range, args=(9,), executor="process"))
        next(it)
        circle = [it]
        circle.append(circle)
        del it, circle
        gc.collect()
        return x

    gc.collect()
    assert list(Dataset.range(4).map(collects, num_parallel_calls=2)) == [0, 1, 2, 3]
