"""penstock, as its guides advise."""

from __future__ import annotations

import time
from collections.abc import Iterator
from typing import Any

import numpy as np

import penstock as ps
from bench.peers.workload import Epoch, Task
from bench.peers.workloads import cache as caching
from bench.peers.workloads import generator as images
from bench.peers.workloads import gil as functions
from bench.peers.workloads import jpeg as photos
from bench.peers.workloads import latency as sleeping
from bench.peers.workloads import overhead as counting
from bench.peers.workloads import parse as examples
from bench.peers.workloads import shuffle as shuffling
from bench.peers.workloads import tfrecord as records


def jpeg(task: Task) -> Epoch:
    """map(native: decode, random_resized_crop, flip[, normalise]; AUTOTUNE), batch, prefetch(2)."""
    scale = (1 / photos.DEVIATION).astype(np.float32)
    shift = (-photos.MEAN / photos.DEVIATION).astype(np.float32)

    def part(path: Any) -> Any:
        image = ps.image.decode_jpeg(ps.io.read_file(path), channels=3)
        image = ps.image.random_resized_crop(image, (task.side, task.side))
        return ps.image.random_flip_left_right(image)

    @ps.native
    def normalised(path: Any) -> Any:
        return part(path) * scale + shift

    @ps.native
    def pixels(path: Any) -> Any:
        return ps.cast(np.rint(part(path)), np.uint8)

    load = pixels if task.dtype == "uint8" else normalised
    dataset = ps.Dataset.from_tensor_slices(photos.paths(task))
    dataset = dataset.map(load, num_parallel_calls=ps.AUTOTUNE).batch(task.batch).prefetch(2)
    return lambda: dataset


def overhead(task: Task) -> Epoch:
    """Dataset.range; .map(lambda x: x + 1).batch(256); a function that returns a dict."""
    dataset = ps.Dataset.range(task.n)
    if task.case == "map":
        dataset = dataset.map(lambda x: x + 1).batch(task.batch)
    elif task.case == "dict":
        dataset = dataset.map(counting.record).batch(task.batch)
    return lambda: dataset


def tfrecord(task: Task) -> Epoch:
    """TFRecordDataset(file), .batch(1024) for the small records."""
    dataset = ps.TFRecordDataset([str(records.path(task))])
    if task.batch:
        dataset = dataset.batch(task.batch)
    return lambda: dataset


def parse(task: Task) -> Epoch:
    """.batch(1024).map(native parse_example, AUTOTUNE), or .map(native parse_single_example) first.

    prefetch(2) behind either.
    """
    features = {
        "x": ps.io.FixedLenFeature((examples.FLOATS,), np.float32),
        "label": ps.io.FixedLenFeature((), np.int64),
        "data": ps.io.FixedLenFeature((), bytes),
    }
    dataset = ps.TFRecordDataset([str(examples.path(task))])
    if task.case == "batched":
        together = ps.native(lambda records: ps.io.parse_example(records, features))
        dataset = dataset.batch(task.batch).map(together, num_parallel_calls=ps.AUTOTUNE)
    else:
        single = ps.native(lambda record: ps.io.parse_single_example(record, features))
        dataset = dataset.map(single, num_parallel_calls=ps.AUTOTUNE).batch(task.batch)
    dataset = dataset.prefetch(2)
    return lambda: dataset


def shuffle(task: Task) -> Epoch:
    """range or from_tensor_slices, .shuffle(100000).batch(...)."""
    source = ps.Dataset.range(task.n)
    if task.width:
        source = ps.Dataset.from_tensor_slices(shuffling.rows(task))
    dataset = source.shuffle(task.buffer).batch(task.batch)
    return lambda: dataset


def generator(task: Task) -> Epoch:
    """from_generator(generate).batch(64).prefetch(2)."""
    dataset = ps.Dataset.from_generator(lambda: images.generate(task.n))
    dataset = dataset.batch(task.batch).prefetch(2)
    return lambda: dataset


def gil(task: Task) -> Epoch:
    """range.map(function, num_parallel_calls=processors)."""
    dataset = ps.Dataset.range(task.n).map(
        functions.function(task), num_parallel_calls=task.workers
    )
    return lambda: dataset


def cache(task: Task) -> Epoch:
    """from_tensor_slices(rows).cache() or .cache(file), .batch(256)."""
    file = "" if task.case == "memory" else str(task.scratch / "cached")
    dataset = ps.Dataset.from_tensor_slices(caching.rows(task)).cache(file).batch(task.batch)
    return lambda: dataset


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
