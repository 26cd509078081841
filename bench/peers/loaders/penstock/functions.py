"""penstock, Python functions and generators."""

from __future__ import annotations

import penstock as ps
from bench.peers.workload import Epoch, Task
from bench.peers.workloads import elements as many
from bench.peers.workloads import generator as images
from bench.peers.workloads import gil as functions
from bench.peers.workloads import overhead as counting
from bench.peers.workloads import same_class as classes


def overhead(task: Task) -> Epoch:
    """Dataset.range; .map(lambda x: x + 1).batch(256); a function that returns a dict."""
    dataset = ps.Dataset.range(task.n)
    if task.case == "map":
        dataset = dataset.map(lambda x: x + 1).batch(task.batch)
    elif task.case == "dict":
        dataset = dataset.map(counting.record).batch(task.batch)
    return lambda: dataset


def compiled(task: Task) -> Epoch:
    """Dataset.range.map(native x + 1).batch(256)."""
    dataset = ps.Dataset.range(task.n).map(ps.native(lambda x: x + 1)).batch(task.batch)
    return lambda: dataset


def generator(task: Task) -> Epoch:
    """from_generator(generate).batch(64).prefetch(2)."""
    dataset = ps.Dataset.from_generator(lambda: images.generate(task.n))
    dataset = dataset.batch(task.batch).prefetch(2)
    return lambda: dataset


def gil(task: Task) -> Epoch:
    """range.map(function, num_parallel_calls=processors): threads."""
    dataset = ps.Dataset.range(task.n).map(
        functions.function(task), num_parallel_calls=task.workers
    )
    return lambda: dataset


def same_class(task: Task) -> Epoch:
    """ps.DataLoader, threads, one per processor."""
    loader = ps.DataLoader(classes.samples(task), task.batch, num_workers=task.workers)
    return lambda: loader


def elements(task: Task) -> Epoch:
    """from_generator(generate).batch(256)."""
    dataset = ps.Dataset.from_generator(lambda: many.generate(task)).batch(task.batch)
    return lambda: dataset
