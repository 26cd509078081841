"""Shuffled epochs of records, for sources of batches."""

from __future__ import annotations

from penstock.dataset import Dataset


def shuffled_epochs(
    dataset: Dataset, num_epochs: int | None, shuffle: bool, buffer_size: int, seed: int | None
) -> Dataset:
    """Return `num_epochs` of a dataset (None: infinitely many), each shuffled if requested."""
    if shuffle:
        dataset = dataset.shuffle(buffer_size, seed)
    return dataset if num_epochs == 1 else dataset.repeat(num_epochs)
