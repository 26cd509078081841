"""Conversion of Arrow tables to types that the engine supports, without missing values."""

from __future__ import annotations

import contextlib
from collections import Counter
from collections.abc import Collection, Iterator, Mapping
from typing import Any

from penstock import nested_columns as nested
from penstock.errors import DataError
from penstock.libraries import library
from penstock.printable import printable

# Polars types that only pyarrow converts: lists of structs or lists, and types unknown to NumPy.
_OF_PYARROW = ("List(Struct", "List(List", "Decimal", "time_zone='", "Null")


class HeldTable:
    """An object that contains a pyarrow table."""

    def table(self) -> Any:
        """Return the table."""
        raise NotImplementedError


def exported(stage: str, table: Any, null_values: Mapping[str, Any] | None) -> Any:
    """Return a table as an object that exports columns to the engine."""
    if isinstance(table, HeldTable):
        table = table.table()
    of_pyarrow = type(table).__module__.partition(".")[0] == "pyarrow"
    if not of_pyarrow and not null_values and not _is_nested(table):
        return table
    return PlainTables(stage, True, null_values).of(table_of(stage, table))


def _is_nested(table: Any) -> bool:
    """Return whether a Polars table has columns that only pyarrow converts."""
    types = str(list(getattr(table, "schema", {}).values())) if hasattr(table, "to_dicts") else ""
    return any(kind in types for kind in _OF_PYARROW)


def missing_values(stage: str, column: str, count: int, file: str = "") -> ValueError:
    """Return the error for missing values that NumPy cannot represent."""
    return ValueError(
        f"{stage}: column {printable(column)} has {count} missing values, for which its type has "
        "none in NumPy; fill them (null_values, fill_null, fillna), or drop these rows"
        + f" (file {printable(file)})"
        * bool(file)
    )


def table_of(stage: str, table: Any) -> Any:
    """Convert an object that exports a table to a pyarrow table."""
    pa = library(stage, "pyarrow", "arrow")
    with _readable_names(stage):
        return pa.table(table)


def names_of_columns(stage: str, table: Any, file: str = "") -> list[str]:
    """Return the column names of a pyarrow table or schema, which is from `file` if there is one.

    Raises
    ------
    ValueError, DataError
        If a name is not UTF-8: `DataError` for one from a file.
    """
    with _readable_names(stage, file):
        return list(table.column_names if hasattr(table, "column_names") else table.names)


@contextlib.contextmanager
def _readable_names(stage: str, file: str = "") -> Iterator[None]:
    try:
        yield
    except UnicodeDecodeError as error:
        said = f"{stage}: names of columns must be UTF-8, got {printable(error.object)}; rename it"
        raise _of_contents(said, file) from None


def _of_contents(message: str, file: str) -> Exception:
    """Return the error for contents of a file, or, without one, of an argument."""
    return DataError(message, file) if file else ValueError(message)


def column_of(name: str, columns: Collection[str]) -> str:
    """Return the column with that name, or the struct that contains this ``"struct.field"``."""
    while name not in columns and "." in name:
        name = name.rpartition(".")[0]
    return name


class PlainTables:
    """Converter of tables.

    Parameters
    ----------
    stage : str
        The stage, for errors.
    text : bool
        Whether strings become str; otherwise bytes.
    null_values : mapping, optional
        Replacements for missing values, by column name. A field of a struct is named
        ``"column.field"``.
    """

    def __init__(self, stage: str, text: bool, null_values: Mapping[str, Any] | None) -> None:
        self._stage = stage
        self._text = text
        self._null_values = dict(null_values or {})
        self._types: dict[str, Any] = {}

    def learn(self, schemas: list[Any]) -> None:
        """Find types of columns that have the type null in some files, from the other files."""
        pa = library(self._stage, "pyarrow", "arrow")
        kinds: dict[str, list[Any]] = {}
        for schema in schemas:
            for name, kind in zip(names_of_columns(self._stage, schema), schema.types, strict=True):
                kinds.setdefault(name, []).append(kind)
        self._types = {
            name: nested.known_type(pa, found, self._null_values.get(name))
            for name, found in kinds.items()
        }

    def of(self, table: Any, file: str = "") -> Any:
        """Convert a pyarrow table to types that the engine supports, where such types exist.

        `file` is for errors.
        """
        pa = library(self._stage, "pyarrow", "arrow")
        names = names_of_columns(self._stage, table, file)
        values: dict[str, dict[str, Any]] = {}  # for what is missing, by column
        for name, value in self._null_values.items():
            values.setdefault(column_of(name, names), {})[name] = value
        unknown = sorted(values.keys() - set(names))
        if unknown:
            raise ValueError(
                f"{self._stage}: null_values must name columns, got "
                f"{printable(', '.join(unknown))}; there are "
                f"{printable(', '.join(names))}"
            )
        for i, field in enumerate(table.schema):
            column = table.column(i)
            if not isinstance(field.type, pa.BaseExtensionType):
                column = self._arranged(pa, field.name, column)
            plain = self._plain(pa, column.type)
            if isinstance(field.type, pa.BaseExtensionType):
                column = self._stored(pa, field.name, column, plain)
            elif plain != column.type:
                try:
                    chunks = [_cast(pa, chunk, plain) for chunk in column.chunks]
                    column = pa.chunked_array(chunks, plain)
                except pa.ArrowNotImplementedError as error:
                    raise TypeError(
                        f"{self._stage}: column {printable(field.name)} has values of Arrow's type "
                        f"{field.type}, which NumPy does not have: {printable(str(error))}"
                    ) from None
                except pa.ArrowException as error:
                    said = (
                        f"{self._stage}: column {printable(field.name)} cannot be read as "
                        f"{plain}: {printable(str(error))}"
                    )
                    raise _of_contents(said, file) from None
            if own := values.get(field.name):
                filled = [self._filled(pa, chunk, field.name, own) for chunk in column.chunks]
                column = pa.chunked_array(filled) if filled else column
            self._refuse_missing(pa, field.name, column, file)
            if column is not table.column(i):
                table = table.set_column(i, pa.field(field.name, column.type), column)
        return table

    def _arranged(self, pa: Any, name: str, column: Any) -> Any:
        """Return a column of a known type, without lists of lists or structs."""
        kind = nested.known_type(
            pa, [column.type, self._types.get(name, column.type)], self._null_values.get(name)
        )
        if pa.types.is_null(kind):
            raise ValueError(
                f"{self._stage}: column {printable(name)} has only missing values, so it has no "
                f"type; use null_values={{{name!r}: ...}}, or leave it out"
            )
        changes = nested.needs_rearranging(pa, kind)
        if kind == column.type and not changes:
            return column
        try:
            chunks = [
                nested.with_type(pa, chunk, kind) for chunk in column.chunks or [_none(pa, column)]
            ]
            if changes:
                chunks = [nested.rearranged(pa, chunk) for chunk in chunks]
        except (pa.ArrowException, ValueError) as error:
            raise ValueError(
                f"{self._stage}: column {printable(name)} cannot be read: {printable(str(error))}"
            ) from None
        return pa.chunked_array(chunks)

    def _refuse_missing(self, pa: Any, name: str, column: Any, file: str) -> None:
        counts: Counter[str] = Counter()
        for chunk in column.chunks:
            counts.update(nested.missing(pa, chunk, name))
        for path, count in counts.items():
            if count:
                raise missing_values(self._stage, path, count, file)

    def _plain(self, pa: Any, kind: Any) -> Any:
        """Return the type that replaces an Arrow type."""
        if isinstance(kind, pa.BaseExtensionType):
            inner = self._plain(pa, _item(pa, kind.storage_type))
            for size in reversed(getattr(kind, "shape", ())):
                inner = pa.list_(inner, size)
            return inner if hasattr(kind, "shape") else self._plain(pa, kind.storage_type)
        if pa.types.is_dictionary(kind):
            plain = self._plain(pa, kind.value_type)
            # Decoded strings may exceed 2 GiB even if the dictionary is small.
            longer = {pa.string(): pa.large_string(), pa.binary(): pa.large_binary()}
            return longer.get(plain, plain)
        if not self._text:
            if pa.types.is_string(kind):
                return pa.binary()
            if pa.types.is_large_string(kind):
                return pa.large_binary()
            if pa.types.is_string_view(kind):
                return pa.binary_view()
        if pa.types.is_struct(kind):
            fields = [kind.field(i) for i in range(kind.num_fields)]
            return pa.struct([field.with_type(self._plain(pa, field.type)) for field in fields])
        if pa.types.is_list(kind):
            return pa.list_(self._item_field(pa, kind))
        if pa.types.is_large_list(kind):
            return pa.large_list(self._item_field(pa, kind))
        if pa.types.is_list_view(kind):
            return pa.list_view(self._item_field(pa, kind))
        if pa.types.is_large_list_view(kind):
            return pa.large_list_view(self._item_field(pa, kind))
        if pa.types.is_fixed_size_list(kind):
            return pa.list_(self._item_field(pa, kind), kind.list_size)
        return kind

    def _item_field(self, pa: Any, kind: Any) -> Any:
        return kind.value_field.with_type(self._plain(pa, kind.value_type))

    def _stored(self, pa: Any, name: str, column: Any, plain: Any) -> Any:
        """Return the storage of an extension type; tensors become fixed-size lists."""
        chunks = []
        for chunk in column.chunks:
            stored = chunk.storage
            if pa.types.is_fixed_size_list(plain):
                if stored.null_count:
                    raise ValueError(
                        f"{self._stage}: column {printable(name)} has {stored.null_count} missing "
                        "arrays; drop these rows"
                    )
                while pa.types.is_nested(stored.type):
                    stored = stored.flatten()
                sizes = []
                kind = plain
                while pa.types.is_fixed_size_list(kind):
                    sizes.append(kind.list_size)
                    kind = kind.value_type
                stored = stored.cast(kind)
                for size in reversed(sizes):
                    stored = pa.FixedSizeListArray.from_arrays(stored, size)
            chunks.append(stored.cast(plain))
        return pa.chunked_array(chunks, plain)

    def _filled(self, pa: Any, array: Any, name: str, values: Mapping[str, Any]) -> Any:
        """Return an array whose missing values are replaced."""
        of_items = nested.is_list(pa, array.type) and isinstance(
            values.get(name), (str, bytes, int, float)
        )
        if of_items:

            def fill(items: Any, _: Any) -> Any:
                return self._filled(pa, items, name, values)

            array = nested.with_items(pa, array, values[name], fill)
        if name in values and not of_items:
            array = nested.without_views(pa, array)
        if name in values and array.null_count and not of_items:
            try:
                given = values[name]
                if isinstance(given, float) and pa.types.is_integer(array.type):
                    raise ValueError("it has a fraction")
                value = pa.scalar(given, array.type)
                array = library(self._stage, "pyarrow.compute", "arrow").fill_null(array, value)
            except (pa.ArrowException, OverflowError, TypeError, ValueError) as error:
                raise ValueError(
                    f"{self._stage}: null_values[{name!r}] must be a value of type {array.type}, "
                    f"got {given!r}: {printable(str(error))}"
                ) from None
        below = f"{name}."
        if not any(each.startswith(below) for each in values):
            return array
        if not pa.types.is_struct(array.type):
            raise ValueError(f"{self._stage}: null_values: {printable(name)} has no fields")
        fields = [array.type.field(i).name for i in range(array.type.num_fields)]
        parts = [
            self._filled(pa, array.field(i), below + each, values) for i, each in enumerate(fields)
        ]
        mask = array.is_null() if array.null_count else None
        return pa.StructArray.from_arrays(parts, names=fields, mask=mask)


def _none(pa: Any, column: Any) -> Any:
    return pa.array([], column.type)


def _cast(pa: Any, array: Any, kind: Any) -> Any:
    """Cast an array to a type of the same structure.

    List views are not cast: pyarrow cannot cast one to another, and its cast to lists reads wrong
    items, and memory outside the array (https://github.com/apache/arrow/issues/50994).
    """
    views = {pa.ListViewType: pa.ListViewArray, pa.LargeListViewType: pa.LargeListViewArray}
    if array.type == kind:
        return array
    mask = array.is_null() if array.null_count else None
    if type(array.type) in views:
        items = _cast(pa, array.values, kind.value_type)
        return views[type(array.type)].from_arrays(
            array.offsets, array.sizes, items, type=kind, mask=mask
        )
    if pa.types.is_struct(array.type):
        fields = [kind.field(i) for i in range(kind.num_fields)]
        parts = [_cast(pa, array.field(i), field.type) for i, field in enumerate(fields)]
        return pa.StructArray.from_arrays(parts, fields=fields, mask=mask)
    return array.cast(kind)


def _item(pa: Any, kind: Any) -> Any:
    """Return the item type of nested lists."""
    nested = (pa.types.is_list, pa.types.is_large_list, pa.types.is_fixed_size_list)
    while any(test(kind) for test in nested):
        kind = kind.value_type
    return kind
