"""Images from a Python generator, compared with a bare copy of them.

``from_generator(images).batch(64).prefetch(2)`` over (224, 224, 3) uint8 images. The limit copies
the same images with ``np.copyto`` into alternating batch buffers. It uses as many buffers as the
pipeline is observed to use (the addresses of its batches are counted first), because copies that
fit the CPU caches are faster.
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import cycle, islice

import numpy as np

import penstock as ps
from bench.pipelines.measure import Figure, drain, interleaved, main, timed

IMAGE = (224, 224, 3)
BATCH = 64
BATCHES = 128  # per pass
DIFFERENT = 8  # number of distinct images that the generator cycles through


def run() -> list[Figure]:
    images = list(np.random.default_rng(1).integers(0, 256, (DIFFERENT, *IMAGE), np.uint8))

    def generate() -> Iterator[np.ndarray]:
        yield from islice(cycle(images), BATCH * BATCHES)

    dataset = ps.Dataset.from_generator(generate).batch(BATCH).prefetch(2)
    used = len({batch.ctypes.data for batch in dataset})
    buffers = list(np.zeros((used, BATCH, *IMAGE), np.uint8))

    def copy() -> None:
        source = generate()
        for buffer in islice(cycle(buffers), BATCHES):
            for row in buffer:
                np.copyto(row, next(source))

    rounds = interleaved(
        {
            "copy": timed(copy, BATCH * BATCHES),
            "pipeline": timed(lambda: drain(dataset), BATCH * BATCHES),
        }
    )
    speed = {case: 1e-3 / rounds.seconds(case).median for case in ("copy", "pipeline")}
    return [
        Figure(
            "generator of images -> batch(64) -> prefetch(2): speed / copying",
            rounds.ratio("copy", "pipeline").scaled(100),
            "%",
            at_least=80,
            note=f"{speed['pipeline']:.1f} against {speed['copy']:.1f} thousand images/s, "
            f"{used} batch buffers",
        )
    ]


if __name__ == "__main__":
    main(run, __doc__)
