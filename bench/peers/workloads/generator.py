"""A Python generator of images, used unchanged by each loader."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cache
from itertools import cycle, islice
from typing import Any

import numpy as np

from bench.peers.workload import Task, Workload, expect

IMAGE = (224, 224, 3)
DIFFERENT = 8


class Generator(Workload):
    title = "Python generator"
    summary = (
        "An existing generator that yields (224, 224, 3) uint8 images, batched by 64, with two "
        "batches prefetched in the background."
    )
    unit = "thousand images/s"
    limit = "copying each image once into one of three batch buffers"
    bound = "One copy of each image into its batch, made without the GIL while the generator runs."
    scale = 1e3
    cases = {"images": {"n": 1024, "batch": 64}}
    tiny = {"n": 64, "batch": 16}
    seconds = 0.8
    grows = 1 << 16

    def check(self, elements: Iterator[Any], task: Task) -> None:
        wanted = [int(image.sum()) for image in images()]
        number = 0
        for batch in elements:
            expect("shape", batch.shape, (task.batch, *IMAGE))
            expect("dtype", batch.dtype, np.dtype(np.uint8))
            for image in batch:
                expect(f"image {number}", int(image.sum()), wanted[number % DIFFERENT])
                number += 1
        expect("images", number, task.n)


@cache
def images() -> list[Any]:
    """Return the images that the generator cycles through."""
    return list(np.random.default_rng(1).integers(0, 256, (DIFFERENT, *IMAGE), np.uint8))


def generate(n: int) -> Iterator[Any]:
    """Yield `n` images."""
    yield from islice(cycle(images()), n)


WORKLOAD = Generator()
