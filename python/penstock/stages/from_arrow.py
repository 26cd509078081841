"""The sources of tables: from_arrow, from_pandas, from_polars, from_huggingface."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, TypeVar

import numpy as np

from penstock.arguments.checked import checked_methods
from penstock.errors import DataError
from penstock.libraries import library
from penstock.plain_tables import HeldTable, missing_values, table_of
from penstock.printable import printable
from penstock.stages.tensors import Tensors

_D = TypeVar("_D", bound="FromArrow")


@checked_methods
class FromArrow(Tensors):
    """Mixin: datasets from tables."""

    __slots__ = ()

    @classmethod
    def from_arrow(
        cls: type[_D],
        table: Any,
        name: str | None = None,
        *,
        null_values: Mapping[str, Any] | None = None,
        validate: bool = False,
    ) -> _D:
        """Create a dataset of the rows of a table, each a dict of its columns.

        Parameters
        ----------
        table : table
            A table, record batch or any other object with ``__arrow_c_stream__`` or
            ``__arrow_c_array__``. Its memory is shared with the dataset.
        name : str, optional
            Name of the stage in errors, `Iterator.stats` and traces.
        null_values : mapping, optional
            Replacements for missing values, by column name; ``"column.field"`` names a field of a
            struct. In a column of lists, a scalar replaces missing items and a list replaces
            missing lists. Needs pyarrow.
        validate : bool
            Whether to check the table first, with pyarrow's ``table.validate(full=True)``.
            Needs pyarrow.

        Returns
        -------
        Dataset
            The rows of the table.

        Raises
        ------
        ValueError
            If a column has missing values without a replacement, or column names are not unique.
        TypeError
            If `table` is not a table, or a column has a type that NumPy lacks.
        DataError
            With `validate`, if the table is damaged.

        Notes
        -----
        String and list offsets are trusted, as in pyarrow. In a damaged table they may point
        outside the table, and the process may crash. Set `validate` for tables from untrusted
        sources; it reads all strings and lists once. `ArrowDataset` always validates.

        Numeric columns are used in place, in memory or in a mapped file. Strings become str and
        binary values bytes; dictionary-encoded and categorical columns are decoded. A list
        becomes an array, for `ragged_batch` and `padded_batch`; a fixed-size list has a fixed
        shape. A struct becomes a dict. Missing floats are NaN, missing times NaT.

        With pyarrow, nested columns become dicts of arrays. A list of structs becomes a dict of its
        fields; a map has the arrays ``key`` and ``value``; a list of lists has all its ``values``
        in one array, with ``row_splits``. Decimals become float64. Times with a time zone are in
        UTC. In a struct of ``bytes`` and ``path``, as used for images and audio, missing values are
        empty.

        ``shuffle`` and ``batch`` directly after it gather rows natively, column by column, so
        ``shuffle(len(table))`` keeps no row in memory.

        Examples
        --------
        >>> import pyarrow as pa
        >>> table = pa.table({"x": [1, 2, 3], "words": [["a"], [], ["b", "c"]]})
        >>> ds = ps.Dataset.from_arrow(table)
        >>> ds.skip(2).first()
        {'x': np.int64(3), 'words': array(['b', 'c'], dtype=object)}
        """
        if not any(hasattr(table, f"__arrow_c_{kind}__") for kind in ("stream", "array")):
            raise TypeError(
                "from_arrow: table must have __arrow_c_stream__, as those of all libraries do, got "
                f"{type(table).__name__}; use from_tensor_slices for arrays"
            )
        if validate:
            table = _validated(table)
        return cls._of_table("from_arrow", table, name, null_values)

    @classmethod
    def from_polars(
        cls: type[_D],
        df: Any,
        name: str | None = None,
        *,
        null_values: Mapping[str, Any] | None = None,
    ) -> _D:
        """Create a dataset of the rows of a polars DataFrame, each a dict of its columns.

        Parameters
        ----------
        df : polars.DataFrame
            The table. Its memory is shared with the dataset, except for strings.
        name : str, optional
            Name of the stage in errors, `Iterator.stats` and traces.
        null_values : mapping, optional
            As in `from_arrow`.

        Returns
        -------
        Dataset
            The rows, as from `from_arrow`.

        Raises
        ------
        ValueError
            If a column has missing values without a replacement (only floats and times have default
            ones): use `null_values`, or ``fill_null`` first.
        TypeError
            If `df` is not a DataFrame, or a column has a type that NumPy lacks.

        Examples
        --------
        >>> import polars as pl
        >>> df = pl.DataFrame({"x": [1, 2, 3], "word": ["a", "b", "c"]})
        >>> ps.Dataset.from_polars(df).batch(2).first()
        {'x': array([1, 2]), 'word': array(['a', 'b'], dtype=object)}
        """
        if not hasattr(df, "__arrow_c_stream__") or not hasattr(df, "to_dicts"):
            collect = "; call collect() first" if hasattr(df, "collect") else ""
            raise TypeError(
                f"from_polars: df must be a DataFrame of polars, got {type(df).__name__}{collect}"
            )
        for column, dtype in df.schema.items():
            if str(dtype) == "Object":
                raise TypeError(
                    f"from_polars: column {column!r} has objects of Python, which are not in the "
                    "memory of the table; use from_indexable or from_generator for them"
                )
        if null_values is None:
            _refuse_missing(df)
        return cls._of_table("from_polars", df, name, null_values)

    @classmethod
    def from_pandas(
        cls: type[_D],
        df: Any,
        name: str | None = None,
        *,
        null_values: Mapping[str, Any] | None = None,
    ) -> _D:
        """Create a dataset of the rows of a pandas DataFrame, each a dict of its columns.

        Parameters
        ----------
        df : pandas.DataFrame
            The table, without its index; ``reset_index()`` turns the index into a column.
        name : str, optional
            Name of the stage in errors, `Iterator.stats` and traces.
        null_values : mapping, optional
            As in `from_arrow`; NaN also counts as missing.

        Returns
        -------
        Dataset
            The rows. They are as from `from_arrow` if pyarrow is installed and can represent all
            columns. Otherwise, or if all columns are numbers and times, they are as from
            `from_tensor_slices`. That applies to objects of mixed types, complex and sparse
            columns, integers beyond 64 bits, and column names that are not str.

        Raises
        ------
        ValueError
            If a column has missing values without a replacement (only floats and times have default
            ones): use `null_values`, or ``fillna`` first.
        TypeError
            If `df` is not a DataFrame, or a column has a type that NumPy lacks.

        Examples
        --------
        >>> import pandas as pd
        >>> df = pd.DataFrame({"x": [1, 2, 3], "word": ["a", "b", "c"]})
        >>> ps.Dataset.from_pandas(df).batch(2).first()
        {'x': array([1, 2]), 'word': array(['a', 'b'], dtype=object)}
        """
        if not hasattr(df, "iloc") or not hasattr(df, "columns"):
            raise TypeError(
                f"from_pandas: df must be a DataFrame of pandas, got {type(df).__name__}"
            )
        table = _arrow_of(df) if null_values is None else _whole_arrow_of(df)
        if table is None:
            return cls._of_tensors("from_tensor_slices", name, df, "from_pandas")
        return cls._of_table("from_pandas", table, name, null_values)

    @classmethod
    def from_huggingface(
        cls: type[_D],
        ds: Any,
        name: str | None = None,
        *,
        null_values: Mapping[str, Any] | None = None,
    ) -> _D:
        """Create a dataset of the rows of a Hugging Face dataset, each a dict of its columns.

        Parameters
        ----------
        ds : datasets.Dataset
            The rows, in the order that results from ``shuffle``, ``select`` and so on. Transforms
            (``with_transform``) and format arguments, as in ``with_format("numpy", dtype=...)``,
            are applied. Other formats only select columns: elements are NumPy values.
        name : str, optional
            Name of the stage in errors, `Iterator.stats` and traces.
        null_values : mapping, optional
            As in `from_arrow`. Not allowed if rows are transformed.

        Returns
        -------
        Dataset
            The rows, as from `from_arrow`: they are gathered natively from its memory-mapped files.
            Transformed rows are fetched with ``ds[i]``, as in `from_indexable`.

        Raises
        ------
        TypeError
            If `ds` is not a ``datasets.Dataset``, or a column has a type that NumPy lacks.
        ValueError
            If a column has missing values without a replacement, or `null_values` is given for
            transformed rows.

        Notes
        -----
        An image or audio clip is the dict ``{"bytes": ..., "path": ...}`` stored in the file, with
        empty values for missing ones; decode it in `map`. Chat messages, a list of structs, become
        a dict of arrays: ``{"role": ..., "content": ...}``. A class label is an integer. Arrays of
        fixed shape (``Array2D``) become arrays of that shape.

        Examples
        --------
        >>> import datasets  # doctest: +SKIP
        >>> mnist = datasets.load_dataset("mnist", split="train")  # doctest: +SKIP
        >>> ds = ps.Dataset.from_huggingface(mnist).shuffle(len(mnist))  # doctest: +SKIP
        """
        if hasattr(ds, "keys") and hasattr(ds, "values"):
            raise TypeError(
                f"from_huggingface: ds must be one split, got all: choose one, {', '.join(ds)}"
            )
        if not hasattr(ds, "_indices") or not hasattr(getattr(ds, "data", None), "table"):
            raise TypeError(
                "from_huggingface: ds must be a datasets.Dataset, got "
                f"{type(ds).__name__}; use from_generator for what can only be iterated"
            )
        if ds.format["type"] == "custom" or ds.format["format_kwargs"]:
            if null_values is not None:
                raise ValueError(
                    "from_huggingface: null_values applies to stored rows only, and ds has a "
                    "transform or a format with arguments; replace missing values there, or use "
                    "ds.with_format(None)"
                )
            made: _D = cls._facade._of_rows(ds, name, part_of="from_huggingface")
            return made
        rows = None
        if ds._indices is not None:
            rows = ds._indices.column(0).to_numpy().astype(np.int64)
        return cls._of_table(
            "from_huggingface", _Mapped(ds), name, null_values, rows, ds._fingerprint
        )

    @classmethod
    def _of_table(
        cls: type[_D],
        stage: str,
        table: Any,
        name: str | None,
        null_values: Mapping[str, Any] | None = None,
        rows: Any = None,
        fingerprint: str | None = None,
    ) -> _D:
        args = {"table": table, "rows": rows}
        if null_values is not None:
            args["null_values"] = dict(null_values)
        if fingerprint is not None:
            args["fingerprint"] = fingerprint
        if stage != "from_arrow":
            args["part_of"] = stage
        return cls._make("from_arrow", (), args, name)


def _validated(table: Any) -> Any:
    """Validate a table with pyarrow: its offsets must lie within its buffers."""
    pa = library("from_arrow", "pyarrow", "arrow")
    table = table_of("from_arrow", table)
    try:
        table.validate(full=True)
    except pa.ArrowException as error:
        raise DataError(f"from_arrow: the table is damaged: {printable(str(error))}") from error
    return table


def _arrow_of(df: Any) -> Any:
    """Return a DataFrame as an Arrow table, or None if arrays represent it at least as well."""
    if all(isinstance(kind, np.dtype) and kind.kind != "O" for kind in df.dtypes):
        return None
    if not all(isinstance(column, str) for column in df.columns):
        return None
    if any(type(kind).__name__ == "PeriodDtype" for kind in df.dtypes):
        return None  # Arrow would keep only the ordinals
    try:
        pa = library("from_pandas", "pyarrow", "arrow")
        table = pa.Table.from_pandas(df, preserve_index=False)
    except (ModuleNotFoundError, NotImplementedError, OverflowError, TypeError, ValueError):
        return None
    if any(pa.types.is_null(kind) for kind in table.schema.types):
        return None
    changed = any(_becomes_another(df[name]) for name in df.columns if df[name].dtype == object)
    return None if changed else table


def _whole_arrow_of(df: Any) -> Any:
    """Return a DataFrame as an Arrow table, which records missing values."""
    pa = library("from_pandas", "pyarrow", "arrow")
    try:
        return pa.Table.from_pandas(df, preserve_index=False)
    except (NotImplementedError, OverflowError, TypeError, ValueError) as error:
        raise TypeError(
            "from_pandas: null_values needs columns that Arrow has: "
            f"{printable(str(error))}; use fillna"
        ) from None


def _refuse_missing(df: Any) -> None:
    """Raise an error for missing values, counted over all chunks of each polars column."""
    for column in df.get_columns() if hasattr(df, "get_columns") else ():
        kind = column.dtype
        if kind.is_float() or kind.is_temporal() or kind.is_nested() or str(kind) == "Null":
            continue
        if column.null_count():
            raise missing_values("from_polars", column.name, column.null_count())


def _becomes_another(column: Any) -> bool:
    """Return whether Arrow would change the type of objects, such as str to bytes, or sets."""
    kinds = set(map(type, column))
    return {str, bytes} <= kinds or not kinds.isdisjoint((set, frozenset))


class _Mapped(HeldTable):
    """The table of a Hugging Face dataset, pickled as the names of its files."""

    def __init__(self, ds: Any) -> None:
        self.ds = ds

    def __repr__(self) -> str:
        return f"<{len(self.ds)} rows>"

    def table(self) -> Any:
        """Return the columns selected by the dataset's format."""
        table = self.ds.data.table
        every = self.ds.format["output_all_columns"]
        return table if every else table.select(self.ds.format["columns"])
