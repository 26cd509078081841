"""Conversion of pandas, Polars and Arrow columns to arrays, without any loss.

This module imports none of these libraries: the caller who passes a table already has.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

import numpy as np

from penstock.contents import is_of_a_table


def refuse_columns(stage: str, obj: Any) -> None:
    """Raise TypeError for a table, where ``obj[i]`` is a column or a labelled value, not a row."""
    name = type(obj).__name__
    by_label = isinstance(obj, Mapping) and len(obj) > 0 and 0 not in obj
    tables = ("DataFrame", "LazyFrame", "Table", "RecordBatch")
    if is_of_a_table(obj) and (name in tables or hasattr(obj, "iloc")):
        by_label = True
    if by_label:
        raise TypeError(
            f"{stage}: an object whose [i] is row i was expected, got a {name}, which is indexed "
            "by names; use from_tensor_slices for the rows of its columns"
        )


class NotAnArray(ValueError):
    """A column has values that a NumPy array cannot represent unchanged."""


def of_pandas(column: Any) -> Any:
    """Return the values of a pandas Series or Index."""
    dtype = column.dtype
    if isinstance(dtype, np.dtype):
        return _objects(column.to_numpy()) if dtype.kind == "O" else column.to_numpy()
    name = type(dtype).__name__
    nulls = int(column.isna().sum())
    if name == "CategoricalDtype":
        _check_nulls(nulls, "fillna")
        return of_pandas(column.astype(dtype.categories.dtype))
    if name == "SparseDtype":
        return np.asarray(column)
    if name == "DatetimeTZDtype" or getattr(dtype, "tz", None) is not None:
        raise NotAnArray(f"times of the zone {dtype.tz}; remove it with dt.tz_convert(None)")
    kind = getattr(dtype, "kind", "O")
    if kind in "iub" and hasattr(dtype, "numpy_dtype"):
        _check_nulls(nulls, "fillna")
        return column.to_numpy(dtype=dtype.numpy_dtype)
    if kind == "f" and hasattr(dtype, "numpy_dtype"):
        return column.to_numpy(dtype=dtype.numpy_dtype, na_value=np.nan)
    if kind in "Mm" and hasattr(dtype, "numpy_dtype"):
        return column.to_numpy(dtype=dtype.numpy_dtype, na_value=np.array("NaT", dtype.numpy_dtype))
    if name == "StringDtype" or (name == "ArrowDtype" and dtype.type in (str, bytes)):
        _check_nulls(nulls, "fillna")
        return column.to_numpy(dtype=object)
    if name == "ArrowDtype":
        return of_arrow(column.array.__arrow_array__())
    raise NotAnArray(f"values of dtype {dtype}, which NumPy does not have; convert them first")


def of_polars(column: Any) -> Any:
    """Return the values of a Polars Series; for structs, a dict of them."""
    name = column.dtype.base_type().__name__
    nulls = column.null_count()
    floats = name in ("Float16", "Float32", "Float64")
    if getattr(column.dtype, "time_zone", None) is not None:
        raise NotAnArray(
            f"times of the zone {column.dtype.time_zone}; remove it with "
            "dt.convert_time_zone('UTC').dt.replace_time_zone(None)"
        )
    if not floats and name not in ("Date", "Datetime", "Duration"):
        _check_nulls(nulls, "fill_null")
    if name in ("Categorical", "Enum"):
        return np.array(column.to_list(), object)
    if name == "Struct":
        return {field.name: of_polars(field) for field in column.struct.unnest()}
    if name in ("Decimal", "Time", "Null", "Unknown"):
        raise NotAnArray(f"values of type {column.dtype}, which NumPy does not have; cast them")
    if name in ("List", "Array"):
        _check_nulls(column.explode().null_count(), "list.eval(pl.element().fill_null(...))")
        rows = [np.asarray(of_polars(row)) for row in column]
        return _stacked(rows) if rows else column.to_numpy()
    try:
        values = column.to_numpy()
    except Exception as error:  # a Polars error, for 128-bit integers and possible new types
        raise NotAnArray(
            f"values of type {column.dtype}, which NumPy does not have ({error}); cast them"
        ) from None
    return _objects(values) if values.dtype.kind == "O" else values


def of_arrow(column: Any) -> Any:
    """Return the values of an Arrow Array or ChunkedArray; for structs, a dict of them."""
    text = str(column.type)
    if getattr(column.type, "extension_name", None) == "arrow.fixed_shape_tensor":
        _check_nulls(column.null_count, "fill_null")
        whole = column.combine_chunks() if hasattr(column, "chunks") else column
        return whole.to_numpy_ndarray()
    if getattr(column.type, "tz", None) is not None:
        raise NotAnArray(f"times of the zone {column.type.tz}; cast them to timestamps without one")
    nan = ("halffloat", "float", "double", "timestamp", "date32", "date64", "duration")
    if not text.startswith(nan):
        _check_nulls(column.null_count, "fill_null")
    if text.startswith("dictionary<"):
        return of_arrow(column.cast(column.type.value_type))
    if text.startswith("struct<"):
        fields = [column.type.field(i).name for i in range(column.type.num_fields)]
        _check_names(fields)
        return {name: of_arrow(part) for name, part in zip(fields, column.flatten(), strict=True)}
    if text.startswith(("list<", "large_list<", "fixed_size_list<")):
        rows = [np.asarray(of_arrow(row.values)) for row in column]
        return _stacked(rows) if rows else np.empty(0, object)
    plain = ("int", "uint", "bool", "string", "large_string", "binary", "large_binary")
    if not text.startswith((*nan, *plain, "fixed_size_binary", "string_view", "binary_view")):
        raise NotAnArray(f"values of type {text}, which NumPy does not have; cast them")
    chunked = hasattr(column, "chunks")
    return column.to_numpy() if chunked else column.to_numpy(zero_copy_only=False)


def _objects(values: Any) -> Any:
    """Convert an object array: numbers to numbers, rows to one array; others are unchanged."""
    nulls = sum(value is None or value is np.nan or value != value for value in _scalars(values))
    nulls += sum(type(value).__name__ in ("NAType", "NaTType") for value in values.flat)
    _check_nulls(nulls, "fillna")
    kinds = {type(value) for value in values.flat}
    if kinds and kinds <= {list, tuple, np.ndarray}:
        return _stacked([np.asarray(row) for row in _regular(values)])
    numbers = {bool, int, float, np.bool_}
    if kinds and (kinds <= numbers or all(issubclass(k, np.number) for k in kinds)):
        return np.array(values.tolist())
    return values


def _scalars(values: Any) -> Iterable[Any]:
    return (value for value in values.flat if value is None or isinstance(value, float))


def _regular(rows: Iterable[Any]) -> list[Any]:
    try:
        return [np.asarray(row) for row in rows]
    except ValueError:
        raise NotAnArray("rows that are lists of different lengths") from None


def _stacked(rows: list[Any]) -> Any:
    shapes = sorted({row.shape for row in rows})
    if len(shapes) > 1:
        raise NotAnArray(
            f"rows of different shapes, {shapes[0]} and {shapes[1]} among them; use "
            "experimental.from_list or from_generator, and then padded_batch or ragged_batch"
        )
    return np.stack(rows)


def _check_nulls(nulls: int, method: str) -> None:
    if nulls:
        raise NotAnArray(
            f"{nulls} missing value{'s' * (nulls > 1)}, for which its type has none in NumPy; fill "
            f"them with {method}, or drop these rows"
        )


def _check_names(names: list[Any]) -> None:
    twice = sorted({str(name) for name in names if names.count(name) > 1})
    if twice:
        raise NotAnArray(f"names that are not unique: {', '.join(twice)}")
