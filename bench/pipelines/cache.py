"""The second epoch of a cache, in memory and in a file, compared with moving the same bytes.

Elements of 1 KB (uint8[1024]) are made individually, cached, and batched by 256. The limits move
the same bytes into the same number of alternating batch buffers as the pipeline is observed to use.
For the cache in memory, the limit is ``memcpy`` (``np.copyto``) from one array with all elements.
For the cache in a file, which is in the page cache, it is plain ``read`` (``readv`` of the cache's
own file directly into the buffers).
"""

from __future__ import annotations

import os
import tempfile
from itertools import cycle
from pathlib import Path

import numpy as np

import penstock as ps
from bench.aligned import aligned
from bench.pipelines.measure import Figure, drain, interleaved, main, timed

SIZE = 1024  # bytes per element
BATCH = 256
BATCHES = 512  # per epoch: 128 MiB
BYTES = SIZE * BATCH * BATCHES


def make(value: int) -> np.ndarray:
    return np.full(SIZE, value % 256, np.uint8)


def buffers_like(dataset: ps.Dataset) -> list[np.ndarray]:
    used = len({batch.ctypes.data for batch in dataset})
    return list(aligned(used, BATCH, SIZE))


def run() -> list[Figure]:
    source = ps.Dataset.range(BATCH * BATCHES).map(make)
    with tempfile.TemporaryDirectory() as folder:
        name = Path(folder, "elements.cache")
        pipelines = {
            "memory": source.cache().batch(BATCH),
            "file": source.cache(name).batch(BATCH),
        }
        for dataset in pipelines.values():
            drain(dataset)  # the first epoch
        buffers = {case: buffers_like(dataset) for case, dataset in pipelines.items()}
        everything = np.random.default_rng(1).integers(0, 256, (BATCHES, BATCH, SIZE), np.uint8)

        def copy() -> None:
            for rows, buffer in zip(everything, cycle(buffers["memory"]), strict=False):
                np.copyto(buffer, rows)

        def read() -> None:
            file = os.open(name, os.O_RDONLY)
            for _, buffer in zip(range(BATCHES), cycle(buffers["file"]), strict=False):
                os.readv(file, [buffer])
            os.close(file)

        rounds = interleaved(
            {
                "memcpy": timed(copy, BYTES),
                "memory": timed(lambda: drain(pipelines["memory"]), BYTES),
                "read": timed(read, BYTES),
                "file": timed(lambda: drain(pipelines["file"]), BYTES),
            }
        )
    speed = {case: 1e-9 / rounds.seconds(case).median for case in rounds.rounds[0]}
    return [
        Figure(
            f"cache in {where}, second epoch, 1 KB elements -> batch(256): speed / {limit}",
            rounds.ratio(limit, case).scaled(100),
            "%",
            at_least=bound,
            note=f"{speed[case]:.1f} against {speed[limit]:.1f} GB/s, "
            f"{len(buffers[case])} batch buffers",
        )
        for where, case, limit, bound in (
            ("memory", "memory", "memcpy", 80),
            ("a file", "file", "read", 60),
        )
    ]


if __name__ == "__main__":
    main(run, __doc__)
