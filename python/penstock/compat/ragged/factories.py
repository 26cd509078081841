"""Creation of ragged tensors from lists, numbers and other tensors: functions of `tf.ragged`."""

from __future__ import annotations

import builtins
from typing import Any

import numpy as np

from penstock.compat.dtypes import as_dtype
from penstock.compat.errors import InvalidArgumentError
from penstock.compat.ragged import arrays
from penstock.compat.ragged.splits import (
    as_splits,
    is_ragged,
    ranges,
    row_ids,
    splits_of,
    take_rows,
)
from penstock.compat.ragged.tensor import RaggedTensor
from penstock.compat.tensor import tensor


def constant(
    pylist: Any,
    dtype: Any = None,
    ragged_rank: int | None = None,
    inner_shape: Any = None,
    name: str | None = None,
    row_splits_dtype: Any = np.int64,
) -> Any:
    """Create a ragged tensor from nested lists.

    Parameters
    ----------
    pylist : nested lists
        The rows.
    dtype : dtype-like, optional
        The type of the values.
    ragged_rank : int, optional
        Number of ragged axes after the first; by default, all axes but the last.
    inner_shape : sequence of int, optional
        The shape of the innermost values.
    name : str, optional
        A label without effect.
    row_splits_dtype : dtype-like
        int64 or int32.

    Returns
    -------
    RaggedTensor
        The rows; a Tensor if no axis is ragged.

    Raises
    ------
    ValueError
        If values are nested at different depths.

    Examples
    --------
    >>> import penstock.compat.tf as tf
    >>> tf.ragged.constant([[1, 2], [3]]).values
    <tf.Tensor: shape=(3,), dtype=int32, numpy=array([1, 2, 3], dtype=int32)>
    """
    if is_ragged(pylist):
        raise TypeError("pylist may not be a RaggedTensor or RaggedTensorValue.")
    scalars, deepest = _depths(pylist)
    inner = None if inner_shape is None else tuple(int(size) for size in inner_shape)
    if scalars is not None and deepest > scalars:
        raise ValueError(
            f"Invalid pylist={pylist!r}: empty list nesting is greater than scalar value nesting"
        )
    if scalars is not None and ragged_rank is not None and deepest < ragged_rank:
        raise ValueError(
            f"Invalid pylist={pylist}, max depth smaller than ragged_rank={ragged_rank}"
        )
    if inner is not None and ragged_rank is not None:
        wanted = ragged_rank + len(inner) + 1
        if (scalars is not None and wanted != scalars) or (scalars is None and wanted < deepest):
            raise ValueError(
                f"Invalid pylist={pylist!r}: incompatible with ragged_rank={ragged_rank} and "
                f"dim(inner_shape)={len(inner)}"
            )
    if ragged_rank == 0 or (ragged_rank is None and deepest - len(inner or ()) < 2):
        return _typed(pylist, dtype, inner)
    if ragged_rank is None:
        ragged_rank = max(1, (deepest if scalars is None else scalars - len(inner or ())) - 1)
    elif inner is None:
        inner = _inner_shape(pylist, ragged_rank)
    values, lengths = list(pylist), []
    for _ in builtins.range(ragged_rank):
        lengths.append(splits_of([len(row) for row in values], as_dtype(row_splits_dtype).dtype))
        values = [value for row in values for value in row]
    flat = _typed(values, dtype, (len(values), *(inner or ())))
    return RaggedTensor.from_nested_row_splits(flat, lengths)


def _typed(values: Any, dtype: Any, shape: Any) -> Any:
    if dtype is None and np.size(values) == 0:
        dtype = np.float32
    # NumPy integers in lists are treated as Python integers.
    plain = isinstance(values, list) and all(isinstance(value, np.integer) for value in values)
    made = tensor([int(value) for value in values] if plain else values, dtype)
    return made if shape is None else tensor(made.reshape(shape))


def _depths(value: Any) -> tuple[int | None, int]:
    """Return the nesting depth of scalars, and the maximum depth of lists."""
    if not isinstance(value, (list, tuple)) and np.ndim(value) == 0:
        return 0, 0
    found = [_depths(part) for part in value]
    scalars = {depth + 1 for depth, _ in found if depth is not None}
    if len(scalars) > 1:
        raise ValueError("all scalar values must have the same nesting depth")
    return (scalars.pop() if scalars else None), 1 + max((d for _, d in found), default=0)


def _inner_shape(value: Any, ragged_rank: int) -> tuple[int, ...]:
    for _ in builtins.range(ragged_rank):
        value = [inner for row in value for inner in row]
    return tuple(np.shape(value)[1:])


def range(
    starts: Any,
    limits: Any = None,
    deltas: Any = 1,
    dtype: Any = None,
    name: str | None = None,
    row_splits_dtype: Any = np.int64,
) -> Any:
    """Create rows that count from `starts` (0) up to, excluding, `limits` in steps of `deltas`.

    Examples
    --------
    >>> import penstock.compat.tf as tf
    >>> tf.ragged.range([3, 0, 2])
    <tf.RaggedTensor [[0, 1, 2], [], [0, 1]]>
    """
    if limits is None:
        starts, limits = 0, starts
    given = [starts, limits, deltas]
    if dtype is None:
        kinds = [tensor(value).dtype for value in given]
        order = [np.dtype(t) for t in (np.int32, np.int64, np.float32, np.float64)]
        dtype = max(kinds, key=order.index)
    typed = [np.asarray(tensor(value, dtype)) for value in given]
    first, limit, step = np.broadcast_arrays(*map(np.atleast_1d, typed))
    if not step.all():
        raise InvalidArgumentError(None, None, "Requires delta != 0")
    counts = np.maximum(np.ceil((limit - first) / step), 0).astype(np.int64)
    within = ranges(counts * 0, counts)
    values = np.repeat(first, counts) + within * np.repeat(step, counts)
    splits = splits_of(counts, as_dtype(row_splits_dtype).dtype)
    return RaggedTensor(tensor(values, dtype), splits)


def stack(values: Any, axis: int = 0, name: str | None = None) -> Any:
    """Stack values of different sizes along a new axis.

    Examples
    --------
    >>> import penstock.compat.tf as tf
    >>> tf.ragged.stack([[1, 2], [3]])
    <tf.RaggedTensor [[1, 2], [3]]>
    """
    values = values if isinstance(values, (list, tuple)) else [values]
    tensors = [value if is_ragged(value) else tensor(value) for value in values]
    return arrays.stack(None, tensors, axis)


def boolean_mask(data: Any, mask: Any, name: str | None = None) -> Any:
    """Return the values where a mask is True, in their original rows.

    Examples
    --------
    >>> import penstock.compat.tf as tf
    >>> tf.ragged.boolean_mask([[1, 2], [3, 4]], [[True, False], [True, True]])
    <tf.RaggedTensor [[1], [3, 4]]>
    """
    return arrays.boolean_mask(None, data, mask)


def row_splits_to_segment_ids(splits: Any, name: str | None = None, out_type: Any = None) -> Any:
    """Return the row of each value, given row splits."""
    array = as_splits(splits)
    return tensor(row_ids(array), array.dtype if out_type is None else out_type)


def segment_ids_to_row_splits(
    segment_ids: Any, num_segments: Any = None, out_type: Any = None, name: str | None = None
) -> Any:
    """Return row splits, given the row of each value."""
    numbers = as_splits(segment_ids)
    rows = (numbers.max(initial=-1) + 1) if num_segments is None else int(num_segments)
    splits = splits_of(np.bincount(numbers, minlength=rows), numbers.dtype)
    return tensor(splits, numbers.dtype if out_type is None else out_type)


def stack_dynamic_partitions(
    data: Any, partitions: Any, num_partitions: Any, name: str | None = None
) -> Any:
    """Group values by their partition numbers, with one row for each number.

    Examples
    --------
    >>> import penstock.compat.tf as tf
    >>> tf.ragged.stack_dynamic_partitions(["a", "b", "c"], [1, 0, 1], 3)
    <tf.RaggedTensor [[b'b'], [b'a', b'c'], []]>
    """
    data, chosen = arrays.as_tensor(data), arrays.as_tensor(partitions)
    while is_ragged(chosen) or chosen.ndim > 1:
        if not is_ragged(chosen):
            chosen = RaggedTensor.from_tensor(chosen)
        if not is_ragged(data):
            data = RaggedTensor.from_tensor(data)
        if not np.array_equal(data.row_splits, chosen.row_splits):
            raise InvalidArgumentError(
                None, None, "data and partitions have incompatible ragged shapes"
            )
        data, chosen = data.values, chosen.values
    if not chosen.ndim:
        data, chosen = (
            arrays.stack(None, [data]) if is_ragged(data) else data[None],
            chosen[None],
        )
    numbers, count = as_splits(chosen), int(num_partitions)
    if (numbers < 0).any() or (numbers >= count).any():
        raise InvalidArgumentError(
            None, None, f"partitions must be from 0 to {count - 1}, got {numbers}"
        )
    order = np.argsort(numbers, kind="stable")
    return RaggedTensor.from_value_rowids(take_rows(data, order), numbers[order], count)


def cross(inputs: Any, name: str | None = None) -> Any:
    """Return all combinations of the values in each row, as strings joined by ``_X_``.

    Parameters
    ----------
    inputs : list of RaggedTensor, Tensor and SparseTensor
        Inputs with two axes each, and the same number of rows.
    name : str, optional
        A label without effect.

    Returns
    -------
    RaggedTensor
        The strings.

    Examples
    --------
    >>> import penstock.compat.tf as tf
    >>> tf.ragged.cross([tf.ragged.constant([["a"], ["b", "c"]]), [["d"], ["e"]]])
    <tf.RaggedTensor [[b'a_X_d'], [b'b_X_e', b'c_X_e']]>
    """
    columns = [_texts(value) for value in inputs]
    crossed: list[list[bytes]] = []
    for row in zip(*columns, strict=True):
        made = row[0]
        for values in row[1:]:
            made = [a + b"_X_" + b for a in made for b in values]
        crossed.append(made)
    flat = tensor([text for row in crossed for text in row], "string")
    return RaggedTensor.from_row_lengths(flat, [len(row) for row in crossed])


def _texts(value: Any) -> list[list[bytes]]:
    if hasattr(value, "dense_shape"):
        value = RaggedTensor.from_value_rowids(
            value.values, value.indices[:, 0], int(value.dense_shape[0])
        )
    rows = value.to_list() if is_ragged(value) else tensor(value).tolist()
    return [[v if isinstance(v, bytes) else str(v).encode() for v in row] for row in rows]
