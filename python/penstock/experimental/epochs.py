"""Epochs of the records of files, for what makes batches of them."""

from __future__ import annotations

from penstock.dataset import Dataset


def shuffled_epochs(
    dataset: Dataset, num_epochs: int | None, shuffle: bool, buffer_size: int, seed: int | None
) -> Dataset:
    """Return `num_epochs` of a dataset (None: for ever), each shuffled if asked to."""
    if shuffle:
        dataset = dataset.shuffle(buffer_size, seed)
    return dataset if num_epochs == 1 else dataset.repeat(num_epochs)
