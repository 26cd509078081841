"""Splitting a dataset into two."""

from __future__ import annotations

import random
from typing import Any

import numpy as np

from penstock.compat.dataset import Dataset
from penstock.compat.listing import listing


def split_dataset(
    dataset: Any,
    left_size: float | None = None,
    right_size: float | None = None,
    shuffle: bool = False,
    seed: int | None = None,
    preferred_backend: str | None = None,
) -> tuple[Dataset, Dataset]:
    """Split the elements of a dataset into two datasets in memory.

    Parameters
    ----------
    dataset : Dataset, array, or list or tuple of arrays
        The elements.
    left_size, right_size : int or float, optional
        The number or share of elements of each dataset; one may be omitted.
    shuffle : bool
        Whether to shuffle the elements first.
    seed : int, optional
        The seed, for a reproducible order.
    preferred_backend : str, optional
        Must be "tensorflow" or None.

    Returns
    -------
    left, right : Dataset
        The first elements, and the remaining ones.

    Raises
    ------
    ValueError
        If the sizes exceed the number of elements, or a dataset would be empty.
    """
    if isinstance(dataset, Dataset):
        elements = list(dataset.as_numpy_iterator())
    elif isinstance(dataset, (list, tuple)) and dataset and hasattr(dataset[0], "shape"):
        elements = [tuple(parts) for parts in zip(*dataset, strict=True)]
    else:
        elements = list(dataset)
    left, right = _sizes(len(elements), left_size, right_size)
    if shuffle:
        random.Random(seed).shuffle(elements)
    return _dataset(elements[:left]), _dataset(elements[-right:])


def _sizes(total: int, left: float | None, right: float | None) -> tuple[int, int]:
    if left is None and right is None:
        raise ValueError("split_dataset: left_size or right_size must be given")
    for name, size in (("left_size", left), ("right_size", right)):
        most = 1 if isinstance(size, float) else total
        if size is not None and not 0 < size < most:
            raise ValueError(f"split_dataset: {name} must lie between 0 and {most}, got {size}")
    first = round(left * total) if isinstance(left, float) else left
    last = round(right * total) if isinstance(right, float) else right
    first = total - (last or 0) if first is None else int(first)
    last = total - first if last is None else int(last)
    if first + last > total:
        raise ValueError(f"split_dataset: {first} and {last} are more than {total} elements")
    if not first or not last:
        raise ValueError(f"split_dataset: one of {total} elements' datasets would be empty")
    return first, last


def _dataset(elements: list[Any]) -> Dataset:
    if isinstance(elements[0], tuple):
        return Dataset.from_tensor_slices(tuple(map(np.stack, zip(*elements, strict=True))))
    if isinstance(elements[0], dict):
        return Dataset.from_tensor_slices(
            {key: np.stack([each[key] for each in elements]) for key in elements[0]}
        )
    return Dataset.from_tensor_slices(np.stack(elements))


__dir__ = listing(globals())
