"""Reading and writing array values by index: gather_nd, scatter_nd and others."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from penstock.compat.dtypes import zero_of
from penstock.compat.errors import InvalidArgumentError
from penstock.compat.listing import listing
from penstock.compat.tensor import array, in_one_type, tensor


def gather_nd(
    params: Any,
    indices: Any,
    batch_dims: Any = 0,
    name: str | None = None,
    bad_indices_policy: str = "",
) -> Any:
    """Return the values or rows at indices.

    Parameters
    ----------
    params : array_like
        The array.
    indices : array_like of int, shape ``(..., depth)``
        For each result, an index for each of the first `depth` axes.
    batch_dims : int
        Number of leading axes that both arrays share.
    name : str, optional
        A label without effect.
    bad_indices_policy : str
        "IGNORE" returns zeros for indices out of bounds; otherwise they raise an error.

    Raises
    ------
    InvalidArgumentError
        If an index is out of bounds.

    Examples
    --------
    >>> import penstock.compat.tf as tf
    >>> tf.gather_nd([[1, 2], [3, 4]], [[1, 0], [0, 1]]).numpy().tolist()
    [3, 2]
    """
    values, positions = array(params), array(indices)
    batch, depth = int(batch_dims), positions.shape[-1]
    inside = _inside(positions, values.shape[batch : batch + depth], bad_indices_policy)
    axes = np.indices(values.shape[:batch], sparse=True)
    widened = [axis.reshape(axis.shape + (1,) * (positions.ndim - 1 - batch)) for axis in axes]
    if not widened and not depth:
        return tensor(np.broadcast_to(values, positions.shape[:-1] + values.shape).copy())
    chosen = np.where(inside[..., None], positions, 0)
    made = values[(*widened, *np.moveaxis(chosen, -1, 0))]
    if not inside.all():
        made = np.where(inside.reshape(inside.shape + (1,) * (made.ndim - inside.ndim)), made, 0)
    return tensor(np.asarray(made, values.dtype))


def _inside(indices: Any, sizes: Any, policy: str = "") -> Any:
    if len(sizes) < indices.shape[-1]:
        raise InvalidArgumentError(
            None, None, f"indices of {len(sizes)} axes or fewer were expected, got {indices.shape}"
        )
    inside = ((indices >= 0) & (indices < np.array(sizes, np.int64))).all(-1)
    if policy != "IGNORE" and not inside.all():
        wrong = indices[~inside][0].tolist()
        raise InvalidArgumentError(
            None, None, f"indices = {wrong} does not index into shape {list(sizes)}"
        )
    return inside


def scatter_nd(
    indices: Any, updates: Any, shape: Any, bad_indices_policy: str = "", name: str | None = None
) -> Any:
    """Return an array of zeros with `updates` added at indices."""
    updates = tensor(updates)
    empty = zero_of(updates.dtype)
    zeros = np.full([int(size) for size in array(shape)], empty, updates.dtype)
    return _scattered(np.add, zeros, indices, updates, bad_indices_policy)


def _scattered(ufunc: np.ufunc | None, made: Any, indices: Any, updates: Any, policy: str) -> Any:
    positions = array(indices)
    depth = positions.shape[-1]
    inside = _inside(positions, made.shape[:depth], policy)
    wanted = positions.shape[:-1] + made.shape[depth:]
    values = np.asarray(updates)
    if values.ndim and values.shape != wanted:
        raise InvalidArgumentError(
            None, None, f"updates of shape {wanted} were expected, got {values.shape}"
        )
    at = tuple(positions[inside].T)
    values = np.broadcast_to(values, wanted)[inside]
    if ufunc is None:
        made[at] = values
    elif ufunc is np.add and made.dtype.kind == "O":
        for position, value in zip(zip(*at, strict=True), values, strict=True):
            made[position] += value
    else:
        ufunc.at(made, at, values)
    return tensor(made)


def _tensor_scatter(name: str, ufunc: np.ufunc) -> Callable[..., Any]:
    def call(
        tensor: Any,
        indices: Any,
        updates: Any,
        bad_indices_policy: str = "",
        name: str | None = None,
    ) -> Any:
        first, second = in_one_type([tensor, updates])
        return _scattered(ufunc, np.array(first), indices, second, bad_indices_policy)

    call.__name__ = call.__qualname__ = name
    call.__doc__ = (
        "Return a copy of an array in which the values at indices are joined with updates by "
        f"NumPy's `{ufunc.__name__}`."
    )
    return call


_UPDATES = {
    "tensor_scatter_nd_add": np.add,
    "tensor_scatter_nd_max": np.maximum,
    "tensor_scatter_nd_min": np.minimum,
    "tensor_scatter_nd_sub": np.subtract,
}
for _name, _ufunc in _UPDATES.items():
    globals()[_name] = _tensor_scatter(_name, _ufunc)


def tensor_scatter_nd_update(
    tensor: Any, indices: Any, updates: Any, name: str | None = None
) -> Any:
    """Return a copy of an array with the values at indices replaced."""
    first, second = in_one_type([tensor, updates])
    return _scattered(None, np.array(first), indices, second, "")


def strided_slice(
    input_: Any,
    begin: Any,
    end: Any,
    strides: Any = None,
    begin_mask: int = 0,
    end_mask: int = 0,
    ellipsis_mask: int = 0,
    new_axis_mask: int = 0,
    shrink_axis_mask: int = 0,
    var: Any = None,
    name: str | None = None,
) -> Any:
    """Return ``input_[begin:end:strides]``, along each axis.

    Parameters
    ----------
    input_ : array_like
        The array.
    begin, end, strides : sequence of int
        Start, end and step for each axis; steps are 1 by default.
    begin_mask, end_mask : int
        Bit masks of the axes without a start or an end.
    ellipsis_mask, new_axis_mask, shrink_axis_mask : int
        Bit masks of the positions that represent ``...``, ``newaxis``, and the single index
        `begin`.
    var : object
        Must be None.
    name : str, optional
        A label without effect.
    """
    begins, ends = np.ravel(begin).tolist(), np.ravel(end).tolist()
    steps = [1] * len(begins) if strides is None else np.ravel(strides).tolist()
    key: list[Any] = []
    for i, (first, last, step) in enumerate(zip(begins, ends, steps, strict=True)):
        bit = 1 << i
        if ellipsis_mask & bit:
            key.append(...)
        elif new_axis_mask & bit:
            key.append(None)
        elif shrink_axis_mask & bit:
            key.append(first)
        else:
            first, last = (None if begin_mask & bit else first), (None if end_mask & bit else last)
            key.append(np.s_[first:last:step])
    return tensor(input_)[tuple(key)]


def dynamic_partition(
    data: Any, partitions: Any, num_partitions: int, name: str | None = None
) -> list[Any]:
    """Split rows by their partition numbers into `num_partitions` arrays."""
    values, numbers = array(data), array(partitions)
    if numbers.size and not (numbers.min() >= 0 and numbers.max() < num_partitions):
        raise InvalidArgumentError(
            None, None, f"dynamic_partition: numbers below {num_partitions} were expected"
        )
    return [tensor(values[numbers == number]) for number in range(num_partitions)]


def dynamic_stitch(indices: Any, data: Any, name: str | None = None) -> Any:
    """Place rows at their indices; later rows replace earlier ones."""
    numbers = [np.ravel(array(each)) for each in indices]
    parts = [np.asarray(each) for each in in_one_type(list(data))]
    shape = parts[0].shape[np.ndim(array(indices[0])) :]
    rows = max((int(each.max(initial=-1)) for each in numbers), default=-1) + 1
    made = np.full((rows, *shape), zero_of(parts[0].dtype), parts[0].dtype)
    for at, part in zip(numbers, parts, strict=True):
        made[at] = part.reshape(-1, *shape)
    return tensor(made)


def unravel_index(indices: Any, dims: Any, name: str | None = None) -> Any:
    """Convert flat indices to an index for each axis."""
    indices = array(indices)
    return tensor(np.array(np.unravel_index(indices, tuple(dims))).astype(indices.dtype))


def reverse_sequence(
    input: Any,
    seq_lengths: Any,
    seq_axis: int | None = None,
    batch_axis: int | None = None,
    name: str | None = None,
) -> Any:
    """Reverse the first values of each row.

    Parameters
    ----------
    input : array_like
        The rows.
    seq_lengths : array_like of int
        The number of values to reverse in each row.
    seq_axis, batch_axis : int
        The axis of the values, and the axis of the rows (0 by default).
    name : str, optional
        A label without effect.
    """
    values = array(input)
    seq_axis, batch_axis = int(seq_axis or 0), int(batch_axis or 0)
    moved = np.moveaxis(values, (batch_axis, seq_axis), (0, 1)).copy()
    for row, length in zip(moved, array(seq_lengths).tolist(), strict=True):
        row[:length] = row[:length][::-1].copy()
    return tensor(np.moveaxis(moved, (0, 1), (batch_axis, seq_axis)))


NAMES = [
    *("gather_nd", "scatter_nd", "strided_slice", "dynamic_partition", "dynamic_stitch"),
    *("unravel_index", "reverse_sequence", "tensor_scatter_nd_update", *_UPDATES),
]

__dir__ = listing(globals())
