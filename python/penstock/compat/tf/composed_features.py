"""tf.io.RaggedFeature and SparseFeature: features that consist of several parts of an example."""

from __future__ import annotations

import functools
from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

import numpy as np

from penstock.compat.listing import listing
from penstock.compat.ragged import RaggedTensor
from penstock.compat.ragged.factories import stack
from penstock.compat.sparse import SparseTensor
from penstock.compat.tensor import array, tensor
from penstock.ops import io as _io


class _Partition(NamedTuple):
    """Division of values into rows, by the numbers stored under a key of an example."""

    key: str


class _ValueRowIds(_Partition):
    """The row of each value."""

    __slots__ = ()
    method = "from_value_rowids"


class _RowSplits(_Partition):
    """The start of each row, and the end of the last one."""

    __slots__ = ()
    method = "from_row_splits"


class _RowLengths(_Partition):
    """The length of each row."""

    __slots__ = ()
    method = "from_row_lengths"


class _RowStarts(_Partition):
    """The start of each row."""

    __slots__ = ()
    method = "from_row_starts"


class _RowLimits(_Partition):
    """The end of each row."""

    __slots__ = ()
    method = "from_row_limits"


class _UniformRowLength(NamedTuple):
    """The length of all rows, which is not stored in examples."""

    length: int


class RaggedFeature(_io.RaggedFeature):
    """A feature with any number of values, which other features divide into rows.

    Parameters
    ----------
    dtype : dtype-like
        float32, int64 or string.
    value_key : str, optional
        The key of the values; by default, the name of the feature.
    partitions : sequence
        The partitions, outermost first: `RaggedFeature.RowSplits` and others.
    row_splits_dtype : dtype-like
        The type of the row splits.
    validate : bool
        Accepted; row splits are always checked.
    """

    __slots__ = ()
    ValueRowIds = _ValueRowIds
    RowSplits = _RowSplits
    RowLengths = _RowLengths
    RowStarts = _RowStarts
    RowLimits = _RowLimits
    UniformRowLength = _UniformRowLength


class SparseFeature(NamedTuple):
    """A feature for a sparse tensor, whose indices and values are stored under keys of examples.

    Parameters
    ----------
    index_key : str or sequence of str
        The key of the indices along each axis.
    value_key : str
        The key of the values.
    dtype : dtype-like
        The type of the values.
    size : int or sequence of int
        The size of each axis.
    already_sorted : bool
        Whether the indices are sorted.
    """

    index_key: Any
    value_key: str
    dtype: Any
    size: Any
    already_sorted: bool = False


def expanded(features: Mapping[str, Any]) -> dict[str, Any]:
    """Return features with composed ones replaced by their parts."""
    asked: dict[str, Any] = {}
    for name, feature in features.items():
        asked |= _parts(name, feature) if _is_composed(feature) else {name: feature}
    return asked


def composed(parsed: dict[str, Any], features: Mapping[str, Any], single: bool) -> dict[str, Any]:
    """Return the parsed features, with composed ones assembled from their parts.

    Parameters
    ----------
    parsed : dict
        The parsed features of `expanded`.
    features : mapping
        The requested features.
    single : bool
        Whether a single example was parsed.
    """
    sparse: dict[str, Any] = {}
    ragged: dict[str, Any] = {}
    for name, feature in sorted(features.items()):
        if _is_composed(feature):
            of = functools.partial(_part, parsed, name)
            if isinstance(feature, SparseFeature):
                sparse[name] = _sparse(feature, of, single)
            else:
                ragged[name] = _divided(feature, name, of) if single else _rows(feature, name, of)
    plain = {name: value for name, value in parsed.items() if name in features}
    return {**sparse, **plain, **ragged}


def _is_composed(feature: Any) -> bool:
    ragged = isinstance(feature, _io.RaggedFeature) and len(feature.partitions) > 0
    return ragged or isinstance(feature, SparseFeature)


def _parts(name: str, feature: Any) -> dict[str, Any]:
    keys = {feature.value_key or name: feature.dtype}
    if isinstance(feature, SparseFeature):
        keys |= dict.fromkeys(_index_keys(feature), np.int64)
    else:
        partitions = [each for each in feature.partitions if isinstance(each, _Partition)]
        keys |= {each.key: np.int64 for each in partitions}
    return {f"{name}\0{key}": _io.RaggedFeature(dtype, key) for key, dtype in keys.items()}


def _part(parsed: dict[str, Any], name: str, key: str) -> Any:
    return parsed[f"{name}\0{key}"]


def _index_keys(feature: SparseFeature) -> list[str]:
    return [feature.index_key] if isinstance(feature.index_key, str) else list(feature.index_key)


def _rows(feature: Any, name: str, of: Callable[[str], Any]) -> Any:
    """Return the feature of each example, concatenated."""
    count = int(of(feature.value_key or name).nrows())
    each = [functools.partial(_row, of, number) for number in range(count)]
    return stack([_divided(feature, name, of_row) for of_row in each])


def _row(of: Callable[[str], Any], number: int, key: str) -> Any:
    return of(key)[number]


def _divided(feature: Any, name: str, of: Callable[[str], Any]) -> Any:
    made = of(feature.value_key or name)
    for partition in reversed(feature.partitions):
        if isinstance(partition, _UniformRowLength) and not isinstance(made, RaggedTensor):
            made = tensor(array(made).reshape(-1, partition.length, *made.shape[1:]))
        elif isinstance(partition, _UniformRowLength):
            made = RaggedTensor.from_uniform_row_length(made, partition.length)
        else:
            numbers = tensor(of(partition.key), feature.row_splits_dtype)
            made = getattr(RaggedTensor, partition.method)(made, numbers)
    return made


def _sparse(feature: SparseFeature, of: Callable[[str], Any], single: bool) -> SparseTensor:
    sizes = np.atleast_1d(array(feature.size)).tolist()
    columns = [of(key) for key in _index_keys(feature)]
    values = of(feature.value_key)
    if not single:
        lengths = array(values.row_lengths())
        sizes = [len(lengths), *sizes]
        columns = [np.repeat(np.arange(len(lengths)), lengths), *(each.values for each in columns)]
        values = values.values
    indices = np.stack([array(column) for column in columns], -1)
    if not feature.already_sorted:
        order = np.lexsort(indices.T[::-1])
        indices, values = indices[order], array(values)[order]
    return SparseTensor(indices, values, sizes)


__dir__ = listing(globals())
