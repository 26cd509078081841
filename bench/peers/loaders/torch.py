"""PyTorch's DataLoader, as its reference advises."""

from __future__ import annotations

import pickle
from collections.abc import Callable, Iterator
from itertools import islice
from typing import Any

from torch import from_numpy
from torch.nn.utils.rnn import pad_sequence
from torch.utils.data import (
    BatchSampler,
    DataLoader,
    Dataset,
    IterableDataset,
    RandomSampler,
    TensorDataset,
    get_worker_info,
)

from bench.peers.workload import Epoch, Task
from bench.peers.workloads import checkpoint as saving
from bench.peers.workloads import elements as many
from bench.peers.workloads import generator as images
from bench.peers.workloads import gil as functions
from bench.peers.workloads import imports as importing
from bench.peers.workloads import install as installing
from bench.peers.workloads import interleave as readers
from bench.peers.workloads import jpeg as photos
from bench.peers.workloads import overhead as counting
from bench.peers.workloads import padded as lengths
from bench.peers.workloads import same_class as classes
from bench.peers.workloads import shuffle as shuffling
from bench.peers.workloads import slices as arrays
from bench.peers.workloads import start as starting
from bench.peers.workloads import text as lines
from bench.peers.workloads import worker_start as first


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


def same_class(task: Task) -> Epoch:
    """Processes, one per processor, persistent."""
    loader = DataLoader(
        classes.samples(task), task.batch, num_workers=task.workers, persistent_workers=True
    )
    return lambda: loader


def worker_start(task: Task) -> float:
    """Processes, one per processor, forked; single results."""
    dataset = Mapped(range(task.n), first.small)
    return first.until_first(lambda: DataLoader(dataset, batch_size=None, num_workers=task.workers))


def elements(task: Task) -> Epoch:
    """Map-style over a list, num_workers=0; default collate."""
    loader = DataLoader(many.listed(task), task.batch)  # type: ignore[arg-type]
    return lambda: loader


def slices(task: Task) -> Epoch:
    """TensorDataset, BatchSampler(RandomSampler): gathered batch by batch; num_workers=0."""
    dataset = TensorDataset(*map(from_numpy, arrays.arrays(task)))
    sampler = BatchSampler(RandomSampler(dataset), task.batch, drop_last=False)
    loader = DataLoader(dataset, sampler=sampler, batch_size=None)
    return lambda: loader


def text(task: Task) -> Epoch:
    """Map-style over the lines, processes, one per processor; the collate function pads."""
    table, some = lines.table(), lines.path(task).read_text().splitlines()
    dataset = Mapped(some, lambda line: [table[word] for word in line.split()])
    loader = DataLoader(
        dataset,
        task.batch,
        num_workers=task.workers,
        persistent_workers=True,
        collate_fn=lambda rows: from_numpy(lengths.padded(rows)),
    )
    return lambda: loader


def padded(task: Task) -> Epoch:
    """Map-style, collate with pad_sequence, num_workers=0; `bucketed`: a list as batch_sampler."""
    rows: Any = [from_numpy(row) for row in lengths.rows(task)]
    if task.case == "padded":
        loader = DataLoader(rows, task.batch, collate_fn=together)
        return lambda: loader

    def epoch() -> Iterator[Any]:
        places = lengths.bucketed(range(task.n), task.batch, lambda i: len(rows[i]))
        return iter(DataLoader(rows, batch_sampler=list(places), collate_fn=together))

    return epoch


def together(rows: list[Any]) -> Any:
    return pad_sequence(rows, batch_first=True)


def interleave(task: Task) -> Epoch:
    """IterableDataset, each of 16 persistent processes reads its share of the readers."""
    loader = DataLoader(
        Reading(task), batch_size=None, num_workers=task.cycle, persistent_workers=True
    )
    return lambda: loader


class Reading(IterableDataset[Any]):
    """Every reader whose turn is this process's."""

    def __init__(self, task: Task) -> None:
        self.task = task

    def __iter__(self) -> Iterator[Any]:
        worker = get_worker_info()
        assert worker is not None
        for number in range(worker.id, self.task.readers, worker.num_workers):
            yield from readers.items(self.task, number)


def checkpoint(task: Task) -> float:
    """torchdata's StatefulDataLoader over a shuffled map-style dataset; state_dict, pickled."""
    from torch import Generator
    from torchdata.stateful_dataloader import StatefulDataLoader

    dataset = Mapped(range(task.n), lambda x: x + 1)
    loader: Any = None

    def start() -> Any:
        nonlocal loader
        draw = Generator().manual_seed(saving.SEED)
        loader = StatefulDataLoader(dataset, task.batch, shuffle=True, generator=draw)
        return iter(loader)

    def restored(state: bytes) -> Any:
        again = StatefulDataLoader(dataset, task.batch, shuffle=True, generator=Generator())
        again.load_state_dict(pickle.loads(state))
        return iter(again)

    return saving.measured(
        task, start, lambda iterator: pickle.dumps(loader.state_dict()), restored
    )


def start(task: Task) -> Epoch:
    """Map-style, shuffle=True, processes, one per processor, persistent; default collate."""
    dataset = Mapped(starting.images(task), starting.scaled)

    def build() -> Any:
        return DataLoader(
            dataset, task.batch, True, num_workers=task.workers, persistent_workers=True
        )

    if task.case == "first batch":
        return lambda: islice(build(), 1)
    loader = build()
    return lambda: loader


def imports(task: Task) -> float:
    """import torch.utils.data."""
    return importing.measured(task, "torch.utils.data")


def install(task: Task) -> float:
    """torch, of its build for processors alone."""
    return installing.measured("torch")
