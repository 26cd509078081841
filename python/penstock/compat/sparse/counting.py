"""tf.sparse.bincount: counts of values, without those that do not occur."""

from __future__ import annotations

from typing import Any

import numpy as np

from penstock.compat.listing import listing
from penstock.compat.ragged import RaggedTensor
from penstock.compat.sparse.tensor import SparseTensor
from penstock.compat.tensor import array


def bincount(
    values: Any,
    weights: Any = None,
    axis: int | None = 0,
    minlength: Any = None,
    maxlength: Any = None,
    binary_output: bool = False,
    name: str | None = None,
) -> SparseTensor:
    """Count how often each number occurs.

    Parameters
    ----------
    values : array_like of int, RaggedTensor or SparseTensor
        The numbers.
    weights : array_like, RaggedTensor or SparseTensor, optional
        The weight of each number, in the same structure; 1 by default.
    axis : int
        0 counts all numbers, -1 those of each row.
    minlength, maxlength : int, optional
        Minimum and maximum size of the result; larger numbers are ignored.
    binary_output : bool
        Whether to return 1 for each number that occurs, instead of its count.
    name : str, optional
        A label without effect.

    Returns
    -------
    SparseTensor
        The counts, with columns up to the largest number.
    """
    numbers, rows, count = _flat(values)
    shares = np.ones(len(numbers), np.int32) if weights is None else _flat(weights)[0]
    length = max(int(numbers.max(initial=-1)) + 1, 0 if minlength is None else int(minlength))
    if maxlength is not None:
        length = min(length, int(maxlength))
    kept = numbers < length
    of_rows = axis == -1 and count is not None
    keys = np.stack([rows, numbers], 1)[kept] if of_rows else numbers[kept, None]
    indices, of = np.unique(keys, axis=0, return_inverse=True)
    sums = np.zeros(len(indices), shares.dtype)
    np.add.at(sums, np.ravel(of), shares[kept])
    sizes = [count, length] if of_rows else [length]
    return SparseTensor(indices, np.ones_like(sums) if binary_output else sums, sizes)


def _flat(values: Any) -> tuple[Any, Any, int | None]:
    """Return all values, the row of each, and the number of rows, if any."""
    if isinstance(values, RaggedTensor):
        return array(values.values), array(values.value_rowids()), int(values.nrows())
    if isinstance(values, SparseTensor):
        shape = array(values.dense_shape)
        rows = array(values.indices)[:, 0]
        return array(values.values), rows, int(shape[0]) if len(shape) > 1 else None
    dense = array(values)
    if dense.ndim < 2:
        return np.ravel(dense), np.zeros(dense.size, np.int64), None
    return dense.ravel(), np.repeat(np.arange(len(dense)), dense[0].size), len(dense)


__dir__ = listing(globals())
