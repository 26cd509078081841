"""tf.data, Python functions and generators."""

from __future__ import annotations

from typing import Any

import tensorflow as tf

from bench.peers.workload import Epoch, Task
from bench.peers.workloads import elements as many
from bench.peers.workloads import generator as images
from bench.peers.workloads import gil as functions
from bench.peers.workloads import overhead as counting

AUTOTUNE = tf.data.AUTOTUNE


def overhead(task: Task) -> Epoch:
    """range; range.map(graph, AUTOTUNE).batch(256).prefetch(AUTOTUNE)."""
    dataset = tf.data.Dataset.range(task.n)
    if task.case != "range":
        function = counting.record if task.case == "dict" else lambda x: x + 1
        dataset = dataset.map(function, num_parallel_calls=AUTOTUNE).batch(task.batch)
        dataset = dataset.prefetch(AUTOTUNE)
    return lambda: dataset


def compiled(task: Task) -> Epoch:
    """range.map(graph, AUTOTUNE).batch(256).prefetch(AUTOTUNE)."""
    dataset = tf.data.Dataset.range(task.n).map(lambda x: x + 1, num_parallel_calls=AUTOTUNE)
    dataset = dataset.batch(task.batch).prefetch(AUTOTUNE)
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


def elements(task: Task) -> Epoch:
    """from_generator(generate, output_signature).batch(256).prefetch(AUTOTUNE)."""
    dataset = tf.data.Dataset.from_generator(
        lambda: many.generate(task), output_signature=signature(task)
    )
    dataset = dataset.batch(task.batch).prefetch(AUTOTUNE)
    return lambda: dataset


def signature(task: Task) -> Any:
    if task.case == "strings":
        return {name: tf.TensorSpec((), tf.string) for name in many.FIELDS}
    number, weight = tf.TensorSpec((), tf.int64), tf.TensorSpec((), tf.float64)
    place = tf.TensorSpec((many.POSITION,), tf.float32)
    return {"id": number, "size": (number, number), "part": {"place": place, "weight": weight}}
