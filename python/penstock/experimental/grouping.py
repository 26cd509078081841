"""Functions for ``ds.apply`` that gather elements by a key."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from penstock.dataset import Dataset
from penstock.experimental.transformations import Transformation

__all__ = ["bucket_by_sequence_length", "group_by_window"]


def bucket_by_sequence_length(
    element_length_func: Callable[..., Any],
    bucket_boundaries: Sequence[int],
    bucket_batch_sizes: Sequence[int],
    padded_shapes: Any = None,
    padding_values: Any = None,
    pad_to_bucket_boundary: bool = False,
    no_padding: bool = False,
    drop_remainder: bool = False,
) -> Transformation:
    """Give batches of elements of similar length: `Dataset.bucket_by_sequence_length`.

    Parameters
    ----------
    element_length_func : callable
        Takes the element, returns its length.
    bucket_boundaries : sequence of int
        The lengths at which another bucket begins, ascending.
    bucket_batch_sizes : sequence of int
        Elements per batch of each bucket: one more than there are boundaries.
    padded_shapes, padding_values : optional
        As of `Dataset.padded_batch`.
    pad_to_bucket_boundary : bool
        Pad to the boundary of the bucket minus one, instead of to the longest of the batch.
    no_padding : bool
        The elements of a bucket have one shape.
    drop_remainder : bool
        Leave out the batches at the end that are not full.

    Returns
    -------
    callable
        For `Dataset.apply`.

    Examples
    --------
    >>> by_length = ps.experimental.bucket_by_sequence_length(len, [3], [2, 2])
    >>> rows = ps.Dataset.range(1, 5).map(lambda n: np.full(n, n))
    >>> [batch.tolist() for batch in rows.apply(by_length)]
    [[[1, 0], [2, 2]], [[3, 3, 3, 0], [4, 4, 4, 4]]]
    """
    return lambda dataset: dataset.bucket_by_sequence_length(
        element_length_func,
        bucket_boundaries,
        bucket_batch_sizes,
        padded_shapes,
        padding_values,
        pad_to_bucket_boundary,
        no_padding,
        drop_remainder,
    )


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
