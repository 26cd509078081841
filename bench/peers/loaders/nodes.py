"""torchdata.nodes, as its migration guide advises."""

from __future__ import annotations

import pickle
from collections.abc import Callable
from typing import Any

import numpy as np
from torch import Generator
from torch.utils.data import RandomSampler, default_collate
from torchdata.nodes import (
    BaseNode,
    Batcher,
    IterableWrapper,
    Loader,
    Mapper,
    ParallelMapper,
    Prefetcher,
    SamplerWrapper,
)

from bench.peers.workload import Epoch, Task
from bench.peers.workloads import checkpoint as saving
from bench.peers.workloads import elements as many
from bench.peers.workloads import generator as images
from bench.peers.workloads import gil as functions
from bench.peers.workloads import imports as importing
from bench.peers.workloads import install as installing
from bench.peers.workloads import jpeg as photos
from bench.peers.workloads import overhead as counting
from bench.peers.workloads import padded as lengths
from bench.peers.workloads import shuffle as shuffling
from bench.peers.workloads import worker_start as first


class Generated:
    """The generator's images, each time from the first."""

    def __init__(self, n: int) -> None:
        self.n = n

    def __iter__(self) -> Any:
        return images.generate(self.n)


def loader(node: BaseNode[Any]) -> Epoch:
    made: Any = Loader(node)
    return lambda: made


def batched(node: BaseNode[Any], size: int, collate: Callable[[Any], Any]) -> BaseNode[Any]:
    return Mapper(Batcher(node, size, drop_last=False), collate)


def jpeg(task: Task) -> Epoch:
    """ParallelMapper(threads, one per processor), simplejpeg + OpenCV; Batcher, Prefetcher(2)."""
    from bench.peers import photo

    source: BaseNode[Any] = IterableWrapper(photos.paths(task))
    loaded = ParallelMapper(source, photo.reader(task), task.workers, method="thread")
    return loader(Prefetcher(batched(loaded, task.batch, np.stack), 2))


def overhead(task: Task) -> Epoch:
    """IterableWrapper(range), Mapper, Batcher, collate."""
    source: BaseNode[Any] = IterableWrapper(range(task.n))
    if task.case == "map":
        source = batched(Mapper(source, lambda x: x + 1), task.batch, np.array)
    elif task.case == "dict":
        source = batched(Mapper(source, counting.record), task.batch, default_collate)
    return loader(source)


def shuffle(task: Task) -> Epoch:
    """SamplerWrapper(RandomSampler), Batcher, gathered batch by batch, Prefetcher(2)."""
    values = shuffling.rows(task) if task.width else np.arange(task.n)
    source: BaseNode[Any] = SamplerWrapper(RandomSampler(range(task.n)))
    return loader(Prefetcher(batched(source, task.batch, lambda places: values[places]), 2))


def generator(task: Task) -> Epoch:
    """IterableWrapper, Batcher, np.stack, Prefetcher(2)."""
    source: BaseNode[Any] = IterableWrapper(Generated(task.n))
    return loader(Prefetcher(batched(source, task.batch, np.stack), 2))


def gil(task: Task) -> Epoch:
    """ParallelMapper, one worker per processor: processes if it holds, threads if it releases."""
    source: BaseNode[Any] = IterableWrapper(range(task.n))
    method: Any = "process" if functions.holds(task) else "thread"
    return loader(ParallelMapper(source, functions.function(task), task.workers, method=method))


def worker_start(task: Task) -> float:
    """ParallelMapper, one process per processor, forked."""
    source: BaseNode[Any] = IterableWrapper(range(task.n))
    return first.until_first(
        lambda: loader(ParallelMapper(source, first.small, task.workers, method="process"))()
    )


def elements(task: Task) -> Epoch:
    """IterableWrapper, Batcher, default collate."""
    source: BaseNode[Any] = IterableWrapper(many.listed(task))
    return loader(batched(source, task.batch, default_collate))


def padded(task: Task) -> Epoch:
    """IterableWrapper, Batcher, a function that pads; no buckets."""
    if task.case == "bucketed":
        raise NotImplementedError("no buckets by length")
    source: BaseNode[Any] = IterableWrapper(lengths.rows(task))
    return loader(batched(source, task.batch, lengths.padded))


def checkpoint(task: Task) -> float:
    """SamplerWrapper(RandomSampler), Mapper, Batcher, Prefetcher(2), Loader.state_dict, pickled."""
    made: Any = None

    def build() -> Any:
        sampler = RandomSampler(range(task.n), generator=Generator().manual_seed(saving.SEED))
        source: BaseNode[Any] = Mapper(SamplerWrapper(sampler), lambda x: x + 1)
        return Loader(Prefetcher(batched(source, task.batch, np.array), 2))

    def start() -> Any:
        nonlocal made
        made = build()
        return iter(made)

    def restored(state: bytes) -> Any:
        again = build()
        again.load_state_dict(pickle.loads(state))
        return iter(again)

    return saving.measured(task, start, lambda iterator: pickle.dumps(made.state_dict()), restored)


def imports(task: Task) -> float:
    """import torchdata.nodes."""
    return importing.measured(task, "torchdata.nodes")


def install(task: Task) -> float:
    """torchdata and torch."""
    return installing.measured("torchdata")
