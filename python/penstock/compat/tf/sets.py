"""tf.sets: set operations on the rows along the last axis."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from penstock.compat.listing import listing
from penstock.compat.sparse import SparseTensor
from penstock.compat.sparse.rows import rows_of
from penstock.compat.tensor import tensor


def size(a: Any, validate_indices: bool = True) -> Any:
    """Return the number of distinct values in each row.

    Parameters
    ----------
    a : SparseTensor
        The rows.
    validate_indices : bool
        Ignored.

    Returns
    -------
    Tensor
        The numbers as int32, without the last axis.
    """
    rows, shape = rows_of(a)
    counts = np.zeros(shape, np.int32)
    for position, values in rows.items():
        counts[position] = len(set(values))
    return tensor(counts)


def union(a: Any, b: Any, validate_indices: bool = True) -> SparseTensor:
    """Return the union of the corresponding rows of two tensors.

    Parameters
    ----------
    a, b : tensor or SparseTensor
        The rows; the shapes must be equal except for the last axis.
    validate_indices : bool
        Ignored.

    Returns
    -------
    SparseTensor
        The values of each row in ascending order.
    """
    return _combined(a, b, set.union)


def intersection(a: Any, b: Any, validate_indices: bool = True) -> SparseTensor:
    """Return the intersection of the corresponding rows of two tensors; see `union`."""
    return _combined(a, b, set.intersection)


def difference(a: Any, b: Any, aminusb: bool = True, validate_indices: bool = True) -> SparseTensor:
    """Return the values in a row of `a` but not of `b`, or the reverse; see `union`."""
    return _combined(a, b, set.difference) if aminusb else _combined(b, a, set.difference)


def _combined(a: Any, b: Any, combine: Callable[[set[Any], set[Any]], set[Any]]) -> SparseTensor:
    (of_a, shape), (of_b, other) = rows_of(a), rows_of(b)
    if shape != other:
        raise ValueError(f"tf.sets: rows of the same shape were expected, got {shape} and {other}")
    indices, values, most = [], [], 0
    for position in sorted({*of_a, *of_b}):
        row = sorted(combine(set(of_a.get(position, ())), set(of_b.get(position, ()))))
        indices += [(*position, i) for i in range(len(row))]
        values += row
        most = max(most, len(row))
    first = a.values if isinstance(a, SparseTensor) else tensor(a)
    own = np.array(values, first.dtype)
    return SparseTensor(
        np.array(indices, np.int64).reshape(-1, len(shape) + 1), own, (*shape, most)
    )


__dir__ = listing(globals())
