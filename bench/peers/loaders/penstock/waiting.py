"""penstock, pipelines that sleep."""

from __future__ import annotations

import time
from collections.abc import Iterator
from typing import Any

import penstock as ps
from bench.peers.workload import Epoch, Task
from bench.peers.workloads import interleave as readers
from bench.peers.workloads import latency as sleeping


def latency(task: Task) -> Epoch:
    """The guide's stages, functions in plain Python, AUTOTUNE where the guide has it."""
    dataset = sleeper(task.case)

    def epochs() -> Iterator[Any]:
        for _ in range(task.epochs):
            yield from dataset

    return epochs


def sleeper(case: str) -> ps.Dataset:
    """Return the pipeline of a case of `latency`."""
    if case.startswith("final"):
        return final(optimised=case == "final optimised")
    calls = ps.AUTOTUNE if case.startswith("parallel") else None
    if case.endswith("interleave"):
        return ps.Dataset.range(2).interleave(
            lambda _: source(sleeping.ITEMS), num_parallel_calls=calls
        )
    dataset = source(sleeping.ITEMS)
    if case == "prefetch":
        return dataset.prefetch(ps.AUTOTUNE)
    if "map" in case:
        dataset = dataset.map(asleep(sleeping.MAP), num_parallel_calls=calls)
    return dataset.cache() if case == "map and cache" else dataset


def final(optimised: bool) -> ps.Dataset:
    many, sources = sleeping.MANY, ps.Dataset.range(2)
    slow, copy = sleeping.SLOW, sleeping.COPY
    if not optimised:
        opened = sources.flat_map(lambda _: source(many))
        return opened.map(asleep(slow + copy)).batch(many).unbatch()
    return (
        sources.interleave(lambda _: source(many), num_parallel_calls=ps.AUTOTUNE)
        .batch(many)
        .map(asleep(slow * many), num_parallel_calls=ps.AUTOTUNE)
        .cache()
        .map(asleep(copy * many), num_parallel_calls=ps.AUTOTUNE)
        .prefetch(ps.AUTOTUNE)
        .unbatch()
    )


def source(count: int) -> ps.Dataset:
    return ps.Dataset.from_generator(
        sleeping.items, output_signature=ps.TensorSpec((), "int64"), args=(count,)
    )


def asleep(seconds: float) -> Any:
    def function(items: Any) -> Any:
        time.sleep(seconds)
        return items

    return function


def interleave(task: Task) -> Epoch:
    """range.interleave(from_generator, 16, num_parallel_calls=16); `uneven`: any order."""

    def reader(number: Any) -> ps.Dataset:
        return ps.Dataset.from_generator(
            lambda number: readers.items(task, number),
            output_signature=ps.TensorSpec((), "int64"),
            args=(number,),
        )

    dataset = ps.Dataset.range(task.readers).interleave(
        reader,
        task.cycle,
        num_parallel_calls=task.cycle,
        deterministic=task.case != "uneven",
    )
    return lambda: dataset
