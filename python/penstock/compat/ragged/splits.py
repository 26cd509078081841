"""Arithmetic of row splits, and selection of rows and axes by number."""

from __future__ import annotations

from typing import Any

import numpy as np

from penstock.compat.composite import Composite


class Rows(Composite):
    """Base class of `RaggedTensor`, which the functions here can refer to."""

    __slots__ = ()


def as_splits(splits: Any, dtype: Any = None) -> np.ndarray[Any, Any]:
    """Return row splits as an array of int64, or of int32 if they have that type."""
    array = np.asarray(splits)
    if dtype is None:
        dtype = np.int32 if array.dtype == np.int32 else np.int64
    made: np.ndarray[Any, Any] = array.astype(dtype, copy=False)
    return made


def splits_of(lengths: Any, dtype: Any = None) -> np.ndarray[Any, Any]:
    """Return the row splits for rows of these lengths."""
    lengths = as_splits(lengths, dtype)
    splits = np.zeros(len(lengths) + 1, lengths.dtype)
    np.cumsum(lengths, out=splits[1:])
    return splits


def row_ids(splits: np.ndarray[Any, Any]) -> np.ndarray[Any, Any]:
    """Return the row of each value."""
    return np.repeat(np.arange(len(splits) - 1, dtype=splits.dtype), np.diff(splits))


def ranges(starts: Any, lengths: Any, step: int = 1) -> np.ndarray[Any, Any]:
    """Return the concatenated numbers of several ranges."""
    splits = splits_of(lengths)
    numbers = np.arange(splits[-1], dtype=np.int64)
    numbers -= np.repeat(splits[:-1], lengths)
    numbers *= step
    numbers += np.repeat(np.asarray(starts), lengths)
    return numbers


def is_ragged(value: Any) -> bool:
    """Return whether values have rows of different lengths."""
    return isinstance(value, Rows)


def count_rows(values: Any) -> int:
    """Return the size of the first axis."""
    return int(values.nrows()) if is_ragged(values) else len(values)


def axis_number(axis: Any, axes: int) -> int:
    """Return the number of an axis; negative ones count from the last.

    Raises
    ------
    ValueError
        If the axis does not exist.
    """
    number = int(axis)
    if not -axes <= number < axes:
        raise ValueError(f"axis={number} out of bounds: expected {-axes}<=axis<{axes}")
    return number % axes


def take_rows(values: Any, numbers: np.ndarray[Any, Any]) -> Any:
    """Return rows of an array or ragged tensor by number."""
    if not is_ragged(values):
        return values[numbers]
    starts, lengths = values.starts_and_lengths()
    lengths = lengths[numbers]
    inner = take_rows(values.values, ranges(starts[numbers], lengths))
    return values.with_partition(inner, splits_of(lengths))
