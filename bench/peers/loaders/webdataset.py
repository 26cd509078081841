"""WebDataset, as its FAQ and tutorials advise."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import webdataset as wds
from torch import from_numpy
from torch.utils.data import default_collate

from bench.peers.workload import Epoch, Task
from bench.peers.workloads import elements as many
from bench.peers.workloads import generator as images
from bench.peers.workloads import imports as importing
from bench.peers.workloads import install as installing
from bench.peers.workloads import jpeg as photos
from bench.peers.workloads import overhead as counting
from bench.peers.workloads import shuffle as shuffling


class Loaded:
    """A photograph of a sample as a tensor: what workers hand over without a copy."""

    def __init__(self, normalise: bool) -> None:
        self.normalise = normalise

    def __call__(self, sample: dict[str, Any]) -> Any:
        from bench.peers import photo

        image = photo.decoded(sample["jpg"])
        return from_numpy(photo.normalised(image) if self.normalise else image)


def jpeg(task: Task) -> Epoch:
    """Tar shards, WebLoader: persistent processes, one per processor; simplejpeg + OpenCV."""
    names = [str(path) for path in photos.shards(task)]
    dataset = wds.WebDataset(names, shardshuffle=False)
    dataset = dataset.map(Loaded(task.dtype == "float32")).batched(
        task.batch, collation_fn=default_collate
    )
    loader = wds.WebLoader(
        dataset, batch_size=None, num_workers=task.workers, persistent_workers=True
    )
    return lambda: loader


def overhead(task: Task) -> Epoch:
    """DataPipeline(range, wds.map, wds.batched), in the process itself."""
    if task.case == "range":
        return piped(lambda: range(task.n))
    function = counting.record if task.case == "dict" else lambda x: x + 1
    collate = default_collate if task.case == "dict" else np.array
    return piped(
        lambda: range(task.n), wds.map(function), wds.batched(task.batch, collation_fn=collate)
    )


def shuffle(task: Task) -> Epoch:
    """DataPipeline(source, wds.shuffle(100000), wds.batched), in the process itself."""
    rows: Any = shuffling.rows(task) if task.width else range(task.n)
    mixed = wds.shuffle(task.buffer, initial=task.buffer)
    return piped(lambda: rows, mixed, wds.batched(task.batch, collation_fn=np.array))


def generator(task: Task) -> Epoch:
    """DataPipeline(generator, wds.batched(64)), WebLoader with one persistent process."""
    stages = Pipeline(lambda: images.generate(task.n))
    dataset = wds.DataPipeline(stages, wds.batched(task.batch, collation_fn=stacked))
    loader = wds.WebLoader(
        dataset, batch_size=None, num_workers=1, prefetch_factor=2, persistent_workers=True
    )
    return lambda: loader


class Pipeline:
    """A first stage over what a function returns."""

    def __init__(self, source: Callable[[], Any]) -> None:
        self.source = source

    def __call__(self) -> Iterator[Any]:
        return iter(self.source())


def stacked(batch: list[Any]) -> Any:
    return from_numpy(np.stack(batch))


def piped(source: Callable[[], Any], *stages: Any) -> Epoch:
    dataset = wds.DataPipeline(Pipeline(source), *stages)
    return lambda: dataset


def jpeg_records(task: Task) -> Epoch:
    """Tar shards as in the workload from files: WebDataset's own form of records."""
    return jpeg(task)


def elements(task: Task) -> Epoch:
    """DataPipeline(generator, wds.batched with default collate), in the process itself."""
    batched = wds.batched(task.batch, collation_fn=default_collate)
    return piped(lambda: many.generate(task), batched)


def imports(task: Task) -> float:
    """import webdataset."""
    return importing.measured(task, "webdataset")


def install(task: Task) -> float:
    """webdataset; with torch, whose DataLoader it is used with."""
    return installing.measured("webdataset", "torch")
