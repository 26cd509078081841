"""The experimental forms of sample_from_datasets, choose_from_datasets, rejection_resample."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from penstock.arguments.checked import checked
from penstock.dataset import Dataset
from penstock.experimental.transformations import Transformation

__all__ = ["choose_from_datasets", "rejection_resample", "sample_from_datasets"]


@checked
def sample_from_datasets(
    datasets: Sequence[Dataset],
    weights: Any = None,
    seed: int | None = None,
    stop_on_empty_dataset: bool = False,
) -> Dataset:
    """Draw each element from a random dataset: `Dataset.sample_from_datasets`.

    Parameters
    ----------
    datasets, weights, seed, stop_on_empty_dataset
        As in `Dataset.sample_from_datasets`.

    Returns
    -------
    Dataset
        The elements of all datasets; those of each dataset stay in order.

    Examples
    --------
    >>> a, b = ps.Dataset.range(2), ps.Dataset.range(10, 12)
    >>> sorted(int(x) for x in ps.experimental.sample_from_datasets([a, b]))
    [0, 1, 10, 11]
    """
    return Dataset.sample_from_datasets(datasets, weights, seed, stop_on_empty_dataset)


@checked
def choose_from_datasets(
    datasets: Sequence[Dataset], choice_dataset: Dataset, stop_on_empty_dataset: bool = False
) -> Dataset:
    """Take each element from the dataset with a given index: `Dataset.choose_from_datasets`.

    Parameters
    ----------
    datasets, choice_dataset
        As in `Dataset.choose_from_datasets`.
    stop_on_empty_dataset : bool
        As in that method, but False by default.

    Returns
    -------
    Dataset
        As many elements as there are choices, unless the result ends earlier.

    Examples
    --------
    >>> a, b = ps.Dataset.range(1), ps.Dataset.range(10, 13)
    >>> choices = ps.Dataset.from_tensor_slices([0, 0, 1, 1])
    >>> [int(x) for x in ps.experimental.choose_from_datasets([a, b], choices)]
    [0, 10, 11]
    """
    return Dataset.choose_from_datasets(datasets, choice_dataset, stop_on_empty_dataset)


@checked
def rejection_resample(
    class_func: Callable[..., Any],
    target_dist: Any,
    initial_dist: Any = None,
    seed: int | None = None,
) -> Transformation:
    """Skip elements to reach a class distribution: `Dataset.rejection_resample`.

    Parameters
    ----------
    class_func, target_dist, initial_dist, seed
        As in `Dataset.rejection_resample`.

    Returns
    -------
    callable
        A function for `Dataset.apply`.

    Examples
    --------
    >>> rare = ps.experimental.rejection_resample(lambda x: int(x) % 4 // 3, [0.0, 1.0], seed=1)
    >>> set(int(x) % 4 for _, x in ps.Dataset.range(100).apply(rare))
    {3}
    """
    return lambda dataset: dataset.rejection_resample(class_func, target_dist, initial_dist, seed)
