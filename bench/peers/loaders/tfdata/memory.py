"""tf.data, data in memory: shuffled, cached, batched."""

from __future__ import annotations

from itertools import islice
from typing import Any

import tensorflow as tf

from bench.peers.workload import Epoch, Task
from bench.peers.workloads import cache as caching
from bench.peers.workloads import padded as lengths
from bench.peers.workloads import shuffle as shuffling
from bench.peers.workloads import slices as arrays
from bench.peers.workloads import start as starting
from bench.peers.workloads import stream as streaming

AUTOTUNE = tf.data.AUTOTUNE


def shuffle(task: Task) -> Epoch:
    """range or from_tensor_slices, .shuffle(100000).batch(...).prefetch(AUTOTUNE)."""
    source = tf.data.Dataset.range(task.n)
    if task.width:
        source = tf.data.Dataset.from_tensor_slices(shuffling.rows(task))
    dataset = source.shuffle(task.buffer).batch(task.batch).prefetch(AUTOTUNE)
    return lambda: dataset


def cache(task: Task) -> Epoch:
    """from_tensor_slices(rows).cache() or .cache(file), .batch(256).prefetch(AUTOTUNE)."""
    file = "" if task.case == "memory" else str(task.scratch / "cached")
    dataset = tf.data.Dataset.from_tensor_slices(caching.rows(task)).cache(file)
    dataset = dataset.batch(task.batch).prefetch(AUTOTUNE)
    return lambda: dataset


def slices(task: Task) -> Epoch:
    """from_tensor_slices(arrays).shuffle(all).batch(...).prefetch(AUTOTUNE)."""
    source = tf.data.Dataset.from_tensor_slices(arrays.values(task))
    dataset = source.shuffle(task.n).batch(task.batch).prefetch(AUTOTUNE)
    return lambda: dataset


def stream(task: Task) -> Epoch:
    """TFRecordDataset(file, buffer_size=8 MB).shuffle(100000).batch(256).prefetch(AUTOTUNE)."""
    source = tf.data.TFRecordDataset(str(streaming.path(task)), buffer_size=8 << 20)
    dataset = source.shuffle(task.buffer).batch(task.batch).prefetch(AUTOTUNE)
    return lambda: dataset


def padded(task: Task) -> Epoch:
    """from_tensor_slices(ragged), .padded_batch(256) or .bucket_by_sequence_length; prefetch."""
    flat, sizes = lengths.joined(task)
    ragged = tf.RaggedTensor.from_row_lengths(flat, sizes)
    source = tf.data.Dataset.from_tensor_slices(ragged).map(as_tensor)
    if task.case == "padded":
        dataset = source.padded_batch(task.batch)
    else:
        batches = [task.batch] * (len(lengths.BOUNDARIES) + 1)
        dataset = source.bucket_by_sequence_length(
            lambda row: tf.shape(row)[0], lengths.BOUNDARIES, batches
        )
    dataset = dataset.prefetch(AUTOTUNE)
    return lambda: dataset


def as_tensor(row: Any) -> Any:
    return row if isinstance(row, tf.Tensor) else row.to_tensor()


def start(task: Task) -> Epoch:
    """from_tensor_slices.shuffle.map(graph, AUTOTUNE).batch(64).prefetch(2)."""
    images = starting.images(task)

    def build() -> Any:
        source = tf.data.Dataset.from_tensor_slices(images).shuffle(task.rows)
        dataset = source.map(
            lambda image: tf.cast(image, tf.float32) / 255.0, num_parallel_calls=AUTOTUNE
        )
        return dataset.batch(task.batch).prefetch(2)

    if task.case == "first batch":
        return lambda: islice(build(), 1)
    dataset = build()
    return lambda: dataset
