"""tf's array functions for ragged tensors: joining, splitting, selecting, reshaping.

Each takes the function for arrays, followed by that function's arguments.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from penstock.compat.errors import InvalidArgumentError
from penstock.compat.ragged.broadcast import broadcast, map_flat_values
from penstock.compat.ragged.shape import DynamicRaggedShape
from penstock.compat.ragged.splits import axis_number, count_rows, is_ragged, splits_of, take_rows
from penstock.compat.ragged.tensor import RaggedTensor, concatenated
from penstock.compat.tensor import in_one_type, tensor


def as_tensor(value: Any, dtype: Any = None) -> Any:
    """Return a value as a tensor, unless it is ragged."""
    return value if is_ragged(value) else tensor(value, dtype)


def same_type(values: Sequence[Any]) -> list[Any]:
    """Return values as tensors, with lists and numbers in the type of the first tensor."""
    typed = in_one_type([value.flat_values if is_ragged(value) else value for value in values])
    return [value if is_ragged(value) else made for value, made in zip(values, typed, strict=True)]


def concat(function: Any, values: Any, axis: Any, name: Any = None) -> Any:
    """Concatenate values along an axis."""
    return _combined(values, axis, stacks=False)


def stack(function: Any, values: Any, axis: Any = 0, name: Any = None) -> Any:
    """Stack values along a new axis."""
    return _combined(values, axis, stacks=True)


def _combined(values: Any, axis: Any, stacks: bool) -> Any:
    values = list(values) if isinstance(values, (list, tuple)) else [values]
    values = same_type(values)
    if len(values) == 1 and not stacks:
        return values[0]
    axes = {len(value.shape) for value in values}
    if len(axes) != 1:
        raise ValueError(f"values must have the same number of axes, got {sorted(axes)}")
    (inner,) = axes
    outer = inner + stacks
    axis = axis_number(axis, outer)
    if stacks and inner == 1 and axis == 0:
        return RaggedTensor.stacked(values)
    if not any(map(is_ragged, values)) and axis in (outer - 1, inner - 1):
        arrays = [np.asarray(value) for value in values]
        return tensor((np.stack if stacks else np.concatenate)(arrays, axis))
    ranks = [value.ragged_rank if is_ragged(value) else 1 for value in values]
    values = [_of_rank(value, max(ranks)) for value in values]
    if axis == 0:
        return RaggedTensor.stacked(values) if stacks else concatenated(values)
    if axis > 1:
        made = _combined([value.values for value in values], axis - 1, stacks)
        if any(not np.array_equal(values[0].row_splits, v.row_splits) for v in values):
            raise InvalidArgumentError(None, None, "Inputs must have identical ragged splits")
        return values[0].with_values(made)
    rows, count = count_rows(values[0]), len(values)
    if any(count_rows(value) != rows for value in values):
        raise InvalidArgumentError(None, None, "Input tensors have incompatible shapes.")
    by_row = np.arange(rows * count).reshape(count, rows).T.reshape(-1)
    mixed = take_rows(concatenated(values), by_row)
    if stacks:
        return RaggedTensor.from_uniform_row_length(mixed, count, rows)
    return mixed.with_partition(mixed.values, np.asarray(mixed.row_splits)[::count])


def _of_rank(value: Any, rank: int) -> Any:
    """Return a value with at least `rank` ragged axes."""
    if rank == 0:
        return value
    if not is_ragged(value):
        value = RaggedTensor.from_tensor(value)
    return (
        value.with_values(_of_rank(value.values, rank - 1)) if value.ragged_rank < rank else value
    )


def gather(
    function: Any,
    params: Any,
    indices: Any,
    validate_indices: Any = None,
    axis: Any = None,
    batch_dims: int = 0,
    name: Any = None,
) -> Any:
    """Return the rows with the given numbers along an axis."""
    params, indices = as_tensor(params), as_tensor(indices)
    batch_dims = int(batch_dims) % max(len(indices.shape) + (batch_dims >= 0), 1)
    axes = len(params.shape)
    axis = batch_dims if axis is None else int(axis) % axes
    if not batch_dims <= axis < axes:
        raise ValueError(f"gather: axis {axis} must be from {batch_dims} to {axes - 1}")
    return _gathered(params, indices, axis, batch_dims)


def _gathered(params: Any, indices: Any, axis: int, batch_dims: int) -> Any:
    if batch_dims > 1:
        params, indices = _of_rank(params, 1), _of_rank(indices, 1)
        return indices.with_values(
            _gathered(params.values, indices.values, axis - 1, batch_dims - 1)
        )
    if axis > 1 and not batch_dims:
        params = _of_rank(params, 1)
        return params.with_values(_gathered(params.values, indices, axis - 1, 0))
    if axis == 0:
        return _rows_at(params, indices)
    # Merge the axis with the one before it, and renumber the rows.
    params = _of_rank(params, 1)
    starts, lengths = params.starts_and_lengths()
    extra = (1,) * (len(indices.shape) - (1 if batch_dims else 0))
    first = tensor(starts.astype(indices.dtype)).reshape(-1, *extra)
    if not batch_dims:
        _check_numbers(indices, int(lengths.min(initial=np.iinfo(lengths.dtype).max)))
    return _gathered(params.values, indices + first, axis - 1, 0)


def _rows_at(params: Any, indices: Any) -> Any:
    if is_ragged(indices):
        return indices.with_values(_rows_at(params, indices.values))
    _check_numbers(indices, count_rows(params))
    made = take_rows(params, np.asarray(indices).reshape(-1))
    if not is_ragged(params):
        return made.reshape(*indices.shape, *params.shape[1:])
    if not indices.ndim:
        return made[0]
    for axis in range(indices.ndim - 1, 0, -1):
        rows = int(np.prod(indices.shape[:axis]))
        made = RaggedTensor.from_uniform_row_length(made, indices.shape[axis], rows)
    return made


def _check_numbers(indices: Any, limit: int) -> None:
    numbers = np.asarray(indices.flat_values if is_ragged(indices) else indices)
    wrong = numbers[(numbers < 0) | (numbers >= limit)]
    if wrong.size:
        raise InvalidArgumentError(
            None, None, f"gather: indices must be in [0, {limit}), got {wrong.flat[0]}"
        )


def expand_dims(function: Any, input: Any, axis: Any, name: Any = None) -> Any:
    """Add an axis of size 1."""
    axis = axis_number(axis, len(input.shape) + 1)
    if not is_ragged(input):
        return tensor(np.expand_dims(input, axis))
    if axis == 0:
        return RaggedTensor.from_uniform_row_length(input, count_rows(input), 1)
    if axis == 1:
        return RaggedTensor.from_uniform_row_length(input, 1, count_rows(input))
    return input.with_values(expand_dims(function, input.values, axis - 1))


def squeeze(function: Any, input: Any, axis: Any = None, name: Any = None) -> Any:
    """Remove axes of size 1."""
    if axis is None:
        raise ValueError("Ragged.squeeze must have an axis argument.")
    axes = {input.axis_of(a) for a in np.ravel(axis)}
    rank = input.ragged_rank
    sizes = [np.array([count_rows(input)]), *map(np.asarray, input.nested_row_lengths())]
    for each, size in enumerate(sizes):
        if each in axes and (size != 1).any():
            raise InvalidArgumentError(
                None, None, f"the given axis (axis = {each}) is not squeezable!"
            )
    flat = input.flat_values
    dense = tuple(each - rank for each in axes if each > rank)
    if dense:
        flat = tensor(np.squeeze(flat, dense))
    kept = [s for i, s in enumerate(input.nested_row_splits, 1) if i not in axes]
    if 0 in axes and kept:
        kept = kept[1:]
    made = RaggedTensor.from_nested_row_splits(flat, kept)
    return tensor(np.squeeze(made, 0)) if set(range(rank + 1)) <= axes else made


def tile(function: Any, input: Any, multiples: Any, name: Any = None) -> Any:
    """Repeat the values along each axis."""
    for axis, count in enumerate(np.asarray(multiples).tolist()):
        if count != 1:
            input = (
                concat(None, [input] * count, axis)
                if count
                else input[(*[slice(None)] * axis, slice(0))]
            )
    return input


def reverse(function: Any, tensor: Any, axis: Any, name: Any = None) -> Any:
    """Reverse the order along some axes."""
    axes = {tensor.axis_of(a) for a in np.asarray(axis).tolist()}
    return tensor[
        tuple(
            slice(None, None, -1 if i in axes else None) for i in range(max(axes, default=-1) + 1)
        )
    ]


def split(
    function: Any,
    value: Any,
    num_or_size_splits: Any,
    axis: Any = 0,
    num: Any = None,
    name: Any = None,
) -> list[Any]:
    """Split along an axis of uniform size."""
    axis = value.axis_of(axis)
    length = value.shape[axis]
    if length is None:
        raise ValueError(f"split: axis {axis} is ragged; one of a single size was expected")
    sizes = np.asarray(num_or_size_splits).tolist()
    if not isinstance(sizes, list):
        if length % sizes:
            raise InvalidArgumentError(
                None, None, f"split: {length} rows are not {sizes} equal parts"
            )
        sizes = [length // sizes] * sizes
    sizes = [length - sum(s for s in sizes if s >= 0) if size < 0 else size for size in sizes]
    if sum(sizes) != length:
        raise InvalidArgumentError(None, None, f"split: {length} rows cannot be cut into {sizes}")
    limits = splits_of(sizes).tolist()
    outer = (slice(None),) * axis
    return [value[(*outer, slice(a, b))] for a, b in itertools.pairwise(limits)]


def boolean_mask(
    function: Any,
    tensor: Any = None,
    mask: Any = None,
    axis: Any = None,
    name: Any = None,
    data: Any = None,
) -> Any:
    """Return the values where a mask is True, in their original rows."""
    data, mask = as_tensor(data if tensor is None else tensor), as_tensor(mask)
    if not len(mask.shape):
        raise ValueError("mask cannot be scalar.")
    if not is_ragged(mask):
        if len(mask.shape) == 1:
            return take_rows(data, np.flatnonzero(mask))
        deep = data.ragged_rank if is_ragged(data) else len(mask.shape) - 1
        mask = RaggedTensor.from_tensor(mask, ragged_rank=min(deep, len(mask.shape) - 1))
    if not is_ragged(data):
        data = RaggedTensor.from_tensor(data, ragged_rank=mask.ragged_rank)
    if not np.array_equal(mask.row_splits, data.row_splits):
        raise InvalidArgumentError(
            None, None, "boolean_mask: data and mask must have the same rows"
        )
    inner = boolean_mask(function, data.values, mask.values)
    if len(mask.shape) > 2:
        return mask.with_partition(inner, mask.row_splits, mask.uniform)
    counts = np.add.reduceat(
        np.append(np.asarray(mask.values), 0), np.asarray(mask.row_splits)[:-1]
    )
    counts[np.asarray(mask.row_lengths()) == 0] = 0
    return mask.with_partition(inner, splits_of(counts))


def where(function: Any, condition: Any, x: Any = None, y: Any = None, name: Any = None) -> Any:
    """Return `x` where the condition is true, else `y`; or the indices of true values."""
    if (x is None) != (y is None):
        raise ValueError("x and y must be either both None or both non-None")
    if x is not None:
        return map_flat_values(function, *broadcast([as_tensor(condition), *same_type([x, y])]))
    found = function(condition.flat_values)
    outer = [tensor(numbers)[found[:, 0]] for numbers in condition.coordinates()]
    return tensor(np.concatenate([np.stack(outer, axis=1), found[:, 1:]], axis=1))


def one_hot(
    function: Any,
    indices: Any,
    depth: Any,
    on_value: Any = None,
    off_value: Any = None,
    axis: Any = None,
    dtype: Any = None,
    name: Any = None,
) -> Any:
    """Return a one-hot row for each number."""
    if axis is not None and axis >= 0:
        if axis <= indices.ragged_rank:
            raise ValueError(
                f"axis ({axis}) must be greater than indices.ragged_rank ({indices.ragged_rank})."
            )
        axis -= indices.ragged_rank
    given = {"on_value": on_value, "off_value": off_value, "axis": axis, "dtype": dtype}
    given = {name: value for name, value in given.items() if value is not None}
    return indices.with_flat_values(function(indices.flat_values, depth, **given))


def size(function: Any, input: Any, out_type: Any = np.int32, name: Any = None) -> Any:
    """Return the number of values."""
    return function(input.flat_values, out_type)


def rank(function: Any, input: Any, name: Any = None) -> Any:
    """Return the number of axes."""
    return tensor(len(input.shape), np.int32)


def shape(function: Any, input: Any, out_type: Any = np.int32, name: Any = None) -> Any:
    """Return the sizes of the axes and the lengths of rows."""
    return DynamicRaggedShape.from_tensor(input, out_type)


def reshape(function: Any, tensor: Any, shape: Any, name: Any = None) -> Any:
    """Return the values as an array of a given shape."""
    return function(tensor.flat_values, shape)


def identity(function: Any, *args: Any, **kwargs: Any) -> Any:
    """Return the ragged tensor itself."""
    return next(value for value in (*args, *kwargs.values()) if is_ragged(value))


def is_tensor(function: Any, x: Any) -> bool:
    """Return True: a ragged tensor is a tensor."""
    return True


def map_fn(
    function: Any,
    fn: Callable[[Any], Any],
    elems: Any,
    dtype: Any = None,
    fn_output_signature: Any = None,
    **ignored: Any,
) -> Any:
    """Apply a function to each row, and stack the results."""
    wanted = dtype if fn_output_signature is None else fn_output_signature
    made = [fn(row) for row in elems]
    if hasattr(wanted, "value_type"):
        return RaggedTensor.stacked(made)
    return tensor(np.stack([np.asarray(tensor(row)) for row in made]))


def add_n(function: Any, inputs: Sequence[Any], name: Any = None) -> Any:
    """Return the sum of several ragged tensors with the same rows."""
    return map_flat_values(function, list(inputs))


def join(function: Any, inputs: Sequence[Any], separator: Any = "", name: Any = None) -> Any:
    """Join corresponding strings."""
    operands = broadcast([as_tensor(value) for value in inputs])
    return map_flat_values(function, operands, separator)
