"""Indexing of ragged tensors, ``ragged[...]``: rows, columns, slices and new axes."""

from __future__ import annotations

import operator
from typing import Any

import numpy as np

from penstock.compat.ragged.splits import count_rows, is_ragged, ranges, splits_of, take_rows

_ALL = slice(None)


def item(ragged: Any, key: Any) -> Any:
    """Return ``ragged[key]``.

    Parameters
    ----------
    ragged : RaggedTensor
        The ragged tensor.
    key : int, slice, Ellipsis, None, or a tuple of them
        A key for each axis, from the first on. An int requires an axis with uniform row lengths.

    Returns
    -------
    RaggedTensor or Tensor
        The selected values.

    Raises
    ------
    IndexError
        If a row does not exist, or there are more keys than axes.
    ValueError
        If the key is an int for an axis whose rows differ in length.
    """
    keys = list(key) if isinstance(key, (list, tuple)) else [key]
    return _rows(ragged, _without_ellipsis(keys, len(ragged.shape)))


def _without_ellipsis(keys: list[Any], axes: int) -> list[Any]:
    used = sum(key is not None and key is not Ellipsis for key in keys)
    if used > axes:
        raise IndexError("Too many indices for RaggedTensor")
    made: list[Any] = []
    for key in keys:
        made += [_ALL] * (axes - used) if key is Ellipsis else [key]
    return made


def _rows(ragged: Any, keys: list[Any]) -> Any:
    if not keys:
        return ragged
    if not is_ragged(ragged):
        return ragged[tuple(keys)]
    key, *others = keys
    if key is None:
        inner = _rows(ragged, others)
        rows = count_rows(inner)
        return ragged.with_partition(inner, np.array([0, rows]), rows)
    if isinstance(key, slice):
        return _columns(ragged if key == _ALL else _slice(ragged, key), others)
    starts, lengths = ragged.starts_and_lengths()
    number = operator.index(key)
    if not -len(starts) <= number < len(starts):
        raise IndexError(f"Row key {number} out of bounds")
    start = int(starts[number])
    return _rows(part(ragged.values, start, start + int(lengths[number])), others)


def _slice(ragged: Any, key: slice) -> Any:
    starts, _ = ragged.starts_and_lengths()
    first, limit, step = key.indices(len(starts))
    if step == 1:
        return part(ragged, first, max(first, limit))
    return take_rows(ragged, np.arange(first, limit, step))


def part(values: Any, first: int, limit: int) -> Any:
    """Return a range of rows of an array or ragged tensor."""
    if not is_ragged(values):
        return values[first:limit]
    splits = np.asarray(values.row_splits)[first : limit + 1]
    inner = part(values.values, int(splits[0]), int(splits[-1]))
    return values.with_partition(inner, splits - splits[0], values.uniform)


def _columns(ragged: Any, keys: list[Any]) -> Any:
    """Apply keys to the axes after the first one."""
    if not keys:
        return ragged
    if not is_ragged(ragged):
        return ragged[(_ALL, *keys)]
    key, *others = keys
    starts, _ = ragged.starts_and_lengths()
    if key is None:
        return ragged.with_partition(_columns(ragged, others), np.arange(len(starts) + 1), 1)
    uniform = ragged.uniform
    if isinstance(key, slice):
        if key != _ALL:
            ragged = _slice_columns(ragged, key)
        return ragged.with_values(_columns(ragged.values, others))
    if uniform is None:
        raise ValueError("Cannot index into an inner ragged dimension.")
    number = operator.index(key)
    if not -uniform <= number < uniform:
        raise IndexError(f"index {number} out of bounds: the rows have length {uniform}")
    return _columns(take_rows(ragged.values, starts + number % uniform), others)


def _slice_columns(ragged: Any, key: slice) -> Any:
    """Slice each row, by Python's rules for its length."""
    starts, lengths = ragged.starts_and_lengths()
    step = 1 if key.step is None else operator.index(key.step)
    if step == 0:
        raise ValueError("slice step cannot be zero")
    low, high = (np.zeros_like(lengths), lengths) if step > 0 else (lengths * 0 - 1, lengths - 1)
    begin = _bound(key.start, low if step > 0 else high, low, high, lengths)
    end = _bound(key.stop, high if step > 0 else low, low, high, lengths)
    counts = np.maximum(-((begin - end) // step), 0)
    uniform = ragged.uniform
    if uniform is not None:
        uniform = len(range(*key.indices(uniform)))
    inner = take_rows(ragged.values, ranges(starts + begin, counts, step))
    return ragged.with_partition(inner, splits_of(counts), uniform)


def _bound(given: Any, default: Any, low: Any, high: Any, lengths: Any) -> Any:
    if given is None:
        return default
    number = operator.index(given)
    return np.clip(number + lengths if number < 0 else lengths * 0 + number, low, high)
