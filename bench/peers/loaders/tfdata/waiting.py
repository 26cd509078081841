"""tf.data, pipelines that sleep."""

from __future__ import annotations

import time
from collections.abc import Iterator
from typing import Any

import tensorflow as tf

from bench.peers.workload import Epoch, Task
from bench.peers.workloads import interleave as readers
from bench.peers.workloads import latency as sleeping

AUTOTUNE = tf.data.AUTOTUNE


def latency(task: Task) -> Epoch:
    """The guide's stages, functions in tf.py_function, AUTOTUNE where the guide has it."""
    dataset = sleeper(task.case)

    def epochs() -> Iterator[Any]:
        for _ in range(task.epochs):
            yield from dataset

    return epochs


def sleeper(case: str) -> Any:
    """Return the pipeline of a case of `latency`."""
    if case.startswith("final"):
        return final(optimised=case == "final optimised")
    calls = AUTOTUNE if case.startswith("parallel") else None
    if case.endswith("interleave"):
        return tf.data.Dataset.range(2).interleave(
            lambda _: source(sleeping.ITEMS), num_parallel_calls=calls
        )
    dataset = source(sleeping.ITEMS)
    if case == "prefetch":
        return dataset.prefetch(AUTOTUNE)
    if "map" in case:
        dataset = dataset.map(asleep(sleeping.MAP), num_parallel_calls=calls)
    return dataset.cache() if case == "map and cache" else dataset


def final(optimised: bool) -> Any:
    many, sources = sleeping.MANY, tf.data.Dataset.range(2)
    slow, copy = sleeping.SLOW, sleeping.COPY
    if not optimised:
        opened = sources.flat_map(lambda _: source(many))
        return opened.map(asleep(slow + copy)).batch(many).unbatch()
    return (
        sources.interleave(lambda _: source(many), num_parallel_calls=AUTOTUNE)
        .batch(many)
        .map(asleep(slow * many), num_parallel_calls=AUTOTUNE)
        .cache()
        .map(asleep(copy * many), num_parallel_calls=AUTOTUNE)
        .prefetch(AUTOTUNE)
        .unbatch()
    )


def source(count: int) -> Any:
    return tf.data.Dataset.from_generator(
        sleeping.items, output_signature=tf.TensorSpec((), tf.int64), args=(count,)
    )


def asleep(seconds: float) -> Any:
    def function(items: Any) -> Any:
        tf.py_function(lambda: time.sleep(seconds), [], ())
        return items

    return function


def interleave(task: Task) -> Epoch:
    """As penstock's; private_threadpool_size=32, as readers in Python keep threads waiting."""

    def reader(number: Any) -> Any:
        return tf.data.Dataset.from_generator(
            lambda number: readers.items(task, number),
            output_signature=tf.TensorSpec((), tf.int64),
            args=(number,),
        )

    dataset = tf.data.Dataset.range(task.readers).interleave(
        reader,
        task.cycle,
        num_parallel_calls=task.cycle,
        deterministic=task.case != "uneven",
    )
    options = tf.data.Options()
    options.threading.private_threadpool_size = 2 * task.cycle
    dataset = dataset.with_options(options)
    return lambda: dataset
