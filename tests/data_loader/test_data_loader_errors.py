"""Errors of ps.DataLoader: in datasets, samplers and collation, and wrong arguments."""

import contextlib
import gc
import weakref

import numpy as np
import pytest
from squares import Many, Squares, workers

import penstock as ps


class Failing(Squares):
    def __getitem__(self, i):
        if i == 3:
            raise LookupError("three")
        return i


@workers
def test_an_error_is_raised_in_its_place_and_names_the_index(workers):
    batches = iter(ps.DataLoader(Failing(6), 2, **workers))
    assert next(batches).tolist() == [0, 1]
    with pytest.raises(LookupError, match="three") as error:
        next(batches)
    assert "dataset[3]" in "".join(error.value.__notes__)
    assert [b.tolist() for b in batches] == [[4, 5]]
    with pytest.raises(LookupError) as error:
        list(ps.DataLoader(Failing(6), None, **workers))
    assert "dataset[3]" in "".join(error.value.__notes__)


@workers
def test_an_error_of_getitems_names_the_indices(workers):
    with pytest.raises(IndexError, match="no row 99") as error:
        list(ps.DataLoader(Many(), 2, sampler=[1, 99], **workers))
    assert "__getitems__([1, 99])" in "".join(error.value.__notes__)


@workers
def test_an_error_of_collating_names_the_batch(workers):
    rows = [np.zeros(2), np.zeros(2), np.zeros(3)]
    with pytest.raises(ValueError, match="sample 1") as error:
        list(ps.DataLoader(rows, 2, sampler=[0, 2], **workers))
    assert "[0, 2]" in "".join(error.value.__notes__)


@workers
def test_stop_iteration_in_a_dataset_is_no_end(workers):
    class Stops(Squares):
        def __getitem__(self, i):
            raise StopIteration

    with pytest.raises(RuntimeError, match=r"dataset\[0\] raised StopIteration"):
        list(ps.DataLoader(Stops(), **workers))


@workers
@pytest.mark.parametrize("batches_ahead", [0, 3])
def test_errors_of_samplers_and_iterables_end_the_pass(workers, batches_ahead):
    def breaks():
        yield from range(batches_ahead)
        raise OSError("gone")

    class Breaks:
        def __iter__(self):
            info = ps.get_worker_info()
            return breaks() if info is None or info.id == 0 else iter(())

    for loader in (
        ps.DataLoader(Breaks(), 1, **workers),
        ps.DataLoader(range(9), 1, sampler=breaks(), **workers),
    ):
        seen = []
        with pytest.raises(OSError, match="gone"):  # noqa: PT012
            for batch in loader:
                seen += batch.tolist()
        assert seen == list(range(batches_ahead))


def test_an_error_keeps_its_context_and_one_note():
    shared = LookupError("again")

    class Again(Squares):
        def __getitem__(self, i):
            try:
                raise OSError("first")
            except OSError:
                raise shared  # noqa: B904

    for _ in range(2):
        with pytest.raises(LookupError) as error:
            next(iter(ps.DataLoader(Again())))
        assert isinstance(error.value.__context__, OSError)
        assert not error.value.__suppress_context__
        assert len(error.value.__notes__) == 1


@pytest.mark.slow
@workers
def test_a_pass_is_freed_behind_an_error_among_quick_batches(workers):
    class Fails(Squares):
        def __getitem__(self, i):
            if i % 50 == 49:
                raise LookupError(i)
            return i

    for taken in range(50, 500, 30):
        batches = iter(ps.DataLoader(Fails(500), None, **workers))
        for _ in range(taken):
            with contextlib.suppress(LookupError):
                next(batches)
        gone = weakref.ref(batches)
        del batches
        gc.collect()
        assert gone() is None


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"num_workers": -1}, "num_workers must be an int >= 0"),
        ({"num_workers": 1.5}, "num_workers"),
        ({"timeout": -1, "num_workers": 1}, "timeout must be >= 0"),
        ({"timeout": 1}, "timeout needs num_workers"),
        ({"prefetch_factor": 2}, "prefetch_factor needs num_workers"),
        ({"prefetch_factor": 0, "num_workers": 1}, "prefetch_factor must be >= 1"),
        ({"persistent_workers": True}, "persistent_workers needs num_workers"),
        (
            {"multiprocessing_context": "spawn", "num_workers": 2, "worker_method": "thread"},
            "needs worker processes, got worker_method='thread'",
        ),
        ({"sampler": [1], "shuffle": True}, "exclude each other"),
        ({"batch_sampler": [[1]], "batch_size": 3}, "batch_sampler excludes"),
        ({"batch_size": None, "drop_last": True}, "drop_last must be False"),
        ({"batch_size": 0}, "batch_size must be an int >= 1, got 0"),
        ({"batch_size": 1.0}, "batch_size must be an int"),
        ({"drop_last": 1}, "drop_last must be a bool"),
        ({"generator": -1, "shuffle": True}, "seed must be >= 0"),
    ],
)
def test_arguments_that_cannot_be_are_refused(options, message):
    with pytest.raises(ValueError, match=f"DataLoader: .*{message}"):
        ps.DataLoader(Squares(), **options)


@pytest.mark.parametrize(
    ("dataset", "options", "message"),
    [
        (3, {}, "a dataset with __getitem__ and __len__, or with __iter__"),
        (None, {}, "a dataset"),
        (Squares(), {"sampler": 3}, "sampler must be iterable"),
        (Squares(), {"shuffle": True, "generator": "a"}, "generator must be an int"),
    ],
)
def test_what_is_no_dataset_or_sampler_is_a_type_error(dataset, options, message):
    with pytest.raises(TypeError, match=message):
        ps.DataLoader(dataset, **options)


@pytest.mark.parametrize("batch", [[], [1.5], ["a"], [[1]], 3])
def test_what_is_no_list_of_rows_is_refused(batch):
    for rows in (np.zeros((4, 2)), np.zeros(4)):
        with pytest.raises(TypeError, match="a list of ints was expected"):
            list(ps.DataLoader(rows, batch_sampler=[batch]))


def test_an_iterable_dataset_decides_its_order():
    for option in ({"shuffle": True}, {"sampler": [1]}, {"batch_sampler": [[1]]}):
        with pytest.raises(ValueError, match=next(iter(option))):
            ps.DataLoader(iter(()), **option)
    assert list(ps.DataLoader(iter(()), shuffle=False)) == []
