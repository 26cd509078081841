"""Conversion of nested Arrow columns to forms with NumPy arrays as leaves."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

import numpy as np


def known_type(pa: Any, kinds: Iterable[Any], null_value: Any = None) -> Any:
    """Return the type of a column from its types in several files or chunks.

    In a file, a column has the type null if all its values are missing, and the type list of null
    if all its lists are empty. Another file then determines the type.

    Parameters
    ----------
    pa : module
        pyarrow.
    kinds : iterable of pyarrow.DataType
        The types, in the order of the files.
    null_value : object, optional
        Replacement for missing values. If all values are missing, its type is the column's type.
    """
    first, *others = kinds
    for other in others:
        first = _either(pa, first, other)
    if pa.types.is_null(first) and null_value is not None:
        return pa.scalar(null_value).type
    return _without_null_items(pa, first)


def with_type(pa: Any, array: Any, kind: Any) -> Any:
    """Cast an array to a type that differs only in parts whose type is null."""
    if array.type == kind or not _has_null(pa, array.type):
        return array
    if not pa.types.is_struct(array.type):
        return array.cast(kind)
    fields = [kind.field(i) for i in range(kind.num_fields)]
    parts = [with_type(pa, array.field(i), field.type) for i, field in enumerate(fields)]
    return pa.StructArray.from_arrays(parts, fields=fields, mask=_mask(array))


def rearranged(pa: Any, array: Any) -> Any:
    """Return an array whose lists contain no lists and no structs.

    A list of structs becomes a struct of lists, and a map becomes a struct of the lists ``key`` and
    ``value``. A list of lists becomes a struct of its ``values``, in one list, and its
    ``row_splits``. Decimals become float64. Times with a zone become UTC without a zone. In a
    struct of ``bytes`` and ``path``, Hugging Face's form for images and audio, missing values
    become empty.
    """
    kind = array.type
    if pa.types.is_decimal(kind):
        return array.cast(pa.float64())
    if pa.types.is_timestamp(kind) and kind.tz is not None:
        return array.cast(pa.timestamp(kind.unit))
    if pa.types.is_map(kind):
        names = ["key", "value"]
        pairs = pa.StructArray.from_arrays([array.keys, array.items], names=names)
        return rearranged(pa, _lists(pa, array.offsets, pairs, _mask(array)))
    if pa.types.is_struct(kind):
        return _struct(pa, array)
    if not _is_list(pa, kind):
        return array
    inner, mask = kind.value_type, _mask(array)
    if pa.types.is_struct(inner):
        fields = [inner.field(i).name for i in range(inner.num_fields)]
        lists = [_lists(pa, array.offsets, part, mask) for part in array.values.flatten()]
        return pa.StructArray.from_arrays([rearranged(pa, part) for part in lists], names=fields)
    if _is_list(pa, inner) or pa.types.is_map(inner):
        return _lists_of_lists(pa, array, mask)
    if pa.types.is_decimal(inner) or pa.types.is_timestamp(inner):
        return _lists(pa, array.offsets, rearranged(pa, array.values), mask)
    return array


def needs_rearranging(pa: Any, kind: Any) -> bool:
    """Return whether `rearranged` changes arrays of this type."""
    types = pa.types
    if not (types.is_nested(kind) or types.is_decimal(kind) or types.is_timestamp(kind)):
        return False
    return bool(rearranged(pa, pa.array([], kind)).type != kind or _is_file(pa, kind)) or (
        pa.types.is_struct(kind)
        and any(needs_rearranging(pa, kind.field(i).type) for i in range(kind.num_fields))
    )


def with_items(pa: Any, array: Any, value: Any, fill: Any) -> Any:
    """Return lists with `value` for missing items; `fill` fills an array."""
    return _lists(pa, array.offsets, fill(array.values, value), _mask(array))


def without_views(pa: Any, array: Any) -> Any:
    """Return string views as ordinary strings, because pyarrow cannot fill nulls in views."""
    if pa.types.is_string_view(array.type):
        return array.cast(pa.large_string())
    return array.cast(pa.large_binary()) if pa.types.is_binary_view(array.type) else array


def missing(pa: Any, array: Any, name: str) -> dict[str, int]:
    """Return the number of missing values that NumPy cannot represent, by column and field."""
    kind, types = array.type, pa.types
    if types.is_floating(kind) or types.is_date(kind) or types.is_timestamp(kind):
        return {}
    if types.is_duration(kind) or array.null_count or not types.is_nested(kind):
        return {} if types.is_duration(kind) else {name: array.null_count}
    if types.is_struct(kind):
        found: dict[str, int] = {}
        for i, part in enumerate(array.flatten()):
            found |= missing(pa, part, f"{name}.{kind.field(i).name}")
        return found
    try:
        return missing(pa, array.flatten(), name) if hasattr(array, "flatten") else {}
    except pa.ArrowException:  # a damaged list view; the engine reports it
        return {}


def is_list(pa: Any, kind: Any) -> bool:
    """Return whether a type is a list of variable size."""
    return _is_list(pa, kind)


def _struct(pa: Any, array: Any) -> Any:
    kind = array.type
    fields = [kind.field(i) for i in range(kind.num_fields)]
    if _is_file(pa, kind):
        parts = [
            part.fill_null("" if pa.types.is_string(part.type) else b"") for part in array.flatten()
        ]
        return pa.StructArray.from_arrays(parts, names=[field.name for field in fields])
    if not any(needs_rearranging(pa, field.type) for field in fields):
        return array
    parts = [rearranged(pa, array.field(i)) for i in range(len(fields))]
    names = [field.name for field in fields]
    return pa.StructArray.from_arrays(parts, names=names, mask=_mask(array))


def _is_file(pa: Any, kind: Any) -> bool:
    """Return whether a struct represents a file, by its bytes, its path, or both."""
    if not pa.types.is_struct(kind) or kind.num_fields != 2:
        return False
    types: Mapping[str, Any] = {kind.field(i).name: kind.field(i).type for i in range(2)}
    binary = (pa.binary(), pa.large_binary())
    return types.keys() == {"bytes", "path"} and (
        types["bytes"] in binary and types["path"] == pa.string()
    )


def _lists_of_lists(pa: Any, array: Any, mask: Any) -> Any:
    inner = array.values
    if pa.types.is_map(inner.type):
        pairs = pa.StructArray.from_arrays([inner.keys, inner.items], names=["key", "value"])
        inner, items = _lists(pa, inner.offsets, pairs, _mask(inner)), pairs
    else:
        items = inner.values
    outer = np.asarray(array.offsets).astype(np.int64)
    if nulls := inner.slice(outer[0], outer[-1] - outer[0]).null_count:
        raise ValueError(f"{nulls} of its lists of lists are missing; replace them, or drop these")
    ends = np.asarray(inner.offsets).astype(np.int64)
    begins = ends[outer]
    counts = np.diff(outer) + 1
    rows = np.repeat(np.arange(len(counts)), counts)
    splits = ends[outer[0] + np.arange(len(rows)) - rows] - begins[:-1][rows]
    of_splits = np.concatenate([[0], np.cumsum(counts)])
    parts = [
        rearranged(pa, _lists(pa, begins, items, mask)),
        _lists(pa, of_splits, pa.array(splits), mask),
    ]
    return pa.StructArray.from_arrays(parts, names=["values", "row_splits"])


def _lists(pa: Any, offsets: Any, values: Any, mask: Any) -> Any:
    # A copy, because pyarrow does not accept a mask with sliced offsets.
    numbers = pa.array(np.array(offsets, np.int64))
    return pa.LargeListArray.from_arrays(numbers, values, mask=mask)


def _mask(array: Any) -> Any:
    return array.is_null() if array.null_count else None


def _is_list(pa: Any, kind: Any) -> bool:
    return bool(pa.types.is_list(kind) or pa.types.is_large_list(kind))


def _children(pa: Any, kind: Any) -> list[Any]:
    return [kind.field(i).type for i in range(kind.num_fields)] if pa.types.is_nested(kind) else []


def _has_null(pa: Any, kind: Any) -> bool:
    if isinstance(kind, pa.BaseExtensionType):
        return False
    return bool(pa.types.is_null(kind)) or any(_has_null(pa, k) for k in _children(pa, kind))


def _either(pa: Any, kind: Any, other: Any) -> Any:
    """Return a type in which parts of type null are replaced by those of another type."""
    if pa.types.is_null(kind):
        return other
    if not _has_null(pa, kind):
        return kind
    if _is_list(pa, kind) and _is_list(pa, other):
        value = _either(pa, kind.value_type, other.value_type)
        return pa.list_(value) if pa.types.is_list(kind) else pa.large_list(value)
    if pa.types.is_struct(kind) and pa.types.is_struct(other):
        theirs = {other.field(i).name: other.field(i).type for i in range(other.num_fields)}
        fields = [kind.field(i) for i in range(kind.num_fields)]
        return pa.struct(
            [f.with_type(_either(pa, f.type, theirs.get(f.name, f.type))) for f in fields]
        )
    return kind


def _without_null_items(pa: Any, kind: Any) -> Any:
    """Return a type with float64 as the item type of lists that are all empty, as in NumPy."""
    if not _has_null(pa, kind) or pa.types.is_null(kind):
        return kind
    if _is_list(pa, kind):
        inner = kind.value_type
        value = pa.float64() if pa.types.is_null(inner) else _without_null_items(pa, inner)
        return pa.list_(value) if pa.types.is_list(kind) else pa.large_list(value)
    if pa.types.is_struct(kind):
        fields = [kind.field(i) for i in range(kind.num_fields)]
        return pa.struct([f.with_type(_without_null_items(pa, f.type)) for f in fields])
    return kind
