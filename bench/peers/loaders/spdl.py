"""SPDL's pipelines, as its guide advises."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from concurrent.futures import ProcessPoolExecutor
from itertools import islice
from typing import Any

import numpy as np
from spdl.pipeline import Pipeline, PipelineBuilder, cache_iterator

from bench.peers.workload import Epoch, Task
from bench.peers.workloads import cache as caching
from bench.peers.workloads import elements as many
from bench.peers.workloads import generator as images
from bench.peers.workloads import gil as functions
from bench.peers.workloads import imports as importing
from bench.peers.workloads import install as installing
from bench.peers.workloads import interleave as readers
from bench.peers.workloads import jpeg as photos
from bench.peers.workloads import overhead as counting
from bench.peers.workloads import worker_start as first


def jpeg(task: Task) -> Epoch:
    """pipe(simplejpeg + OpenCV, one call per batch of paths, concurrency=processors), sink(2)."""
    from bench.peers import photo

    load, paths = photo.reader(task), photos.paths(task)
    parts = [paths[i : i + task.batch] for i in range(0, task.n, task.batch)]

    def batch(part: list[str]) -> Any:
        return np.stack([load(path) for path in part])

    def build() -> Any:
        return PipelineBuilder().add_source(parts).pipe(batch, concurrency=task.workers)

    return lambda: run(build().add_sink(2).build(num_threads=task.workers))


def overhead(task: Task) -> Epoch:
    """add_source(range), pipe(function), aggregate(256), pipe(collate)."""

    def epoch() -> Iterator[Any]:
        builder: Any = PipelineBuilder().add_source(range(task.n))
        if task.case == "map":
            builder = builder.pipe(lambda x: x + 1).aggregate(task.batch).pipe(np.array)
        elif task.case == "dict":
            builder = builder.pipe(counting.record).aggregate(task.batch).pipe(collated)
        return run(builder.add_sink(2).build(num_threads=1))

    return epoch


def collated(rows: list[dict[str, Any]]) -> dict[str, Any]:
    return {name: np.array([row[name] for row in rows]) for name in rows[0]}


def generator(task: Task) -> Epoch:
    """add_source(generator), aggregate(64), pipe(np.stack), sink(2)."""

    def epoch() -> Iterator[Any]:
        builder: Any = PipelineBuilder().add_source(images.generate(task.n))
        builder = builder.aggregate(task.batch).pipe(np.stack).add_sink(2)
        return run(builder.build(num_threads=1))

    return epoch


def gil(task: Task) -> Epoch:
    """pipe(concurrency=processors): holds: in a ProcessPoolExecutor; releases: in threads."""
    function = functions.function(task)
    processes = ProcessPoolExecutor(task.workers) if functions.holds(task) else None

    def epoch() -> Iterator[Any]:
        builder: Any = PipelineBuilder().add_source(range(task.n))
        builder = builder.pipe(function, concurrency=task.workers, executor=processes)
        return run(builder.add_sink(16).build(num_threads=task.workers))

    return epoch


def worker_start(task: Task) -> float:
    """pipe(concurrency=processors) in a ProcessPoolExecutor."""

    def build() -> Iterator[Any]:
        processes = ProcessPoolExecutor(task.workers)
        builder: Any = PipelineBuilder().add_source(range(task.n))
        builder = builder.pipe(first.small, concurrency=task.workers, executor=processes)
        return run(builder.add_sink(16).build(num_threads=task.workers))

    return first.until_first(build)


def cache(task: Task) -> Epoch:
    """Memory: cache_iterator(rows), np.stack of each 256; no file cache."""
    if task.case == "file":
        raise NotImplementedError("no cache in files")
    rows = caching.rows(task)
    cached: Iterable[Any] = cache_iterator(iter(rows), task.n, delete_src=False)
    kept = iter(cached)

    def epoch() -> Iterator[Any]:
        for start in range(0, task.n, task.batch):
            part = list(islice(kept, min(task.batch, task.n - start)))
            yield np.stack(part)

    return epoch


def run(pipeline: Pipeline[Any]) -> Iterator[Any]:
    with pipeline.auto_stop():
        yield from pipeline


def elements(task: Task) -> Epoch:
    """add_source(generator), aggregate(256), pipe(collate), sink(2)."""

    def epoch() -> Iterator[Any]:
        builder: Any = PipelineBuilder().add_source(many.generate(task))
        builder = builder.aggregate(task.batch).pipe(many.columns).add_sink(2)
        return run(builder.build(num_threads=1))

    return epoch


def interleave(task: Task) -> Epoch:
    """pipe(a list of a reader's items, concurrency=16), disaggregate; any order."""

    def epoch() -> Iterator[Any]:
        builder: Any = PipelineBuilder().add_source(range(task.readers))
        builder = builder.pipe(
            lambda number: list(readers.items(task, number)), concurrency=task.cycle
        )
        return run(builder.disaggregate().add_sink(16).build(num_threads=task.cycle))

    return epoch


def imports(task: Task) -> float:
    """import spdl.pipeline."""
    return importing.measured(task, "spdl.pipeline")


def install(task: Task) -> float:
    """spdl; its media functions need the system's FFmpeg besides."""
    return installing.measured("spdl")
