"""torchdata.nodes, as its migration guide advises."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
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
from bench.peers.workloads import generator as images
from bench.peers.workloads import gil as functions
from bench.peers.workloads import jpeg as photos
from bench.peers.workloads import overhead as counting
from bench.peers.workloads import shuffle as shuffling


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
    method: Any = "process" if task.case == "holds the GIL" else "thread"
    return loader(ParallelMapper(source, functions.function(task), task.workers, method=method))
