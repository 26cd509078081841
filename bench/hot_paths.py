"""Short, fixed runs of the most common pipelines, for `bench.instructions` to count.

    python -m bench.hot_paths FILE

Writes the parts to FILE in execution order: a name and the number of elements. A call of `getppid`,
which nothing else here calls, separates two parts: it marks where the counter is read.
"""

from __future__ import annotations

import json
import os
import sys
import tempfile
from collections import deque
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np

import penstock as ps

SIZES = (
    8192,
    40_960,
)  # elements; multiples of each batch size. The difference has no start-up cost
PASSES = 4  # of each size: threads that wait for each other occasionally spin
MARK = os.getppid


def native_map(folder: Path, n: int) -> ps.Dataset:
    return ps.Dataset.range(n).map(ps.native(lambda x: x + 1)).batch(256)


def python_map(folder: Path, n: int) -> ps.Dataset:
    return ps.Dataset.range(n).map(lambda x: x + 1).batch(256)


def slices(folder: Path, n: int) -> ps.Dataset:
    rows = np.ones((n, 32), np.float32), np.arange(n)
    return ps.Dataset.from_tensor_slices(rows).shuffle(n, seed=1).batch(256)


def records(folder: Path, n: int) -> ps.Dataset:
    file = folder / f"{n}.tfrecord"
    with ps.io.TFRecordWriter(file) as writer:
        for i in range(n):
            writer.write(bytes([i % 256]) * 300)
    return ps.TFRecordDataset(str(file)).batch(1024)


def generator(folder: Path, n: int) -> ps.Dataset:
    row = np.ones(8, np.float32)

    def generate() -> Iterator[Any]:
        for i in range(n):
            yield row, i

    return ps.Dataset.from_generator(generate).batch(256)


PATHS: dict[str, Callable[[Path, int], ps.Dataset]] = {
    "range.map(native).batch(256)": native_map,
    "range.map(Python function).batch(256)": python_map,
    "slices of 128 B and a label, shuffle, batch(256)": slices,
    "TFRecords of 300 B, batch(1024)": records,
    "from_generator, rows of 32 B and a label, batch(256)": generator,
}


def main() -> None:
    parts = []
    with tempfile.TemporaryDirectory() as name:
        for path, make in PATHS.items():
            for n in SIZES:
                dataset = make(Path(name), n)
                deque(dataset, maxlen=0)  # one-time setup
                MARK()
                for _ in range(PASSES):
                    deque(dataset, maxlen=0)
                    MARK()
                parts += [{}, *[{"path": path, "elements": n}] * PASSES]
    Path(sys.argv[1]).write_text(json.dumps(parts))


if __name__ == "__main__":
    main()
