"""tf.data, as its performance guide advises."""

from __future__ import annotations

import os
import time
from collections.abc import Iterator
from typing import Any

os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "2")

import tensorflow as tf

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

AUTOTUNE = tf.data.AUTOTUNE


def jpeg(task: Task) -> Epoch:
    """decode_and_crop_jpeg, AUTOTUNE, not deterministic; normalised per batch; prefetch."""
    whole = tf.constant([[[0.0, 0.0, 1.0, 1.0]]])

    def part(path: Any) -> Any:
        contents = tf.io.read_file(path)
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

    dataset = tf.data.Dataset.from_tensor_slices(photos.paths(task))
    dataset = dataset.map(part, num_parallel_calls=AUTOTUNE, deterministic=False).batch(task.batch)
    if task.dtype == "float32":
        dataset = dataset.map(
            lambda batch: (batch - photos.MEAN) / photos.DEVIATION, num_parallel_calls=AUTOTUNE
        )
    dataset = dataset.prefetch(AUTOTUNE)
    return lambda: dataset


def overhead(task: Task) -> Epoch:
    """range; range.map(graph, AUTOTUNE).batch(256).prefetch(AUTOTUNE)."""
    dataset = tf.data.Dataset.range(task.n)
    if task.case != "range":
        function = counting.record if task.case == "dict" else lambda x: x + 1
        dataset = dataset.map(function, num_parallel_calls=AUTOTUNE).batch(task.batch)
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

    prefetch(AUTOTUNE) behind either.
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


def shuffle(task: Task) -> Epoch:
    """range or from_tensor_slices, .shuffle(100000).batch(...).prefetch(AUTOTUNE)."""
    source = tf.data.Dataset.range(task.n)
    if task.width:
        source = tf.data.Dataset.from_tensor_slices(shuffling.rows(task))
    dataset = source.shuffle(task.buffer).batch(task.batch).prefetch(AUTOTUNE)
    return lambda: dataset


def generator(task: Task) -> Epoch:
    """from_generator(generate, output_signature).batch(64).prefetch(2)."""
    dataset = tf.data.Dataset.from_generator(
        lambda: images.generate(task.n), output_signature=tf.TensorSpec(images.IMAGE, tf.uint8)
    )
    dataset = dataset.batch(task.batch).prefetch(2)
    return lambda: dataset


def gil(task: Task) -> Epoch:
    """range.map(tf.numpy_function, num_parallel_calls=processors).prefetch(AUTOTUNE)."""
    function = functions.function(task)
    kind = tf.int64 if task.case == "holds the GIL" else tf.float64
    dataset = tf.data.Dataset.range(task.n).map(
        lambda x: tf.numpy_function(function, [x], kind), num_parallel_calls=task.workers
    )
    dataset = dataset.prefetch(AUTOTUNE)
    return lambda: dataset


def cache(task: Task) -> Epoch:
    """from_tensor_slices(rows).cache() or .cache(file), .batch(256).prefetch(AUTOTUNE)."""
    file = "" if task.case == "memory" else str(task.scratch / "cached")
    dataset = tf.data.Dataset.from_tensor_slices(caching.rows(task)).cache(file)
    dataset = dataset.batch(task.batch).prefetch(AUTOTUNE)
    return lambda: dataset


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
