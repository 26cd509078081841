"""mlx-data's buffers and streams, as its guide advises."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import mlx.data as dx
import numpy as np

from bench.peers.workload import Epoch, Task
from bench.peers.workloads import generator as images
from bench.peers.workloads import gil as functions
from bench.peers.workloads import jpeg as photos
from bench.peers.workloads import shuffle as shuffling


def jpeg(task: Task) -> Epoch:
    """load_image, image_random_area_crop, image_resize, h_flip, batch, prefetch(4, processors)."""
    samples = [{"image": path.encode()} for path in photos.paths(task)]
    scale = np.tile(1 / photos.DEVIATION, task.side).astype(np.float32)
    shift = np.tile(-photos.MEAN / photos.DEVIATION, task.side).astype(np.float32)

    def normalised(batch: Any) -> Any:
        rows = np.multiply(batch.reshape(len(batch), task.side, -1), scale, dtype=np.float32)
        rows += shift
        return rows.reshape(batch.shape)

    def epoch() -> Iterator[Any]:
        stream = dx.buffer_from_vector(samples).to_stream().load_image("image")
        stream = stream.image_random_area_crop("image", (0.08, 1.0), (3 / 4, 4 / 3))
        stream = stream.image_resize("image", task.side, task.side)
        stream = stream.image_random_h_flip("image", 0.5).batch(task.batch)
        if task.dtype == "float32":
            stream = stream.key_transform("image", normalised)
        return values(stream.prefetch(4, task.workers), "image")

    return epoch


def overhead(task: Task) -> Epoch:
    """stream_python_iterable over range, key_transform in Python, batch."""
    stream = dx.stream_python_iterable(lambda: ({"x": x} for x in range(task.n)))
    if task.case == "map":
        stream = stream.key_transform("x", lambda x: x + 1).batch(task.batch)
    elif task.case == "dict":
        stream = stream.key_transform("x", np.asarray, "id")
        stream = stream.key_transform("x", lambda x: x / 2, "half")
        stream = stream.key_transform("x", lambda x: x * x, "square").batch(task.batch)
    return again(stream, None if task.case == "dict" else "x")


def shuffle(task: Task) -> Epoch:
    """Buffer.shuffle, a whole permutation (Stream.shuffle of 100,000 takes hours), then batch."""
    rows: Any = shuffling.rows(task) if task.width else range(task.n)
    samples = dx.buffer_from_vector([{"x": row} for row in rows])
    return lambda: values(samples.shuffle().to_stream().batch(task.batch), "x")


def generator(task: Task) -> Epoch:
    """stream_python_iterable, batch(64), prefetch(2, 1)."""

    def epoch() -> Iterator[Any]:
        source = dx.stream_python_iterable(lambda: ({"x": x} for x in images.generate(task.n)))
        return values(source.batch(task.batch).prefetch(2, 1), "x")

    return epoch


def gil(task: Task) -> Epoch:
    """key_transform in prefetch(8, processors): threads."""
    function = functions.function(task)
    samples = [{"x": x} for x in range(task.n)]

    def epoch() -> Iterator[Any]:
        stream = dx.buffer_from_vector(samples).to_stream()
        stream = stream.key_transform("x", lambda x: np.asarray(function(x)))
        return values(stream.prefetch(8, task.workers), "x")

    return epoch


def again(stream: Any, key: str | None) -> Epoch:
    """Make passes over one stream, each from its beginning."""

    def epoch() -> Iterator[Any]:
        stream.reset()
        return iter(stream) if key is None else values(stream, key)

    return epoch


def values(samples: Any, key: str) -> Iterator[Any]:
    return (sample[key] for sample in samples)
