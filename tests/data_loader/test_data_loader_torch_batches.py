"""Batches that ps.DataLoader makes of PyTorch datasets: collated, gathered, pinned."""

import collections

import numpy as np
import pytest

import penstock as ps

torch = pytest.importorskip("torch")
data = torch.utils.data

from torch_datasets import (  # noqa: E402  # imports torch
    WORKERS,
    N,
    Point,
    array,
    assert_same,
    nested,
    tensors,
)

SAMPLES = [
    [1, 2, 3],
    [1.5, 2],
    [True, False],
    ["a", "b"],
    [b"a", b"b"],
    [np.float16(1), np.float16(2)],
    [np.int8(1), np.int8(2)],
    [np.bool_(True), np.bool_(False)],
    [np.arange(3), np.arange(3)],
    [np.array(1.5), np.array(2.5)],
    [np.arange(6).reshape(3, 2).T, np.zeros((2, 3), int)],
    [(1, "a"), (2, "b")],
    [[1, [2.0]], [3, [4.0]]],
    [{"a": 1, "b": {"c": np.ones(2)}}, {"b": {"c": np.zeros(2)}, "a": 2}],
    [Point(1, "x"), Point(2, "y")],
    [collections.OrderedDict(a=1), collections.OrderedDict(a=2)],
    [collections.defaultdict(int, a=1), collections.defaultdict(int, a=2)],
    [collections.UserDict(a=1), collections.UserDict(a=2)],
    [range(3), range(3)],
    [(), ()],
    [collections.deque([1, 2]), collections.deque([3, 4])],
]


def as_numpy(value):
    if isinstance(value, torch.Tensor):
        return value.numpy()
    if isinstance(value, collections.UserDict):
        return type(value)({k: as_numpy(v) for k, v in value.items()})
    if isinstance(value, dict):
        made = value.copy()
        made.update({k: as_numpy(v) for k, v in value.items()})
        return made
    if isinstance(value, tuple) and hasattr(value, "_fields"):
        return type(value)(*map(as_numpy, value))
    if isinstance(value, (list, tuple, collections.deque)):
        return type(value)(map(as_numpy, value))
    return value


@pytest.mark.parametrize("samples", SAMPLES, ids=repr)
def test_default_collate_gives_numpy_where_torchs_gives_tensors(samples):
    expected = as_numpy(data.default_collate(samples))
    collated = ps.default_collate(samples)
    if isinstance(expected, collections.UserDict):
        expected, collated = dict(expected), dict(collated)
    if isinstance(expected, collections.deque):
        assert type(collated) is type(expected)
        expected, collated = list(expected), list(collated)
    assert_same(expected, collated)


@pytest.mark.parametrize(
    "samples", [[None, None], [object()], [{"a": None}], [(1, None), (2, None)], [1j], [{1, 2}]]
)
def test_what_torch_cannot_collate_is_a_type_error(samples):
    for collate in (data.default_collate, ps.default_collate):
        with pytest.raises(TypeError, match="default_collate"):
            collate(samples)


def test_samples_with_tensors_are_collated_by_torch():
    samples = [(torch.ones(2), np.ones(2), 1.0, "a")] * 2
    assert_same(data.default_collate(samples), ps.default_collate(samples))


def test_a_dataset_with_another_getitem_is_not_gathered():
    class Doubled(data.TensorDataset):
        def __getitem__(self, i):
            x, y, z = super().__getitem__(i)
            return x * 2, y, z

    class Shown(data.Subset):
        def __getitem__(self, i):
            return i, super().__getitem__(i)

        def __getitems__(self, indices):
            return [self[i] for i in indices]

    doubled = Doubled(*tensors().tensors)
    assert_same(list(data.DataLoader(doubled, 4)), list(ps.DataLoader(doubled, 4)))
    shown = Shown(tensors(), [3, 4])
    assert_same(list(data.DataLoader(shown, 2)), list(ps.DataLoader(shown, 2)))


@pytest.mark.parametrize(
    ("kind", "rows"),
    [
        (torch.Tensor, tensors()),
        (torch.Tensor, data.Subset(tensors(), [3, 1, 2])),
        (tuple, tensors()),
        (object, data.TensorDataset(torch.arange(3))),
        (np.ndarray, data.Subset(np.arange(6.0).reshape(3, 2), [2, 0])),
        (np.float64, data.Subset(np.arange(3.0), [2, 0])),
        ((np.bool_, np.number, np.object_), data.Subset(np.arange(3), [2, 0])),
        ((str, np.integer), data.Subset(np.arange(3), [2, 0])),  # after the type that is taken
    ],
)
def test_a_changed_table_of_torch_counts_for_rows_in_memory_too(kind, rows, monkeypatch):
    table = torch.utils.data._utils.collate.default_collate_fn_map
    monkeypatch.setitem(table, kind, lambda batch, *, collate_fn_map=None: ("mine", len(batch)))
    theirs = list(data.DataLoader(rows, 2))
    assert_same(theirs, list(ps.DataLoader(rows, 2)))
    collated = {"collate_fn": data.default_collate}
    assert_same(theirs, list(ps.DataLoader(rows, 2, **collated)))
    assert ("mine" in str(theirs)) is (kind != (str, np.integer))


def test_a_changed_table_counts_for_an_array_that_becomes_tensors(monkeypatch):
    table = torch.utils.data._utils.collate.default_collate_fn_map
    monkeypatch.setitem(table, np.ndarray, lambda batch, *, collate_fn_map=None: len(batch))
    assert list(ps.DataLoader(np.ones((3, 2)), 2, collate_fn=data.default_collate)) == [2, 1]
    assert [len(batch) for batch in ps.DataLoader(np.ones((3, 2)), 2)] == [2, 1]  # no tensors


def test_batches_in_memory_are_copies():
    dataset = tensors()
    for shuffle in (False, True):
        for batch in ps.DataLoader(dataset, 4, shuffle=shuffle):
            batch[0].zero_()
    assert_same(dataset.tensors[0], tensors().tensors[0])


@pytest.mark.parametrize("of", [array, tensors, lambda: data.Subset(tensors(), range(20, 0, -1))])
def test_ranges_of_a_batch_sampler_are_any_ranges_of_tensors(of):
    batches = [range(0, 10, 2), range(9, 4, -1), range(3, 5)]
    dataset = of()
    samples = [data.default_collate([dataset[i] for i in batch]) for batch in batches]
    collate = data.default_collate
    assert_same(samples, list(ps.DataLoader(dataset, batch_sampler=batches, collate_fn=collate)))
    with pytest.raises(IndexError):
        list(ps.DataLoader(dataset, batch_sampler=[range(N - 1, N + 9)]))


class Transposed(data.Dataset):
    def __len__(self):
        return 6

    def __getitem__(self, i):
        return np.full((5, 4, 3), i, np.float32).transpose(2, 0, 1)


@pytest.mark.parametrize("order", [{}, {"shuffle": True}, {"sampler": [-1, 2, 3]}], ids=repr)
@pytest.mark.parametrize("memory", ["transposed", "channels_last", "rows"])
def test_batches_are_contiguous_as_torchs(memory, order):
    images = torch.rand(6, 3, 5, 4)
    dataset = {
        "transposed": data.TensorDataset(images.transpose(1, 3)),
        "channels_last": data.TensorDataset(images.to(memory_format=torch.channels_last)),
        "rows": Transposed(),
    }[memory]
    for batch in ps.DataLoader(dataset, batch_size=3, **order):
        assert (batch if memory == "rows" else batch[0]).is_contiguous()


def test_pinning_without_an_accelerator_warns_as_in_torch():
    if torch.accelerator.is_available():
        pytest.skip("there is an accelerator")
    for of in (data.DataLoader, ps.DataLoader):
        with pytest.warns(UserWarning, match="pin_memory"):
            assert len(list(of(tensors(), 10, pin_memory=True))) == 3


@pytest.mark.parametrize("workers", WORKERS, ids=repr)
def test_with_an_accelerator_every_tensor_of_a_batch_is_pinned(workers, monkeypatch):
    # Simulate a machine with an accelerator; PyTorch does the copies.
    monkeypatch.setattr(torch.accelerator, "is_available", lambda: True)
    monkeypatch.setattr(torch.accelerator, "current_accelerator", lambda: torch.device("cuda"))
    monkeypatch.setattr(torch.Tensor, "pin_memory", lambda tensor: tensor + 100)
    batch = next(iter(ps.DataLoader([nested(i) for i in range(2)], 2, pin_memory=True, **workers)))
    assert batch["point"].y.tolist() == [100, 101]
    assert batch["list"][0] == ("0", "1")
    assert batch["list"][2].tolist() == [100, 101]
    assert batch["image"].min() == 100


def test_user_dicts_and_lists_are_pinned(monkeypatch):
    class Encoding(collections.UserDict):
        """Like the encodings of tokenizer libraries."""

    def collate(samples):
        encoding = Encoding(ids=torch.tensor(samples))
        encoding.name, encoding["more"] = "kept", collections.UserList([torch.zeros(2)])
        return encoding

    monkeypatch.setattr(torch.accelerator, "is_available", lambda: True)
    monkeypatch.setattr(torch.accelerator, "current_accelerator", lambda: torch.device("cuda"))
    monkeypatch.setattr(torch.Tensor, "pin_memory", lambda tensor: tensor + 100)
    batch = next(iter(ps.DataLoader(range(2), 2, pin_memory=True, collate_fn=collate)))
    assert type(batch) is Encoding
    assert batch.name == "kept"
    assert batch["ids"].tolist() == [100, 101]
    assert batch["more"][0].tolist() == [100, 100]
