"""tf.data, what is read from files."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import tensorflow as tf

from bench.peers.workload import Epoch, Task
from bench.peers.workloads import csv as tables
from bench.peers.workloads import jpeg as photos
from bench.peers.workloads import jpeg_records as jpegs
from bench.peers.workloads import parse as examples
from bench.peers.workloads import text as lines
from bench.peers.workloads import tfrecord as records

AUTOTUNE = tf.data.AUTOTUNE


def jpeg(task: Task) -> Epoch:
    """decode_and_crop_jpeg, AUTOTUNE, not deterministic; normalised per batch; prefetch."""
    dataset = tf.data.Dataset.from_tensor_slices(photos.paths(task))
    return photographs(task, dataset, tf.io.read_file)


def jpeg_records(task: Task) -> Epoch:
    """TFRecordDataset(files, num_parallel_reads=AUTOTUNE); then as from files."""
    dataset = tf.data.TFRecordDataset(jpegs.records(task), num_parallel_reads=AUTOTUNE)
    return photographs(task, dataset, lambda contents: contents)


def photographs(task: Task, dataset: Any, read: Callable[[Any], Any]) -> Epoch:
    whole = tf.constant([[[0.0, 0.0, 1.0, 1.0]]])

    def part(element: Any) -> Any:
        contents = read(element)
        begin, size, _ = tf.image.sample_distorted_bounding_box(
            tf.io.extract_jpeg_shape(contents),
            whole,
            aspect_ratio_range=(3 / 4, 4 / 3),
            area_range=(0.08, 1.0),
            use_image_if_no_bounding_boxes=True,
        )
        window = tf.concat([begin[:2], size[:2]], 0)
        image = tf.io.decode_and_crop_jpeg(contents, window, channels=3)
        image = tf.image.random_flip_left_right(tf.image.resize(image, (task.side, task.side)))
        return tf.cast(tf.round(image), tf.uint8) if task.dtype == "uint8" else image

    dataset = dataset.map(part, num_parallel_calls=AUTOTUNE, deterministic=False).batch(task.batch)
    if task.dtype == "float32":
        dataset = dataset.map(
            lambda batch: (batch - photos.MEAN) / photos.DEVIATION, num_parallel_calls=AUTOTUNE
        )
    dataset = dataset.prefetch(AUTOTUNE)
    return lambda: dataset


def tfrecord(task: Task) -> Epoch:
    """TFRecordDataset(file, buffer_size=8 MB)[.batch(1024)].prefetch(AUTOTUNE)."""
    dataset = tf.data.TFRecordDataset(str(records.path(task)), buffer_size=8 << 20)
    if task.batch:
        dataset = dataset.batch(task.batch)
    dataset = dataset.prefetch(AUTOTUNE)
    return lambda: dataset


def parse(task: Task) -> Epoch:
    """.batch(1024).map(parse_example, AUTOTUNE), or .map(parse_single_example, AUTOTUNE) first.

    prefetch(AUTOTUNE) after either.
    """
    features = {
        "x": tf.io.FixedLenFeature([examples.FLOATS], tf.float32),
        "label": tf.io.FixedLenFeature([], tf.int64),
        "data": tf.io.FixedLenFeature([], tf.string),
    }
    dataset = tf.data.TFRecordDataset(str(examples.path(task)), buffer_size=8 << 20)
    if task.case == "batched":
        dataset = dataset.batch(task.batch).map(
            lambda records: tf.io.parse_example(records, features), num_parallel_calls=AUTOTUNE
        )
    else:
        dataset = dataset.map(
            lambda record: tf.io.parse_single_example(record, features),
            num_parallel_calls=AUTOTUNE,
        ).batch(task.batch)
    dataset = dataset.prefetch(AUTOTUNE)
    return lambda: dataset


def text(task: Task) -> Epoch:
    """TextLineDataset.batch(256).map(split, hash, to_tensor; AUTOTUNE).prefetch(AUTOTUNE)."""

    def tokens(batch: Any) -> Any:
        words = tf.strings.split(batch)
        return tf.strings.to_hash_bucket_fast(words, lines.BUCKETS).to_tensor()

    dataset = tf.data.TextLineDataset(str(lines.path(task))).batch(task.batch)
    dataset = dataset.map(tokens, num_parallel_calls=AUTOTUNE).prefetch(AUTOTUNE)
    return lambda: dataset


def csv(task: Task) -> Epoch:
    """experimental.make_csv_dataset with the columns' types, num_epochs=1, shuffle=False."""
    kinds = [tf.int64, tf.float32, tf.float32, tf.float32, tf.string]
    dataset = tf.data.experimental.make_csv_dataset(
        str(tables.path(task)), task.batch, column_defaults=kinds, num_epochs=1, shuffle=False
    )
    return lambda: dataset
