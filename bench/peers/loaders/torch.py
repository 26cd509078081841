"""PyTorch's DataLoader, as its reference advises."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

from torch import from_numpy
from torch.utils.data import (
    BatchSampler,
    DataLoader,
    Dataset,
    IterableDataset,
    RandomSampler,
)

from bench.peers.workload import Epoch, Task
from bench.peers.workloads import generator as images
from bench.peers.workloads import gil as functions
from bench.peers.workloads import jpeg as photos
from bench.peers.workloads import overhead as counting
from bench.peers.workloads import shuffle as shuffling


class Mapped(Dataset[Any]):
    """A map-style dataset: a function of the items of a sequence."""

    def __init__(self, items: Any, function: Callable[[Any], Any]) -> None:
        self.items = items
        self.function = function

    def __len__(self) -> int:
        return len(self.items)

    def __getitem__(self, place: int) -> Any:
        return self.function(self.items[place])


class Generated(IterableDataset[Any]):
    """The generator's images."""

    def __init__(self, n: int) -> None:
        self.n = n

    def __iter__(self) -> Iterator[Any]:
        return images.generate(self.n)


def jpeg(task: Task) -> Epoch:
    """Processes, one per processor, persistent; simplejpeg + OpenCV per image; default collate."""
    from bench.peers import photo

    dataset = Mapped(photos.paths(task), photo.reader(task))
    loader = DataLoader(dataset, task.batch, num_workers=task.workers, persistent_workers=True)
    return lambda: loader


def overhead(task: Task) -> Epoch:
    """Map-style datasets over range, num_workers=0; default collate."""
    if task.case == "range":
        numbers = DataLoader(range(task.n), batch_size=None)  # type: ignore[arg-type]
        return lambda: numbers
    function = counting.record if task.case == "dict" else lambda x: x + 1
    loader = DataLoader(Mapped(range(task.n), function), task.batch)
    return lambda: loader


def shuffle(task: Task) -> Epoch:
    """BatchSampler(RandomSampler) over a tensor: a permutation, gathered batch by batch."""
    from torch import arange

    values = from_numpy(shuffling.rows(task)) if task.width else arange(task.n)
    sampler = BatchSampler(RandomSampler(values), task.batch, drop_last=False)
    loader = DataLoader(values, sampler=sampler, batch_size=None)
    return lambda: loader


def generator(task: Task) -> Epoch:
    """IterableDataset, one persistent worker process, prefetch_factor=2; default collate."""
    loader = DataLoader(
        Generated(task.n), task.batch, num_workers=1, prefetch_factor=2, persistent_workers=True
    )
    return lambda: loader


def gil(task: Task) -> Epoch:
    """Processes, one per processor, persistent; single results."""
    dataset = Mapped(range(task.n), functions.function(task))
    loader = DataLoader(dataset, batch_size=None, num_workers=task.workers, persistent_workers=True)
    return lambda: loader
