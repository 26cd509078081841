"""Shuffled batches of rows in memory, compared with NumPy's own gather by fancy indexing.

The limit takes ``rows[order[i : i + 256]]`` with a permutation that is drawn before the timing; the
pipeline, ``from_tensor_slices(rows).shuffle(n).batch(256)``, draws its own while it runs.
"""

from __future__ import annotations

import numpy as np

import penstock as ps
from bench.pipelines.measure import Figure, drain, interleaved, main, timed

ROWS = 200_000
ROW_BYTES = 1024
BATCH = 256


def run() -> list[Figure]:
    random = np.random.default_rng(1)
    rows = random.integers(0, 256, (ROWS, ROW_BYTES), np.uint8)
    order = random.permutation(ROWS)
    shuffled = ps.Dataset.from_tensor_slices(rows).shuffle(ROWS, seed=1).batch(BATCH)

    def gather() -> None:
        for start in range(0, ROWS, BATCH):
            rows[order[start : start + BATCH]]

    rounds = interleaved(
        {
            "gather": timed(gather, ROWS),
            "shuffle": timed(lambda: drain(shuffled), ROWS),
        }
    )
    speed = {case: 1e-6 / rounds.seconds(case).median for case in ("gather", "shuffle")}
    return [
        Figure(
            "1 KB rows, shuffle(n).batch(256): speed / NumPy's gather",
            rounds.ratio("gather", "shuffle").scaled(100),
            "%",
            at_least=80,
            note=f"{speed['shuffle']:.2f} against {speed['gather']:.2f} million rows/s",
        )
    ]


if __name__ == "__main__":
    main(run, __doc__)
