"""tf.data, what it costs besides its work."""

from __future__ import annotations

from typing import Any

import tensorflow as tf

from bench.peers.workload import Task
from bench.peers.workloads import checkpoint as saving
from bench.peers.workloads import imports as importing
from bench.peers.workloads import install as installing


def checkpoint(task: Task) -> float:
    """range.shuffle(10000, seed).map(graph, AUTOTUNE).batch(100).prefetch(2); train.Checkpoint."""
    dataset = tf.data.Dataset.range(task.n).shuffle(task.buffer, seed=saving.SEED)
    dataset = dataset.map(lambda x: x + 1, num_parallel_calls=tf.data.AUTOTUNE)
    dataset = dataset.batch(task.batch).prefetch(2)
    prefix = str(task.scratch / "state")

    def restored(path: str) -> Any:
        iterator = iter(dataset)
        tf.train.Checkpoint(iterator=iterator).read(path).assert_consumed()
        return iterator

    return saving.measured(
        task,
        lambda: iter(dataset),
        lambda iterator: tf.train.Checkpoint(iterator=iterator).write(prefix),
        restored,
    )


def imports(task: Task) -> float:
    """import tensorflow."""
    return importing.measured(task, "tensorflow")


def install(task: Task) -> float:
    """tensorflow-cpu."""
    return installing.measured("tensorflow-cpu")
