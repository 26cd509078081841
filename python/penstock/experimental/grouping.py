"""Functions for ``ds.apply`` that gather elements by a key."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from penstock.dataset import Dataset
from penstock.experimental.transformations import Transformation

__all__ = ["group_by_window"]


def group_by_window(
    key_func: Callable[..., Any],
    reduce_func: Callable[[Any, Dataset], Dataset],
    window_size: int | None = None,
    window_size_func: Callable[[Any], Any] | None = None,
) -> Transformation:
    """Gather elements of equal keys into windows: `Dataset.group_by_window`.

    Parameters
    ----------
    key_func : callable
        Takes the element, returns one int.
    reduce_func : callable
        Takes a key and a window, a dataset of elements with that key; returns a Dataset.
    window_size : int, optional
        Elements of a window, >= 1.
    window_size_func : callable, optional
        Takes a key, returns the size of its windows. Either this or `window_size` is given.

    Returns
    -------
    callable
        For `Dataset.apply`.

    Examples
    --------
    >>> by_parity = ps.experimental.group_by_window(
    ...     lambda x: x % 2, lambda key, w: w.batch(2), window_size=2)
    >>> [batch.tolist() for batch in ps.Dataset.range(5).apply(by_parity)]
    [[0, 2], [1, 3], [4]]
    """
    return lambda dataset: dataset.group_by_window(
        key_func, reduce_func, window_size, window_size_func
    )
