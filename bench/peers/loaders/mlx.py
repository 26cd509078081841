"""mlx-data's buffers and streams, as its guide advises."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import islice
from typing import Any

import mlx.data as dx
import numpy as np

from bench.peers.workload import Epoch, Task
from bench.peers.workloads import generator as images
from bench.peers.workloads import gil as functions
from bench.peers.workloads import imports as importing
from bench.peers.workloads import install as installing
from bench.peers.workloads import jpeg as photos
from bench.peers.workloads import padded as lengths
from bench.peers.workloads import shuffle as shuffling
from bench.peers.workloads import slices as arrays
from bench.peers.workloads import start as starting
from bench.peers.workloads import text as lines


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


def slices(task: Task) -> Epoch:
    """buffer_from_vector, Buffer.shuffle, batch."""
    values = arrays.arrays(task)
    names = ["x", "y"][: len(values)]
    rows = [dict(zip(names, row, strict=True)) for row in zip(*values, strict=True)]
    samples = dx.buffer_from_vector(rows)

    def epoch() -> Iterator[Any]:
        for batch in samples.shuffle().to_stream().batch(task.batch):
            yield tuple(batch[name] for name in names)

    return epoch


def text(task: Task) -> Epoch:
    """stream_line_reader, key_transform in Python (dict), batch, prefetch(2, processors)."""
    table = lines.table()

    def tokens(line: Any) -> Any:
        return np.array([table[word] for word in bytes(line).decode().split()])

    def epoch() -> Iterator[Any]:
        stream = dx.stream_line_reader(str(lines.path(task)), "x").key_transform("x", tokens)
        return values(stream.batch(task.batch).prefetch(2, 1), "x")

    return epoch


def padded(task: Task) -> Epoch:
    """buffer_from_vector, batch; no buckets (dynamic_batch orders all rows by length)."""
    if task.case == "bucketed":
        raise NotImplementedError("no buckets by length")
    samples = dx.buffer_from_vector([{"x": row} for row in lengths.rows(task)])
    return lambda: values(samples.batch(task.batch).to_stream(), "x")


def start(task: Task) -> Epoch:
    """buffer_from_vector, shuffle, key_transform in Python, batch, prefetch(2, processors)."""
    images = starting.images(task)

    def build() -> Any:
        return dx.buffer_from_vector([{"x": image} for image in images])

    def passed(samples: Any) -> Iterator[Any]:
        stream = samples.shuffle().to_stream().key_transform("x", starting.scaled)
        return values(stream.batch(task.batch).prefetch(2, 1), "x")

    if task.case == "first batch":
        return lambda: islice(passed(build()), 1)
    samples = build()
    return lambda: passed(samples)


def imports(task: Task) -> float:
    """import mlx.data."""
    return importing.measured(task, "mlx.data")


def install(task: Task) -> float:
    """mlx-data."""
    return installing.measured("mlx-data")
