"""penstock, what is read from files."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

import penstock as ps
from bench.peers.workload import Epoch, Task
from bench.peers.workloads import csv as tables
from bench.peers.workloads import global_shuffle as shuffled
from bench.peers.workloads import jpeg as photos
from bench.peers.workloads import jpeg_records as jpegs
from bench.peers.workloads import parse as examples
from bench.peers.workloads import text as lines
from bench.peers.workloads import tfrecord as records


def jpeg(task: Task) -> Epoch:
    """map(native: decode, random_resized_crop, flip[, normalise]; AUTOTUNE), batch, prefetch(2)."""
    dataset = ps.Dataset.from_tensor_slices(photos.paths(task))
    return photographs(task, dataset, ps.io.read_file)


def jpeg_records(task: Task) -> Epoch:
    """TFRecordDataset(files, AUTOTUNE); then as from files."""
    dataset = ps.TFRecordDataset(jpegs.records(task), num_parallel_reads=ps.AUTOTUNE)
    return photographs(task, dataset, lambda contents: contents)


def photographs(task: Task, dataset: ps.Dataset, contents: Callable[[Any], Any]) -> Epoch:
    scale = (1 / photos.DEVIATION).astype(np.float32)
    shift = (-photos.MEAN / photos.DEVIATION).astype(np.float32)

    def part(element: Any) -> Any:
        image = ps.image.decode_jpeg(contents(element), channels=3)
        image = ps.image.random_resized_crop(image, (task.side, task.side))
        return ps.image.random_flip_left_right(image)

    @ps.native
    def normalised(element: Any) -> Any:
        return part(element) * scale + shift

    @ps.native
    def pixels(element: Any) -> Any:
        return ps.cast(np.rint(part(element)), np.uint8)

    load = pixels if task.dtype == "uint8" else normalised
    dataset = dataset.map(load, num_parallel_calls=ps.AUTOTUNE).batch(task.batch).prefetch(2)
    return lambda: dataset


def tfrecord(task: Task) -> Epoch:
    """TFRecordDataset(file); .batch(1024).prefetch(2) for the small records."""
    dataset = ps.TFRecordDataset([str(records.path(task))])
    if task.batch:
        dataset = dataset.batch(task.batch).prefetch(2)
    return lambda: dataset


def global_shuffle(task: Task) -> Epoch:
    """TFRecordDataset(file, indexed=True).global_shuffle(seed).batch(1024).prefetch(2)."""
    source = ps.TFRecordDataset([str(shuffled.path(task))], indexed=True)
    dataset = source.global_shuffle(seed=1).batch(task.batch).prefetch(2)
    return lambda: dataset


def parse(task: Task) -> Epoch:
    """.batch(1024).map(native parse_example, AUTOTUNE), or .map(native parse_single_example) first.

    prefetch(2) after either.
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


def text(task: Task) -> Epoch:
    """TextLineDataset.map(native: split, hash; AUTOTUNE).padded_batch(256).prefetch(2)."""

    @ps.native
    def tokens(line: Any) -> Any:
        return ps.strings.to_hash_bucket_fast(ps.strings.split(line), lines.BUCKETS)

    dataset = ps.TextLineDataset(str(lines.path(task))).map(tokens, num_parallel_calls=ps.AUTOTUNE)
    dataset = dataset.padded_batch(task.batch).prefetch(2)
    return lambda: dataset


def csv(task: Task) -> Epoch:
    """experimental.make_csv_dataset with the columns' types, num_epochs=1, shuffle=False."""
    kinds = [np.int64, np.float32, np.float32, np.float32, bytes]
    dataset = ps.experimental.make_csv_dataset(
        str(tables.path(task)), task.batch, column_defaults=kinds, num_epochs=1, shuffle=False
    )
    return lambda: dataset
