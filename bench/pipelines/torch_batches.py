"""Batches as PyTorch tensors, compared with the plain iterator of NumPy arrays.

The dataset gathers shuffled rows in memory, (64, 64, 3) uint8 images with a label each, in batches
of 64 (0.8 MB). The benchmark compares the time per batch, the time from ``iter()`` to the first
batch, and the addresses: a tensor that begins where its array begins has not been copied. A loop
that makes the same batches with NumPy alone is shown for reference.

Without PyTorch there are no figures.
"""

from __future__ import annotations

import importlib.util
import time
from collections.abc import Iterable, Iterator
from typing import Any

import numpy as np

import penstock as ps
from bench.pipelines.measure import Case, Figure, Spread, drain, interleaved, main, timed

IMAGE = (64, 64, 3)
ROWS = 4096
BATCH = 64
BATCHES = ROWS // BATCH
FIRST = 0.05  # maximum delay of the first batch after the plain iterator's, in seconds


def first(batches: Iterable[object]) -> Case:
    """Return a case that times ``iter()`` up to the first batch."""

    def case() -> float:
        begin = time.perf_counter()
        it = iter(batches)
        next(it)
        return time.perf_counter() - begin

    return case


def shared(dataset: ps.Dataset) -> Spread:
    """Return the percentage of leaves whose tensors share memory with the engine's arrays."""
    arrays: list[int] = []

    def note(*leaves: Any) -> Any:
        arrays.extend(leaf.ctypes.data for leaf in leaves)
        return leaves

    noted = dataset.map(note).to_torch()
    tensors = [leaf.data_ptr() for batch in noted for leaf in batch]
    same = sum(a == b for a, b in zip(arrays, tensors, strict=True))
    return Spread.of([100 * same / len(tensors)])


def run() -> list[Figure]:
    if importlib.util.find_spec("torch") is None:
        print("PyTorch is not installed: no figures")
        return []
    import torch

    torch.set_num_threads(1)
    rng = np.random.default_rng(1)
    images = rng.integers(0, 256, (ROWS, *IMAGE), np.uint8)
    labels = np.arange(ROWS)
    dataset = ps.Dataset.from_tensor_slices((images, labels)).shuffle(ROWS).batch(BATCH)

    def by_hand() -> Iterator[Any]:
        order = rng.permutation(ROWS)
        for start in range(0, ROWS, BATCH):
            rows = order[start : start + BATCH]
            yield torch.from_numpy(images[rows]), torch.from_numpy(labels[rows])

    plain = dataset.prefetch(2)
    tensors = dataset.to_torch()
    rounds = interleaved(
        {
            "plain": timed(lambda: drain(plain), BATCHES),
            "to_torch": timed(lambda: drain(tensors), BATCHES),
            "by hand": timed(lambda: drain(by_hand()), BATCHES),
            "first plain": first(plain),
            "first to_torch": first(tensors),
        }
    )
    us = {case: rounds.seconds(case).median * 1e6 for case in rounds.rounds[0]}
    return [
        Figure(
            "to_torch: time of a batch / the plain iterator's",
            rounds.ratio("to_torch", "plain"),
            "x",
            at_most=1.1,
            note=f"{us['to_torch']:.0f} against {us['plain']:.0f} us for {BATCH} images "
            f"{IMAGE} and labels",
        ),
        Figure(
            "to_torch: speed / torch.from_numpy(images[rows])",
            rounds.ratio("by hand", "to_torch"),
            "x",
            note=f"{us['to_torch']:.0f} against {us['by hand']:.0f} us per batch",
        ),
        Figure(
            "to_torch: first batch, seconds beyond the plain iterator's",
            rounds.difference("first to_torch", "first plain"),
            "s",
            at_most=FIRST,
            note=f"{us['first to_torch'] / 1e3:.1f} against {us['first plain'] / 1e3:.1f} ms",
        ),
        Figure(
            "to_torch: leaves whose memory is that of the engine's arrays",
            shared(dataset),
            "%",
            at_least=100,
            note=f"by their addresses, {2 * BATCHES} leaves of one pass",
        ),
    ]


if __name__ == "__main__":
    main(run, __doc__)
