"""Reductions of ragged tensors along axes."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from penstock.compat.dtypes import as_dtype, zero_of
from penstock.compat.ragged.arrays import expand_dims
from penstock.compat.ragged.splits import (
    count_rows,
    is_ragged,
    ranges,
    row_ids,
    splits_of,
)
from penstock.compat.ragged.tensor import RaggedTensor
from penstock.compat.tensor import tensor

_Aggregate = Callable[[Any, Any, int], Any]


def _of_ufunc(ufunc: np.ufunc, initial: Callable[[Any], Any]) -> _Aggregate:
    """Return a function of values, segment numbers and the number of segments."""

    def aggregate(values: Any, segments: Any, count: int) -> Any:
        values = np.asarray(values)
        made = np.full((count, *values.shape[1:]), initial(values.dtype), values.dtype)
        ufunc.at(made, segments, values)
        return tensor(made)

    return aggregate


def _joiner(separator: bytes) -> _Aggregate:
    def aggregate(values: Any, segments: Any, count: int) -> Any:
        values = np.asarray(values)
        made = np.empty((count, *values.shape[1:]), object)
        for inner in np.ndindex(values.shape[1:]):
            rows: list[list[bytes]] = [[] for _ in range(count)]
            for value, segment in zip(values[(slice(None), *inner)], segments, strict=True):
                rows[segment].append(value)
            made[(slice(None), *inner)] = [separator.join(row) for row in rows]
        return tensor(made)

    return aggregate


_AGGREGATES = {
    "reduce_sum": _of_ufunc(np.add, lambda dtype: 0),
    "reduce_prod": _of_ufunc(np.multiply, lambda dtype: 1),
    "reduce_max": _of_ufunc(np.maximum, lambda dtype: as_dtype(dtype).min),
    "reduce_min": _of_ufunc(np.minimum, lambda dtype: as_dtype(dtype).max),
    "reduce_any": _of_ufunc(np.logical_or, lambda dtype: False),
    "reduce_all": _of_ufunc(np.logical_and, lambda dtype: True),
}


def _by_segment(aggregate: _Aggregate, values: Any, segments: Any, count: int) -> Any:
    """Aggregate rows; ragged rows are aggregated element-wise, to the length of the longest one."""
    if not is_ragged(values):
        return aggregate(values, segments, count)
    _, lengths = values.starts_and_lengths()
    longest = np.zeros(count, lengths.dtype)
    np.maximum.at(longest, segments, lengths)
    splits = splits_of(longest)
    inner = _by_segment(
        aggregate, values.values, ranges(splits[:-1][segments], lengths), int(splits[-1])
    )
    return values.with_partition(inner, splits)


def _reduced(
    aggregate: _Aggregate, function: Callable[..., Any], value: Any, axis: Any, keepdims: bool
) -> Any:
    if not is_ragged(value):
        return function(value, axis, keepdims=keepdims)
    axes = len(value.shape)
    if axis is None:
        made = function(value.flat_values, None, keepdims=keepdims)
        return made.reshape((1,) * axes) if keepdims else made
    if np.ndim(axis):
        for each in sorted((value.axis_of(a) for a in axis), reverse=True):
            value = _reduced(aggregate, function, value, each, keepdims)
        return value
    axis = value.axis_of(axis)
    if axis > 1:
        inner = _reduced(aggregate, function, value.values, axis - 1, keepdims)
        return value.with_values(inner)
    _, lengths = value.starts_and_lengths()
    if axis == 0:
        count = int(lengths.max(initial=0))
        segments = ranges(lengths * 0, lengths)
    else:
        count, segments = count_rows(value), row_ids(np.asarray(value.row_splits))
    made = _by_segment(aggregate, value.values, segments, count)
    return expand_dims(None, made, axis) if keepdims else made


def reducer(name: str) -> Callable[..., Any]:
    """Return the version of a reduction for ragged tensors.

    Parameters
    ----------
    name : str
        Name of the reduction, such as "reduce_sum".

    Returns
    -------
    callable
        Takes the function for arrays, followed by that function's arguments.
    """
    aggregate = _AGGREGATES[name]

    def reduce(
        function: Any, input_tensor: Any, axis: Any = None, keepdims: bool = False, name: Any = None
    ) -> Any:
        return _reduced(aggregate, function, input_tensor, axis, keepdims or False)

    return reduce


def _sum(value: Any, axis: Any, keepdims: bool) -> Any:
    def dense(value: Any, axis: Any, keepdims: bool) -> Any:
        axis = tuple(axis) if np.ndim(axis) else axis
        return tensor(np.sum(np.asarray(value), axis, value.dtype, keepdims=keepdims))

    return _reduced(_AGGREGATES["reduce_sum"], dense, value, axis, keepdims)


def reduce_mean(
    function: Any, input_tensor: Any, axis: Any = None, keepdims: bool = False, name: Any = None
) -> Any:
    """Return the mean of values along axes, or of all values."""
    ones = input_tensor.with_flat_values(np.ones_like(input_tensor.flat_values))
    with np.errstate(divide="ignore", invalid="ignore"):
        return _sum(input_tensor, axis, keepdims) / _sum(ones, axis, keepdims)


def reduce_variance(
    function: Any, input_tensor: Any, axis: Any = None, keepdims: bool = False, name: Any = None
) -> Any:
    """Return the variance of values along axes, or of all values."""
    squares = reduce_mean(None, input_tensor * input_tensor, axis, keepdims)
    mean = reduce_mean(None, input_tensor, axis, keepdims)
    return _flat(lambda x: tensor(np.maximum(x, 0).astype(x.dtype)), squares - mean * mean)


def reduce_std(
    function: Any, input_tensor: Any, axis: Any = None, keepdims: bool = False, name: Any = None
) -> Any:
    """Return the standard deviation of values along axes, or of all values."""
    return _flat(np.sqrt, reduce_variance(None, input_tensor, axis, keepdims))


def _flat(function: Callable[[Any], Any], value: Any) -> Any:
    if is_ragged(value):
        return value.with_flat_values(function(value.flat_values))
    return tensor(function(value))


def count_nonzero(
    function: Any,
    input: Any,
    axis: Any = None,
    keepdims: bool = False,
    dtype: Any = np.int64,
    name: Any = None,
) -> Any:
    """Return the number of non-zero values along axes, or of all values."""
    flat = input.flat_values
    there = tensor(flat != zero_of(flat.dtype), dtype)
    return _sum(input.with_flat_values(there), axis, keepdims)


def reduce_join(
    function: Any,
    inputs: Any,
    axis: Any = None,
    keepdims: bool = False,
    separator: Any = "",
    name: Any = None,
) -> Any:
    """Join the strings along axes, or all strings."""
    text = tensor(separator).item()

    def dense(value: Any, axis: Any, keepdims: bool) -> Any:
        return function(value, axis, keepdims=keepdims, separator=separator)

    return _reduced(_joiner(text), dense, inputs, axis, keepdims)


def cumsum(
    function: Any,
    x: RaggedTensor,
    axis: int = 0,
    exclusive: bool = False,
    reverse: bool = False,
    name: Any = None,
) -> Any:
    """Return cumulative sums along an axis."""
    axis = x.axis_of(axis)
    if axis > x.ragged_rank:
        options = {"exclusive": exclusive, "reverse": reverse}
        return x.with_flat_values(function(x.flat_values, axis - x.ragged_rank, **options))
    if axis < x.ragged_rank:
        made = function(x.to_tensor(), axis, exclusive=exclusive, reverse=reverse)
        return RaggedTensor.from_tensor(made, lengths=x.nested_row_lengths())
    if axis > 1:
        return x.with_values(cumsum(function, x.values, axis - 1, exclusive, reverse))
    flat = np.asarray(x.values)
    step = -1 if reverse else 1
    rows = [flat[a:b][::step] for a, b in zip(x.row_starts(), x.row_limits(), strict=True)]
    sums = [np.cumsum(r, 0, r.dtype) - (r if exclusive else 0) for r in rows]
    return x.with_values(np.concatenate([*(each[::step] for each in sums), flat[:0]]))
