"""ps.DataLoader without PyTorch: batches of every dataset, their orders, and its properties."""

import itertools
import pickle
import sys
import threading

import numpy as np
import pytest
from squares import Many, Squares, threads, workers

import penstock as ps


def indices(loader):
    return [batch["i"].tolist() for batch in loader]


@workers
@pytest.mark.parametrize("kind", [Squares, Many])
def test_batches_of_a_map_style_dataset(kind, workers):
    loader = ps.DataLoader(kind(), 4, **workers)
    for _ in range(2):
        batches = list(loader)
        assert [b["i"].tolist() for b in batches] == [[0, 1, 2, 3], [4, 5, 6, 7], [8, 9]]
        assert batches[2]["square"].tolist() == [[64, 64], [81, 81]]
    assert len(loader) == 3
    assert indices(ps.DataLoader(kind(), 4, drop_last=True, **workers))[-1] == [4, 5, 6, 7]


def test_getitems_is_given_lists_of_ints():
    dataset = Many(5)
    list(ps.DataLoader(dataset, 3, shuffle=True))
    assert [type(i) for asked in dataset.asked for i in asked] == [int] * 5
    assert [type(asked) for asked in dataset.asked] == [list] * 2


@workers
def test_rows_of_an_array_are_gathered(workers):
    rows = np.arange(20).reshape(10, 2)
    for dataset in (rows, rows[:, 0], rows.astype("M8[s]"), rows.T.copy().T):
        loader = ps.DataLoader(dataset, 4, shuffle=True, generator=3, **workers)
        order = list(ps.DataLoader(range(10), 4, shuffle=True, generator=3))
        for batch, chosen in zip(loader, order, strict=True):
            np.testing.assert_array_equal(batch, dataset[chosen])
            assert batch.dtype == dataset.dtype
    for batch in ps.DataLoader(rows, 4, **workers):
        batch[:] = 0
    assert rows[9, 1] == 19
    assert [b.tolist() for b in ps.DataLoader(rows[:, 0], 2, sampler=[-1, 3, 3], **workers)] == [
        [18, 6],
        [6],
    ]


def test_rows_of_a_memory_map_are_gathered(tmp_path):
    np.save(tmp_path / "rows.npy", np.arange(6).reshape(3, 2))
    rows = np.load(tmp_path / "rows.npy", mmap_mode="r")
    batches = list(ps.DataLoader(rows, 2))
    assert [type(b) for b in batches] == [np.ndarray] * 2
    assert batches[1].tolist() == [[4, 5]]


def test_rows_of_strings_are_strings():
    assert list(ps.DataLoader(np.array(["a", "b", "c"]), 2)) == [["a", "b"], ["c"]]


@threads
def test_without_batches_samples_come_as_they_are(workers):
    rows = [(i, np.array([i])) for i in range(4)]
    for given, seen in zip(rows, ps.DataLoader(rows, None, **workers), strict=True):
        assert given is seen
    assert list(ps.DataLoader(range(4), None, collate_fn=str, **workers)) == list("0123")
    assert list(ps.DataLoader(iter("abc"), None, **workers)) == ["a", "b", "c"]


@threads
def test_an_iterable_dataset_is_read_once(workers):
    threads = set()

    def read():
        for i in range(7):
            threads.add(threading.get_ident())
            yield i

    loader = ps.DataLoader(read(), 3, **workers)
    assert [b.tolist() for b in loader] == [[0, 1, 2], [3, 4, 5], [6]]
    assert list(loader) == []
    dropped = ps.DataLoader(iter(range(7)), 3, drop_last=True, **workers)
    assert [b.tolist() for b in dropped] == [[0, 1, 2], [3, 4, 5]]
    with pytest.raises(TypeError):
        len(dropped)


def test_the_length_of_an_iterable_dataset_is_in_batches():
    dataset = ps.Dataset.range(10)
    assert len(ps.DataLoader(dataset, 4)) == len(list(ps.DataLoader(dataset, 4))) == 3
    assert len(ps.DataLoader(dataset, 4, drop_last=True)) == 2
    assert len(ps.DataLoader(dataset, None)) == 10


@workers
@pytest.mark.parametrize("size", [1, 3, 10, 11])
def test_shuffled_passes_hold_each_sample_once(size, workers):
    loader = ps.DataLoader(Squares(), size, shuffle=True, **workers)
    passes = [list(itertools.chain(*indices(loader))) for _ in range(3)]
    assert all(sorted(p) == list(range(10)) for p in passes)
    assert len(set(map(tuple, passes))) > 1


def shuffled(generator, passes=2, **more):
    loader = ps.DataLoader(range(20), None, shuffle=True, generator=generator, **more)
    return [list(loader) for _ in range(passes)]


def test_a_seed_says_the_orders():
    assert shuffled(3) == shuffled(3) == shuffled(3, num_workers=2)
    assert shuffled(3) != shuffled(4)
    assert shuffled(3)[0] != shuffled(3)[1]
    one, two = (shuffled(np.random.default_rng(3)) for _ in range(2))
    assert one == two
    generator = np.random.default_rng(3)
    assert shuffled(generator) != shuffled(generator)


def test_set_seed_says_the_orders():
    ps.set_seed(5)
    one = shuffled(None)
    ps.set_seed(5)
    assert shuffled(None) == one
    assert shuffled(None) != one


def test_a_sampler_is_any_iterable():
    assert next(iter(ps.DataLoader(range(9), 2, sampler=(8, 0, 8)))).tolist() == [8, 0]
    loader = ps.DataLoader({"a": 1, "b": 2}, None, sampler=["b", "a"])
    assert list(loader) == [2, 1]
    batches = [[1, 2], [], [3]]
    loader = ps.DataLoader(Squares(), batch_sampler=batches, collate_fn=len)
    assert list(loader) == [2, 0, 1]
    assert (len(loader), loader.batch_size, loader.batch_sampler) == (3, None, batches)


@workers
def test_ranges_of_a_batch_sampler_are_any_ranges(workers):
    batches = [range(0, 10, 2), range(9, 4, -1), range(-2, 1), range(3, 5)]
    loader = ps.DataLoader(np.arange(10), batch_sampler=batches, **workers)
    assert [b.tolist() for b in loader] == [list(b) if b.start >= 0 else [8, 9, 0] for b in batches]
    with pytest.raises(IndexError):
        list(ps.DataLoader(np.arange(10), batch_sampler=[range(8, 12)], **workers))


def test_an_empty_dataset_has_no_batches_and_no_order():
    assert list(ps.DataLoader([], 2)) == []
    with pytest.raises(ValueError, match="at least one sample"):
        ps.DataLoader([], shuffle=True)


def test_attributes_of_a_made_loader_stay():
    loader = ps.DataLoader(Squares(), 2)
    for name in ("batch_size", "sampler", "batch_sampler", "drop_last", "dataset"):
        with pytest.raises(ValueError, match=name):
            setattr(loader, name, None)
    loader.collate_fn = len
    assert list(loader) == [2] * 5


@workers
def test_two_passes_at_once_do_not_meet(workers):
    loader = ps.DataLoader(Squares(), 3, shuffle=True, generator=1, **workers)
    pairs = list(zip(loader, loader, strict=True))
    for side in range(2):
        assert sorted(i for pair in pairs for i in pair[side]["i"].tolist()) == list(range(10))


def test_a_loader_can_be_pickled():
    loader = ps.DataLoader([1, 2, 3], 2, shuffle=True, generator=4, num_workers=1)
    other = pickle.loads(pickle.dumps(loader))
    assert [b.tolist() for b in other] == [b.tolist() for b in loader]
    next(iter(loader))
    assert pickle.loads(pickle.dumps(loader))._position is None
    for count in (0, 1):
        with pytest.raises(TypeError, match="cannot be pickled"):
            pickle.dumps(iter(ps.DataLoader([1], num_workers=count)))


@pytest.mark.skipif("torch" in sys.modules, reason="another test has imported it")
def test_pinning_without_torch_warns():
    with pytest.warns(UserWarning, match="pin_memory=True has no effect"):
        assert len(list(ps.DataLoader([1], pin_memory=True))) == 1


def test_annotations_name_what_batches_are():
    assert ps.DataLoader[int].__origin__ is ps.DataLoader
