"""ps.prefetch around common loaders: a generator, PyTorch's `DataLoader`, Hugging Face datasets.

Each is compared with a plain loop over the same loader.
"""

import gc
import weakref
from collections.abc import Sized

import numpy as np
import pytest

import penstock as ps
from contract import Boom
from process import reads_memory, resident
from scripts import wait_until

ROWS = 11


def row(i, bad=None):
    if i == bad:
        raise Boom(f"row {i}")
    return {"x": np.full((3, 2), i, np.float32), "label": i, "text": f"row {i}"}


class MapStyle:
    """A map-style dataset, as PyTorch defines it."""

    def __init__(self, bad):
        self.bad = bad

    def __len__(self):
        return ROWS

    def __getitem__(self, i):
        return row(i, self.bad)


def generator(bad=None):
    def rows():
        for i in range(ROWS):
            yield row(i, bad)

    return rows


def data_loader(workers):
    def make(bad=None):
        data = pytest.importorskip("torch.utils.data")
        return data.DataLoader(MapStyle(bad), batch_size=2, num_workers=workers)

    return make


def hugging_face(**columns):
    datasets = pytest.importorskip("datasets")
    return datasets.Dataset.from_dict({"i": list(range(ROWS)), **columns})


def rows_of(bad):
    def transform(batch):
        rows = [row(i, bad) for i in batch["i"]]
        return {name: [row[name] for row in rows] for name in ("x", "label", "text")}

    return transform


def hugging_face_table(bad=None):
    return hugging_face().with_transform(rows_of(bad))


def hugging_face_stream(bad=None):
    # Rows are mapped individually, because a batch would fail as a whole.
    return hugging_face().to_iterable_dataset().map(lambda element: row(element["i"], bad))


LOADERS = {
    "generator": generator,
    "DataLoader": data_loader(0),
    "DataLoader with workers": data_loader(2),
    "datasets.Dataset": hugging_face_table,
    "datasets.IterableDataset": hugging_face_stream,
}


@pytest.fixture(params=LOADERS)
def make(request):
    """Return a function that makes one kind of loader; its argument is the row that fails."""
    return LOADERS[request.param]


def plain(loader):
    """Return an iterator of a plain loop over the argument of prefetch."""
    return iter(loader() if callable(loader) else loader)


def assert_equal(came, expected):
    assert type(came) is type(expected)
    if isinstance(expected, dict):
        assert list(came) == list(expected)
        for name, value in expected.items():
            assert_equal(came[name], value)
    else:
        assert getattr(came, "dtype", None) == getattr(expected, "dtype", None)
        np.testing.assert_array_equal(came, expected)


def test_items_and_their_order_are_those_of_a_plain_loop_in_each_epoch(make):
    loader = make()
    expected = list(plain(loader))
    assert len(expected) >= ROWS // 2
    prefetched = ps.prefetch(loader)
    for _ in range(2):
        came = list(prefetched)
        assert len(came) == len(expected)
        for one, other in zip(came, expected, strict=True):
            assert_equal(one, other)


def test_items_are_the_very_objects_that_the_loader_made(make):
    loader = make()
    made = []

    def noting():
        for item in plain(loader):
            made.append(item)
            yield item

    came = list(ps.prefetch(noting))
    assert len(came) == len(made)
    for one, other in zip(came, made, strict=True):
        assert one is other
        assert all(one[name] is other[name] for name in other)


def test_the_length_is_the_loader_s(make):
    loader = make()
    if isinstance(loader, Sized):
        assert len(ps.prefetch(loader)) == len(loader)
    else:
        with pytest.raises(TypeError):
            len(ps.prefetch(loader))


def until_error(items):
    """Return the number of items before the exception, and the exception."""
    count = 0
    try:
        for _ in items:
            count += 1
    except Boom as error:
        return count, error
    raise AssertionError("no exception came")


@pytest.mark.parametrize("bad", [0, 5, ROWS - 1])
def test_an_exception_comes_at_its_place_and_the_next_epoch_begins_anew(make, bad):
    loader = make(bad)
    # PyTorch's processes take seconds to exit after an error; without them the batches are the
    # same.
    alone = data_loader(0)(bad) if getattr(loader, "num_workers", 0) else loader
    expected, exception = until_error(plain(alone))
    prefetched = ps.prefetch(loader)
    for _ in range(2):
        count, raised = until_error(prefetched)
        assert count == expected
        assert type(raised) is type(exception)
        assert f"row {bad}" in str(raised)


def gone(references):
    gc.collect()
    return all(reference() is None for reference in references)


def test_break_ends_the_loader_s_iteration(make):
    loader = make()
    running = []

    class Watched:
        def __iter__(self):
            iterator = plain(loader)
            # PyTorch's workers exit with the iterator that started them.
            running.extend(map(weakref.ref, [iterator, *getattr(iterator, "_workers", ())]))
            return iterator

    for _ in ps.prefetch(Watched()):
        break
    wait_until(lambda: gone(running))
    assert running


def test_items_die_when_the_loop_lets_go_of_them(make):
    seen = []
    for item in ps.prefetch(make()):
        seen.append(weakref.ref(item["x"]))
        del item
    wait_until(lambda: gone(seen))
    assert len(seen) >= ROWS // 2


@reads_memory
def test_memory_is_flat_over_a_thousand_iterators_and_ten_epochs():
    def items():
        for i in range(4):
            yield {"x": np.full(100_000, i, np.uint8)}

    def many(iterators):
        for _ in range(iterators):
            for _ in ps.prefetch(items):
                break
        for _ in range(10):
            assert len(list(ps.prefetch(items))) == 4

    many(200)
    before = resident()
    many(1000)
    # One leaked item per iterator would be 100 MB.
    assert resident() - before < 20_000_000


def test_tensors_of_a_data_loader_stay_tensors_in_their_memory():
    torch = pytest.importorskip("torch")
    tensors = torch.arange(24.0).reshape(12, 2)
    loader = torch.utils.data.DataLoader(tensors, batch_size=None)
    addresses = [item.data_ptr() for item in ps.prefetch(loader)]
    assert addresses == [tensors[i].data_ptr() for i in range(12)]


def test_shuffled_data_loaders_keep_their_own_order():
    torch = pytest.importorskip("torch")

    def loader():
        order = torch.Generator().manual_seed(7)
        return torch.utils.data.DataLoader(range(50), 5, shuffle=True, generator=order)

    came, expected = ps.prefetch(loader()), loader()
    for _ in range(3):  # every epoch has a different order, the same as without prefetch
        epoch = [batch.tolist() for batch in came]
        assert epoch == [batch.tolist() for batch in expected]
