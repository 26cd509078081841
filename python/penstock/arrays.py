"""Conversion of the arguments of from_tensors and from_tensor_slices to nested arrays."""

from __future__ import annotations

import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

import numpy as np

from penstock.arguments.checks import MOST_NESTING, TOO_DEEP, mixes_strings
from penstock.columns import NotAnArray, of_arrow, of_pandas, of_polars
from penstock.structure import is_nested, map_parts, parts_of


def as_tensors(stage: str, value: Any) -> Any:
    """Return nested arrays: mappings as dicts, tables as dicts of their columns.

    Raises TypeError or ValueError for other values; the message names an alternative.
    """
    return _converted(stage, value, ())


def ragged_list(tensors: Any) -> str | None:
    """Return the path of a list that is not an array: "" for the value itself, None if none."""
    if is_nested(tensors):
        for key, part in parts_of(tensors):
            inner = ragged_list(part)
            if inner is not None:
                return f"[{key!r}]{inner}"
        return None
    try:
        np.asarray(tensors)
    except ValueError:
        return ""
    return None


def _converted(stage: str, value: Any, path: tuple[Any, ...]) -> Any:
    if len(path) > MOST_NESTING:
        raise ValueError(f"{stage}: tensors: {TOO_DEEP}")
    if type(value) in (np.ndarray, list, str, bytes, int, float, bool, type(None)):
        plain = not isinstance(value, np.ndarray) or value.dtype.names is None
        return _checked_list(stage, value, path) if plain else _fields(stage, value, path)
    if is_nested(value):
        parts = [part for _, part in parts_of(value)]
        made = map_parts(lambda key, part: _converted(stage, part, (*path, key)), value)
        same = all(new is old for (_, new), old in zip(parts_of(made), parts, strict=True))
        return value if same else made
    columns = _columns_of(stage, value, path)
    if columns is not None:
        return columns
    if isinstance(value, Mapping):
        return {key: _converted(stage, value[key], (*path, key)) for key in value}
    if isinstance(value, np.ndarray):
        if isinstance(value, np.ma.MaskedArray) and np.ma.is_masked(value):
            raise ValueError(
                f"{stage}: the array{_at(path)} is masked, and masks are not kept; fill it first "
                "(array.filled(...)), or give the mask as an array of its own"
            )
        return _fields(stage, value, path) if value.dtype.names else value
    if stage == "from_tensors" and hasattr(type(value), "element_spec"):
        return value  # a dataset is a single element, like a window
    _refuse_rows(stage, value, path)
    return value


def _fields(stage: str, array: Any, path: tuple[Any, ...]) -> dict[str, Any]:
    """Convert a structured array to a dict of its fields."""
    return {name: _converted(stage, array[name], (*path, name)) for name in array.dtype.names}


def _checked_list(stage: str, value: Any, path: tuple[Any, ...]) -> Any:
    """Reject lists that mix strings and other values, which NumPy would convert to strings."""
    if not isinstance(value, list) or not value:
        return value
    if not isinstance(value[0], (list, tuple)):
        if mixes_strings(value):
            raise ValueError(
                f"{stage}: a list is one array, and the one{_at(path)} has strings and numbers; "
                "give strings alone or numbers alone, or an array of dtype object"
            )
        return value
    kinds = {issubclass(type(item), (str, bytes)) for row in value for item in _items(row)}
    if len(kinds) > 1:
        raise ValueError(
            f"{stage}: a list is one array, and the rows of the one{_at(path)} have strings and "
            "other values; give a tuple of columns, or the rows to experimental.from_list"
        )
    return value


def _items(row: Any) -> Any:
    return row if isinstance(row, (list, tuple)) else ()


_COLUMNS: dict[str, tuple[Callable[[Any], Any], tuple[str, ...]]] = {
    "pandas": (of_pandas, ("Series", "Index")),
    "polars": (of_polars, ("Series",)),
    "pyarrow": (of_arrow, ("Array", "ChunkedArray")),
}
_TABLES = {
    "pandas": ("DataFrame",),
    "polars": ("DataFrame", "LazyFrame"),
    "pyarrow": ("Table", "RecordBatch"),
}


def _is_of(value: Any, library: str, names: tuple[str, ...]) -> bool:
    """Return whether a value has one of these classes of an imported library."""
    found = (getattr(sys.modules.get(library), name, None) for name in names)
    return any(isinstance(kind, type) and isinstance(value, kind) for kind in found)


def _columns_of(stage: str, value: Any, path: tuple[Any, ...]) -> Any:
    """Return a table as a dict of columns, and a single column as an array; None for others."""
    for library, (array_of, names) in _COLUMNS.items():
        if _is_of(value, library, names):
            try:
                return array_of(value)
            except NotAnArray as error:
                raise ValueError(f"{stage}: the {_name_of(value)}{_at(path)} has {error}") from None
        if _is_of(value, library, _TABLES[library]):
            return _columns(stage, value, path, array_of)
    _refuse_other_tables(stage, value, path)
    return None


def _columns(
    stage: str, table: Any, path: tuple[Any, ...], array_of: Callable[[Any], Any]
) -> dict[Any, Any]:
    kind = f"{_name_of(table)}{_at(path)}"
    if hasattr(table, "collect"):
        raise ValueError(f"{stage}: the {kind} has no rows yet; call collect() first")
    arrow = hasattr(table, "schema") and hasattr(table, "column_names")
    names = list(table.column_names if arrow else table.columns)
    twice = sorted({str(name) for name in names if names.count(name) > 1})
    if twice:
        raise ValueError(
            f"{stage}: names of columns must be unique, {', '.join(twice)} in the {kind} are not"
        )
    if not names:
        raise ValueError(f"{stage}: at least one column was expected, the {kind} has none")
    columns = {}
    for name in names:
        try:
            columns[name] = array_of(table.column(name) if arrow else table[name])
        except NotAnArray as error:
            raise ValueError(f"{stage}: column {name!r} of the {kind} has {error}") from None
    return columns


def _refuse_other_tables(stage: str, value: Any, path: tuple[Any, ...]) -> None:
    if any(hasattr(type(value), name) for name in ("__dataframe__", "__arrow_c_stream__")):
        raise TypeError(
            f"{stage}: tables of pandas, polars and Arrow are taken, got a "
            f"{_name_of(value)}{_at(path)}; convert it first (pyarrow.table(...))"
        )


def _refuse_rows(stage: str, value: Any, path: tuple[Any, ...]) -> None:
    """Reject objects with rows that are not arrays, whose rows NumPy would read individually."""
    kind = type(value)
    arrays = ("__array__", "__array_interface__", "__array_struct__", "__dlpack__", "__buffer__")
    if any(hasattr(kind, name) for name in arrays) or isinstance(value, (Sequence, np.generic)):
        return
    try:
        memoryview(value)
    except TypeError:
        pass
    else:
        return
    if hasattr(kind, "__getitem__") and (hasattr(kind, "__len__") or hasattr(kind, "__iter__")):
        raise TypeError(
            f"{stage}: arrays were expected, got a {_name_of(value)}{_at(path)}; use "
            "Dataset.from_indexable for an object with rows, which it fetches when they are needed"
        )
    slices = stage == "from_tensor_slices"
    if slices and (isinstance(value, Iterator) or hasattr(kind, "__iter__")):
        raise TypeError(
            f"{stage}: arrays were expected, got a {_name_of(value)}{_at(path)}; use "
            "Dataset.from_generator for what can only be iterated"
        )


def _name_of(value: Any) -> str:
    kind = type(value)
    module = kind.__module__.partition(".")[0]
    return kind.__name__ if module in ("builtins", "__main__") else f"{module}.{kind.__name__}"


def _at(path: tuple[Any, ...], before: str = " at ") -> str:
    return before + "tensors" + "".join(f"[{key!r}]" for key in path) if path else ""
