"""Shuffled batches of rows of a .npy file, compared with fancy indexing of a memory map.

The limit takes ``rows[order[i : i + 256]]`` of ``np.load(..., mmap_mode="r")`` with a permutation
that is drawn before the timing; the pipeline draws its own. The file is in the page cache.
"""

from __future__ import annotations

import tempfile
from pathlib import Path

import numpy as np

import penstock as ps
from bench.pipelines.measure import Figure, drain, interleaved, main, timed

ROWS = 200_000
ROW_BYTES = 1024
BATCH = 256


def run() -> list[Figure]:
    random = np.random.default_rng(1)
    order = random.permutation(ROWS)
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "rows.npy")
        np.save(path, random.integers(0, 256, (ROWS, ROW_BYTES), np.uint8))
        rows = np.load(path, mmap_mode="r")
        cases = {
            "shuffled": ps.NumpyDataset(path).shuffle(ROWS, seed=1).batch(BATCH),
            "in order": ps.NumpyDataset(path).batch(BATCH),
        }

        def gather() -> None:
            for start in range(0, ROWS, BATCH):
                rows[order[start : start + BATCH]]

        def copy() -> None:
            for start in range(0, ROWS, BATCH):
                np.array(rows[start : start + BATCH])

        rounds = interleaved(
            {
                "gather": timed(gather, ROWS),
                "copy": timed(copy, ROWS),
                **{name: timed(lambda ds=ds: drain(ds), ROWS) for name, ds in cases.items()},
            }
        )
    speed = {case: 1e-6 / rounds.seconds(case).median for case in ("gather", "copy", *cases)}
    return [
        Figure(
            f"1 KB rows of a .npy file, {name}, batch(256): speed / NumPy's memory map",
            rounds.ratio(limit, name).scaled(100),
            "%",
            at_least=90,
            note=f"{speed[name]:.2f} against {speed[limit]:.2f} million rows/s",
        )
        for name, limit in (("shuffled", "gather"), ("in order", "copy"))
    ]


if __name__ == "__main__":
    main(run, __doc__)
