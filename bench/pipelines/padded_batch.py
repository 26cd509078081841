"""Padded batches of rows of different lengths, compared with a loop that pads with NumPy.

The loop takes the rows from a list, and fills ``np.zeros((256, longest))`` row by row for each
batch. The rows of the pipeline, ``rows.cache().padded_batch(256)``, are also in memory.
"""

from __future__ import annotations

import numpy as np

import penstock as ps
from bench.pipelines.measure import Figure, drain, interleaved, main, timed

ROWS = 100_000
LONGEST = 200
BATCH = 256


def padded(rows: list[np.ndarray]) -> np.ndarray:
    batch = np.zeros((len(rows), max(map(len, rows))), rows[0].dtype)
    for to, row in zip(batch, rows, strict=True):
        to[: len(row)] = row
    return batch


def run() -> list[Figure]:
    random = np.random.default_rng(1)
    lengths = random.integers(1, LONGEST + 1, ROWS)
    tokens = random.integers(0, 30_000, LONGEST)
    rows = [tokens[:n] for n in lengths]
    cut = ps.native(lambda n: ps.fill([n], n))
    source = ps.Dataset.from_tensor_slices(lengths).map(cut).cache()
    drain(source)  # the rows are in memory from here on
    batches = source.padded_batch(BATCH)

    def loop() -> None:
        for start in range(0, ROWS, BATCH):
            padded(rows[start : start + BATCH])

    rounds = interleaved(
        {
            "loop": timed(loop, ROWS),
            "padded_batch": timed(lambda: drain(batches), ROWS),
        }
    )
    speed = {case: 1e-6 / rounds.seconds(case).median for case in ("loop", "padded_batch")}
    return [
        Figure(
            "rows of 1 to 200 int64, padded_batch(256): speed / a loop with NumPy",
            rounds.ratio("loop", "padded_batch"),
            "x",
            at_least=1,
            note=f"{speed['padded_batch']:.2f} against {speed['loop']:.2f} million rows/s",
        )
    ]


if __name__ == "__main__":
    main(run, __doc__)
