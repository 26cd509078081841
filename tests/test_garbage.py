"""What nobody refers to any more is freed, in reference cycles too."""

import gc
import weakref

import numpy as np
import pytest

import penstock as ps
from scripts import wait_until

Dataset = ps.Dataset

WITHIN = 5.0  # seconds


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


def test_iterator_that_its_function_refers_to_is_collected():
    class Marker:
        pass

    def begin():
        held = [Marker()]
        it = iter(Dataset.range(10**12).map(lambda x: (held, x)[1], num_parallel_calls=2))
        held.append(it)
        next(it)
        return weakref.ref(held[0])

    # Each time the function may be running when the collector finds it.
    gone = [begin() for _ in range(100) if gc.collect() >= 0]

    def collected():
        gc.collect()
        return all(marker() is None for marker in gone)

    wait_until(collected, WITHIN)
