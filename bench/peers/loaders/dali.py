"""DALI on processors alone, as its guide advises."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np
from nvidia.dali import fn, pipeline_def, types

from bench.peers.workload import Epoch, Task
from bench.peers.workloads import generator as images
from bench.peers.workloads import imports as importing
from bench.peers.workloads import install as installing
from bench.peers.workloads import jpeg as photos


def jpeg(task: Task) -> Epoch:
    """readers.file, decoders.image_random_crop, resize, crop_mirror_normalize; queue of 2."""

    @pipeline_def(  # type: ignore[untyped-decorator]
        batch_size=task.batch, num_threads=task.workers, device_id=None, prefetch_queue_depth=2
    )
    def pipeline() -> Any:
        contents, _ = fn.readers.file(files=photos.paths(task), name="reader")
        image = fn.decoders.image_random_crop(
            contents, random_area=(0.08, 1.0), random_aspect_ratio=(3 / 4, 4 / 3), num_attempts=10
        )
        image = fn.resize(image, size=(task.side, task.side), interp_type=types.INTERP_LINEAR)
        mirror = fn.random.coin_flip()
        if task.dtype == "uint8":
            return fn.flip(image, horizontal=mirror)
        return fn.crop_mirror_normalize(
            image,
            mirror=mirror,
            dtype=types.FLOAT,
            output_layout="HWC",
            mean=photos.MEAN.tolist(),
            std=photos.DEVIATION.tolist(),
        )

    return passes(pipeline(), task)


def generator(task: Task) -> Epoch:
    """external_source of lists of 64 images (it takes no generator of single ones); queue of 2."""

    class Batches:
        def __iter__(self) -> Iterator[Any]:
            source = images.generate(task.n)
            for _ in range(task.n // task.batch):
                yield [next(source) for _ in range(task.batch)]

    @pipeline_def(  # type: ignore[untyped-decorator]
        batch_size=task.batch, num_threads=task.workers, device_id=None, prefetch_queue_depth=2
    )
    def pipeline() -> Any:
        return fn.external_source(source=Batches(), cycle="quiet", no_copy=True)

    return passes(pipeline(), task)


def passes(pipeline: Any, task: Task) -> Epoch:
    """Run one pipeline, which goes on where it was, for a pass at a time."""
    pipeline.build()

    def epoch() -> Iterator[Any]:
        for _ in range(task.n // task.batch):
            yield pipeline.run()[0]

    return epoch


def as_numpy(batch: Any) -> Any:
    """Return a batch as an array."""
    return np.array(batch.as_array())


def imports(task: Task) -> float:
    """import nvidia.dali.fn."""
    return importing.measured(task, "nvidia.dali.fn")


def install(task: Task) -> float:
    """nvidia-dali-cuda120."""
    return installing.measured("nvidia-dali-cuda120")
