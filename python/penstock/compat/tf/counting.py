"""Counting, ordering and finding values: histograms, distinct values, maxima."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np

from penstock.compat.errors import InvalidArgumentError
from penstock.compat.listing import listing
from penstock.compat.tensor import array, in_one_type, tensor


class Unique(NamedTuple):
    """Distinct values, and the index of each input value among them."""

    y: Any
    idx: Any


class UniqueWithCounts(NamedTuple):
    """Distinct values, the index of each input value among them, and their counts."""

    y: Any
    idx: Any
    count: Any


class TopKV2(NamedTuple):
    """The largest values, and their indices."""

    values: Any
    indices: Any


def unique(x: Any, out_idx: Any = np.int32, name: str | None = None) -> Unique:
    """Return the distinct values of a vector, in order of first occurrence.

    Examples
    --------
    >>> import penstock.compat.tf as tf
    >>> y, idx = tf.unique([7, 5, 7])
    >>> y.numpy().tolist(), idx.numpy().tolist()
    ([7, 5], [0, 1, 0])
    """
    return Unique(*unique_with_counts(x, out_idx)[:2])


def unique_with_counts(x: Any, out_idx: Any = np.int32, name: str | None = None) -> Any:
    """Return the distinct values of a vector, and their counts."""
    x = array(x)
    if x.ndim != 1:
        raise InvalidArgumentError(None, None, f"unique: a vector was expected, got {x.shape}")
    _, first, inverse, counts = np.unique(
        x, return_index=True, return_inverse=True, return_counts=True
    )
    order = np.argsort(first)
    return UniqueWithCounts(
        tensor(x[first[order]]),
        tensor(np.argsort(order)[inverse].reshape(x.shape), out_idx),
        tensor(counts[order], out_idx),
    )


def searchsorted(
    sorted_sequence: Any,
    values: Any,
    side: Any = "left",
    out_type: Any = np.int32,
    name: str | None = None,
) -> Any:
    """Return the indices at which values would be inserted into sorted rows.

    Parameters
    ----------
    sorted_sequence : array_like, shape ``(..., n)``
        The sorted rows.
    values : array_like, shape ``(..., m)``
        The values to insert into each row.
    side : str
        "left" for the position before equal values, "right" for the position after them.
    out_type : dtype-like
        int32 or int64.
    name : str, optional
        A label without effect.
    """
    rows, wanted = (np.asarray(each) for each in in_one_type([sorted_sequence, values]))
    if rows.ndim == 1 and wanted.ndim <= 1:
        return tensor(np.searchsorted(rows, wanted, side), out_type)
    if rows.shape[:-1] != wanted.shape[:-1]:
        raise InvalidArgumentError(
            None, None, f"searchsorted: {rows.shape[:-1]} rows were expected, got {wanted.shape}"
        )
    pairs = zip(_matrix(rows), _matrix(wanted), strict=True)
    found = [np.searchsorted(row, each, side) for row, each in pairs]
    return tensor(np.array(found, np.int64).reshape(wanted.shape), out_type)


def _matrix(array: Any) -> Any:
    return array.reshape(int(np.prod(array.shape[:-1])), array.shape[-1])


def argsort(
    values: Any,
    axis: int = -1,
    direction: str = "ASCENDING",
    stable: bool = False,
    name: str | None = None,
) -> Any:
    """Return the indices that sort the values along an axis; equal values keep their order."""
    values = array(values)
    if direction not in ("ASCENDING", "DESCENDING"):
        raise ValueError(f"argsort: ASCENDING or DESCENDING was expected, got {direction!r}")
    if direction == "DESCENDING":
        return tensor(_descending(values, int(axis)), np.int32)
    return tensor(np.argsort(values, int(axis), "stable"), np.int32)


def _descending(values: Any, axis: int) -> Any:
    last = values.shape[axis] - 1
    return last - np.flip(np.argsort(np.flip(values, axis), axis, "stable"), axis)


def top_k(
    input: Any, k: Any = 1, sorted: bool = True, index_type: Any = np.int32, name: str | None = None
) -> TopKV2:
    """Return the `k` largest values along the last axis, and their indices.

    Examples
    --------
    >>> import penstock.compat.tf as tf
    >>> tf.math.top_k([1, 9, 5], 2).indices.numpy().tolist()
    [1, 2]
    """
    values, k = array(input), int(k)
    if not values.ndim or k > values.shape[-1]:
        raise InvalidArgumentError(
            None, None, f"top_k: rows of {k} values or more were expected, got {values.shape}"
        )
    order = _descending(values, -1)[..., :k]
    return TopKV2(tensor(np.take_along_axis(values, order, -1)), tensor(order, index_type))


def in_top_k(targets: Any, predictions: Any, k: Any, name: str | None = None) -> Any:
    """Return for each row of predictions whether the target is among the `k` largest."""
    wanted, rows = array(targets), array(predictions)
    known = (wanted >= 0) & (wanted < rows.shape[1])
    own = rows[np.arange(len(rows)), np.where(known, wanted, 0)]
    greater = (rows > own[:, None]).sum(1)
    return tensor(known & np.isfinite(own) & (greater < int(k)))


def bincount(
    arr: Any,
    weights: Any = None,
    minlength: Any = None,
    maxlength: Any = None,
    dtype: Any = np.int32,
    name: str | None = None,
    axis: int | None = None,
    binary_output: bool = False,
) -> Any:
    """Count the occurrences of each non-negative integer.

    Parameters
    ----------
    arr : array_like of int
        The integers.
    weights : array_like, optional
        Values to sum in place of ones.
    minlength, maxlength : int, optional
        Minimum and maximum length of the result; larger integers are ignored.
    dtype : dtype-like
        The type of the result without weights.
    name : str, optional
        A label without effect.
    axis : int, optional
        None counts all values, -1 those of each row.
    binary_output : bool
        Whether to return 1 or 0 for the presence of an integer instead of its count.
    """
    numbers = array(arr)
    if numbers.size and numbers.min() < 0:
        raise InvalidArgumentError(None, None, "bincount: numbers from 0 on were expected")
    flat = axis is None or axis == 0 or numbers.ndim < 2
    rows = numbers.reshape(1, -1) if flat else numbers
    size = int(numbers.max(initial=-1)) + 1
    size = max(size, int(minlength)) if minlength is not None else size
    size = min(size, int(maxlength)) if maxlength is not None else size
    added = np.ones(rows.shape, tensor(0, dtype).dtype) if weights is None else array(weights)
    counts = np.zeros((len(rows), size), added.dtype)
    where = rows < size
    at = np.nonzero(where)[0], rows[where]
    if binary_output:
        counts[at] = 1
    else:
        np.add.at(counts, at, added.reshape(rows.shape)[where])
    return tensor(counts[0] if flat else counts)


def confusion_matrix(
    labels: Any,
    predictions: Any,
    num_classes: Any = None,
    weights: Any = None,
    dtype: Any = np.int32,
    name: str | None = None,
) -> Any:
    """Count how often each class (row) was predicted as each class (column)."""
    rows, columns = (array(each).reshape(-1).astype(np.int64) for each in (labels, predictions))
    most = int(max(rows.max(initial=-1), columns.max(initial=-1))) + 1
    size = most if num_classes is None else int(num_classes)
    if most > size or min(rows.min(initial=0), columns.min(initial=0)) < 0:
        raise InvalidArgumentError(
            None, None, f"confusion_matrix: classes from 0 to {size - 1} were expected"
        )
    counts = np.zeros((size, size), tensor(0, dtype).dtype)
    np.add.at(counts, (rows, columns), 1 if weights is None else array(weights, dtype).ravel())
    return tensor(counts)


def histogram_fixed_width_bins(
    values: Any,
    value_range: Any,
    nbins: Any = 100,
    dtype: Any = np.int32,
    name: str | None = None,
) -> Any:
    """Return each value's index among `nbins` equal intervals, of which the outer ones are open.

    Examples
    --------
    >>> import penstock.compat.tf as tf
    >>> tf.histogram_fixed_width_bins([-1.0, 2.0, 9.0], [0.0, 5.0], nbins=5).numpy().tolist()
    [0, 2, 4]
    """
    values, limits = array(values), array(value_range)
    nbins = int(nbins)
    if nbins <= 0 or not limits[0] < limits[1]:
        raise InvalidArgumentError(
            None, None, f"histogram: bins, and a range, were expected, got {nbins}, {limits}"
        )
    scaled = array(tensor(values - limits[0]) / tensor(limits[1] - limits[0]))
    bins = np.floor(scaled.dtype.type(nbins) * scaled)
    return tensor(np.clip(bins, 0, nbins - 1), dtype)


def histogram_fixed_width(
    values: Any,
    value_range: Any,
    nbins: Any = 100,
    dtype: Any = np.int32,
    name: str | None = None,
) -> Any:
    """Count the values in each of `nbins` equal intervals."""
    bins = array(histogram_fixed_width_bins(values, value_range, nbins, np.int64))
    return tensor(np.bincount(bins.ravel(), minlength=int(nbins)), dtype)


NAMES = [
    *("argsort", "histogram_fixed_width", "histogram_fixed_width_bins", "searchsorted"),
    *("unique", "unique_with_counts"),
]

__dir__ = listing(globals())
