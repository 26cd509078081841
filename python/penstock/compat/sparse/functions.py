"""Functions of sparse tensors: `tf.sparse`."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from penstock.compat.dtypes import zero_of
from penstock.compat.errors import InvalidArgumentError
from penstock.compat.sparse.tensor import SparseTensor
from penstock.compat.tensor import in_one_type, tensor


def to_dense(
    sp_input: Any, default_value: Any = None, validate_indices: bool = True, name: str | None = None
) -> Any:
    """Convert a sparse tensor to a dense one.

    Parameters
    ----------
    sp_input : SparseTensor
        The sparse tensor.
    default_value : scalar, optional
        The value elsewhere; 0 or an empty string by default.
    validate_indices : bool
        Whether the indices must be sorted and unique.
    name : str, optional
        A label without effect.

    Returns
    -------
    Tensor
        An array of shape ``dense_shape``.
    """
    if not isinstance(sp_input, SparseTensor):
        raise TypeError("Input must be a SparseTensor.")
    numbers = sp_input.flat_indices()
    if validate_indices and (np.diff(numbers) <= 0).any():
        raise InvalidArgumentError(
            None, None, "to_dense: indices must be in order, each once; reorder them first"
        )
    return sp_input.dense(default_value)


def from_dense(tensor: Any, name: str | None = None) -> SparseTensor:
    """Return the values of an array that are not zero or empty strings as a sparse tensor.

    Examples
    --------
    >>> import penstock.compat.tf as tf
    >>> tf.sparse.from_dense([0, 5, 0]).indices.numpy().tolist()
    [[1]]
    """
    array = _tensor(tensor)
    there = np.asarray(array != zero_of(array.dtype))
    return SparseTensor(np.argwhere(there), array[there], array.shape)


def reorder(sp_input: SparseTensor, name: str | None = None) -> SparseTensor:
    """Sort the values by their indices."""
    return _chosen(sp_input, np.argsort(sp_input.flat_indices(), kind="stable"))


def retain(sp_input: SparseTensor, to_retain: Any) -> SparseTensor:
    """Keep only the values where `to_retain` is True."""
    return _chosen(sp_input, np.flatnonzero(np.asarray(to_retain)))


def _chosen(sp_input: SparseTensor, numbers: Any) -> SparseTensor:
    return SparseTensor(sp_input.indices[numbers], sp_input.values[numbers], sp_input.dense_shape)


def reshape(sp_input: SparseTensor, shape: Any, name: str | None = None) -> SparseTensor:
    """Reshape the tensor; -1 stands for the remaining size."""
    sizes = np.asarray(shape, np.int64)
    total = int(np.prod(np.asarray(sp_input.dense_shape)))
    if (sizes == -1).sum() == 1:
        sizes = np.where(sizes == -1, total // int(np.prod(sizes[sizes != -1])), sizes)
    if np.prod(sizes) != total:
        raise InvalidArgumentError(
            None, None, f"reshape: {total} values do not fit into shape {np.asarray(shape)}"
        )
    indices = np.stack(np.unravel_index(sp_input.flat_indices(), tuple(sizes)), axis=1)
    return SparseTensor(indices.reshape(-1, len(sizes)), sp_input.values, sizes)


def transpose(sp_input: SparseTensor, perm: Any = None, name: str | None = None) -> SparseTensor:
    """Permute the axes; reversed by default."""
    axes = np.arange(len(sp_input.shape))[::-1] if perm is None else np.asarray(perm)
    moved = SparseTensor(sp_input.indices[:, axes], sp_input.values, sp_input.dense_shape[axes])
    return reorder(moved)


def expand_dims(
    sp_input: SparseTensor, axis: int | None = None, name: str | None = None
) -> SparseTensor:
    """Add an axis of size 1, by default the last one."""
    axes = len(sp_input.shape) + 1
    axis = axes - 1 if axis is None else int(axis)
    if not -axes <= axis < axes:
        raise ValueError(f"axis {axis} is out of range")
    axis %= axes
    return SparseTensor(
        np.insert(sp_input.indices, axis, 0, axis=1),
        sp_input.values,
        np.insert(sp_input.dense_shape, axis, 1),
    )


def concat(
    axis: int,
    sp_inputs: Sequence[SparseTensor],
    expand_nonconcat_dims: bool = False,
    name: str | None = None,
) -> SparseTensor:
    """Concatenate sparse tensors along an axis.

    Parameters
    ----------
    axis : int
        The axis.
    sp_inputs : sequence of SparseTensor
        One or more sparse tensors.
    expand_nonconcat_dims : bool
        Whether other axes may differ in size; the result has the maximum size.
    name : str, optional
        A label without effect.
    """
    shapes = np.array([np.asarray(each.dense_shape) for each in sp_inputs])
    axis = int(axis) % shapes.shape[1]
    others = np.delete(shapes, axis, axis=1)
    if not expand_nonconcat_dims and (others != others[0]).any():
        raise InvalidArgumentError(
            None, None, f"concat: the other axes must have the same sizes, got {others.tolist()}"
        )
    offsets = np.cumsum(shapes[:, axis]) - shapes[:, axis]
    moved = []
    for each, offset in zip(sp_inputs, offsets, strict=True):
        indices = np.array(each.indices)
        indices[:, axis] += offset
        moved.append(indices)
    sizes = shapes.max(axis=0)
    sizes[axis] = shapes[:, axis].sum()
    values = np.concatenate([each.values for each in sp_inputs])
    return reorder(SparseTensor(np.concatenate(moved), values, sizes))


def slice(sp_input: SparseTensor, start: Any, size: Any, name: str | None = None) -> SparseTensor:
    """Return `size` values from `start` on, along each axis.

    Examples
    --------
    >>> import penstock.compat.tf as tf
    >>> sparse = tf.sparse.from_dense([[1, 0, 2], [0, 3, 0]])
    >>> tf.sparse.to_dense(tf.sparse.slice(sparse, [0, 1], [2, 2])).numpy().tolist()
    [[0, 2], [3, 0]]
    """
    first, count = np.asarray(start, np.int64), np.asarray(size, np.int64)
    sizes = np.maximum(np.minimum(count, np.asarray(sp_input.dense_shape) - first), 0)
    indices = np.asarray(sp_input.indices) - first
    inside = ((indices >= 0) & (indices < sizes)).all(axis=1)
    return SparseTensor(indices[inside], sp_input.values[inside], sizes)


def split(
    sp_input: SparseTensor, num_split: int, axis: int, name: str | None = None
) -> list[SparseTensor]:
    """Split along an axis; if the parts are uneven, the first ones are larger."""
    sizes = np.asarray(sp_input.dense_shape)
    axis = int(axis) % len(sizes)
    each, extra = divmod(int(sizes[axis]), int(num_split))
    limits = np.cumsum([0, *(each + (i < extra) for i in range(int(num_split)))])
    parts = []
    for first, limit in itertools.pairwise(limits):
        start, size = np.zeros_like(sizes), sizes.copy()
        start[axis], size[axis] = first, limit - first
        parts.append(slice(sp_input, start, size))
    return parts


def _reduced(
    ufunc: np.ufunc, sp_input: SparseTensor, axis: Any, keepdims: Any, output_is_sparse: bool
) -> Any:
    sizes = np.asarray(sp_input.dense_shape)
    axes = range(len(sizes)) if axis is None else {int(a) % len(sizes) for a in np.ravel(axis)}
    kept = [i for i in range(len(sizes)) if i not in axes]
    shape = tuple(1 if i in axes else int(n) for i, n in enumerate(sizes))
    if not keepdims:
        shape = tuple(int(sizes[i]) for i in kept)
    groups = np.asarray(sp_input.indices)[:, kept]
    found, where = np.unique(groups, axis=0, return_inverse=True)
    order = np.argsort(where.reshape(-1), kind="stable")
    counts = np.bincount(where.reshape(-1), minlength=len(found))
    values = np.asarray(sp_input.values)[order]
    starts = np.cumsum(counts) - counts
    made = ufunc.reduceat(values, starts, dtype=values.dtype) if len(values) else values
    flat = np.zeros(shape, values.dtype).reshape([int(sizes[i]) for i in kept])
    flat[tuple(found.T)] = made if kept else made.sum()  # each is a single value or empty
    if not output_is_sparse:
        return tensor(flat.reshape(shape))
    sparse = SparseTensor(found, made, [int(sizes[i]) for i in kept])
    return reshape(sparse, shape) if keepdims else sparse


def reduce_sum(
    sp_input: SparseTensor,
    axis: Any = None,
    keepdims: Any = None,
    output_is_sparse: bool = False,
    name: str | None = None,
) -> Any:
    """Return the sum of the values along axes, or of all values."""
    return _reduced(np.add, sp_input, axis, keepdims, output_is_sparse)


def reduce_max(
    sp_input: SparseTensor,
    axis: Any = None,
    keepdims: Any = None,
    output_is_sparse: bool = False,
    name: str | None = None,
) -> Any:
    """Return the maximum of the values along axes, or of all values; 0 where there are none."""
    return _reduced(np.maximum, sp_input, axis, keepdims, output_is_sparse)


def to_indicator(sp_input: SparseTensor, vocab_size: int, name: str | None = None) -> Any:
    """Return a bool array, with True at the columns given by the values of each row.

    Examples
    --------
    >>> import penstock.compat.tf as tf
    >>> ids = tf.sparse.SparseTensor([[0, 0], [0, 1], [1, 0]], [2, 0, 1], [2, 2])
    >>> tf.sparse.to_indicator(ids, 3).numpy().tolist()
    [[True, False, True], [False, True, False]]
    """
    sizes = [int(size) for size in sp_input.dense_shape[:-1]]
    made = np.zeros((*sizes, int(vocab_size)), bool)
    made[(*np.asarray(sp_input.indices)[:, :-1].T, np.asarray(sp_input.values))] = True
    return tensor(made)


def eye(
    num_rows: int, num_columns: int | None = None, dtype: Any = np.float32, name: str | None = None
) -> SparseTensor:
    """Return an identity matrix."""
    columns = num_rows if num_columns is None else num_columns
    numbers = np.arange(min(num_rows, columns))
    ones = tensor(np.ones(len(numbers)), dtype)
    return SparseTensor(np.stack([numbers, numbers], axis=1), ones, [num_rows, columns])


def fill_empty_rows(
    sp_input: SparseTensor, default_value: Any, name: str | None = None
) -> tuple[SparseTensor, Any]:
    """Fill the first column of empty rows with a value; also return which rows were empty."""
    rows = int(sp_input.dense_shape[0])
    empty = ~np.isin(np.arange(rows), np.asarray(sp_input.indices)[:, 0])
    filled = np.flatnonzero(empty)
    _, value = in_one_type([sp_input.values, default_value])
    made = SparseTensor(
        np.concatenate([sp_input.indices, np.stack([filled, filled * 0], axis=1)]),
        np.concatenate([sp_input.values, np.full(len(filled), np.asarray(value))]),
        sp_input.dense_shape,
    )
    return reorder(made), tensor(empty)


def reset_shape(sp_input: SparseTensor, new_shape: Any = None) -> SparseTensor:
    """Return the values with a larger shape, or with the smallest shape that contains them."""
    if new_shape is None:
        new_shape = np.asarray(sp_input.indices).max(axis=0, initial=-1) + 1
    elif (np.asarray(new_shape) < np.asarray(sp_input.dense_shape)).any():
        raise InvalidArgumentError(
            None, None, f"reset_shape: {new_shape} is smaller than {sp_input.shape}"
        )
    return SparseTensor(sp_input.indices, sp_input.values, new_shape)


def _united(combine: Callable[[Any, Any], Any], a: SparseTensor, b: SparseTensor) -> SparseTensor:
    """Combine the values of two tensors where either has one, using 0 for missing ones."""
    if a.shape != b.shape:
        raise InvalidArgumentError(None, None, f"shapes {a.shape} and {b.shape} differ")
    mine, others = a.flat_indices(), b.flat_indices()
    numbers = np.union1d(mine, others)
    sides = []
    for each, found in ((a, mine), (b, others)):
        side = np.zeros(len(numbers), each.dtype)
        np.add.at(side, np.searchsorted(numbers, found), np.asarray(each.values))
        sides.append(side)
    indices = np.stack(np.unravel_index(numbers, a.shape), axis=1)
    return SparseTensor(indices, combine(*sides), a.dense_shape)


def add(a: Any, b: Any, threshold: Any = 0) -> Any:
    """Return the sum of two sparse tensors, or of a sparse tensor and an array.

    Parameters
    ----------
    a, b : SparseTensor or array_like
        The operands, of which at least one is sparse.
    threshold : scalar
        Sums with a smaller magnitude are dropped from a sparse result.

    Returns
    -------
    SparseTensor or Tensor
        The sum; sparse if both operands are.
    """
    if not isinstance(a, SparseTensor):
        a, b = b, a
    if not isinstance(a, SparseTensor):
        raise TypeError("At least one input should be SparseTensor; do you mean to use tf.add()?")
    if isinstance(b, SparseTensor):
        made = _united(np.add, a, b)
        return retain(made, np.abs(np.asarray(made.values)) >= threshold) if threshold else made
    return in_one_type([a.values, b])[1] + a.dense()


def maximum(sp_a: SparseTensor, sp_b: SparseTensor, name: str | None = None) -> SparseTensor:
    """Return the maximum where either tensor has a value."""
    return _united(np.maximum, sp_a, sp_b)


def minimum(sp_a: SparseTensor, sp_b: SparseTensor, name: str | None = None) -> SparseTensor:
    """Return the minimum where either tensor has a value."""
    return _united(np.minimum, sp_a, sp_b)


def sparse_dense_matmul(
    sp_a: Any, b: Any, adjoint_a: bool = False, adjoint_b: bool = False, name: str | None = None
) -> Any:
    """Return the product of two matrices, one of which is sparse."""
    left, right = (m.dense() if isinstance(m, SparseTensor) else tensor(m) for m in (sp_a, b))
    left = np.conj(left).T if adjoint_a else left
    return left @ (np.conj(right).T if adjoint_b else right)


_tensor = tensor  # for from_dense, which has an argument of the same name
