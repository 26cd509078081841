"""penstock, data in memory: shuffled, cached, batched."""

from __future__ import annotations

from itertools import islice

import numpy as np

import penstock as ps
from bench.peers.workload import Epoch, Task
from bench.peers.workloads import cache as caching
from bench.peers.workloads import padded as lengths
from bench.peers.workloads import shuffle as shuffling
from bench.peers.workloads import slices as arrays
from bench.peers.workloads import start as starting
from bench.peers.workloads import stream as streaming


def shuffle(task: Task) -> Epoch:
    """range or from_tensor_slices, .shuffle(100000).batch(...)."""
    source = ps.Dataset.range(task.n)
    if task.width:
        source = ps.Dataset.from_tensor_slices(shuffling.rows(task))
    dataset = source.shuffle(task.buffer).batch(task.batch)
    return lambda: dataset


def cache(task: Task) -> Epoch:
    """from_tensor_slices(rows).cache() or .cache(file), .batch(256)."""
    file = "" if task.case == "memory" else str(task.scratch / "cached")
    dataset = ps.Dataset.from_tensor_slices(caching.rows(task)).cache(file).batch(task.batch)
    return lambda: dataset


def slices(task: Task) -> Epoch:
    """from_tensor_slices(arrays).shuffle(all).batch(...)."""
    source = ps.Dataset.from_tensor_slices(arrays.values(task))
    dataset = source.shuffle(task.n).batch(task.batch)
    return lambda: dataset


def stream(task: Task) -> Epoch:
    """TFRecordDataset(file).shuffle(100000).batch(256).prefetch(2)."""
    dataset = ps.TFRecordDataset(str(streaming.path(task))).shuffle(task.buffer)
    dataset = dataset.batch(task.batch).prefetch(2)
    return lambda: dataset


def padded(task: Task) -> Epoch:
    """experimental.from_list, .padded_batch(256) or .bucket_by_sequence_length(native shape)."""
    source = ps.experimental.from_list(lengths.rows(task))
    if task.case == "padded":
        dataset = source.padded_batch(task.batch)
    else:
        sizes = [task.batch] * (len(lengths.BOUNDARIES) + 1)
        length = ps.native(lambda row: ps.shape(row)[0])
        dataset = source.bucket_by_sequence_length(length, lengths.BOUNDARIES, sizes)
    return lambda: dataset


def start(task: Task) -> Epoch:
    """from_tensor_slices.shuffle.map(native, AUTOTUNE).batch(64).prefetch(2)."""
    images = starting.images(task)
    scaled = ps.native(lambda image: ps.cast(image, np.float32) / np.float32(255))

    def build() -> ps.Dataset:
        source = ps.Dataset.from_tensor_slices(images).shuffle(task.rows)
        return source.map(scaled, num_parallel_calls=ps.AUTOTUNE).batch(task.batch).prefetch(2)

    if task.case == "first batch":
        return lambda: islice(build(), 1)
    dataset = build()
    return lambda: dataset
