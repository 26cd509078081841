"""Database rows: SqlDataset."""

from __future__ import annotations

import contextlib
import errno
import os
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

import numpy as np

from penstock.arguments.checked import checked
from penstock.dataset import Dataset
from penstock.errors import DataError
from penstock.libraries import library_errors
from penstock.paths import name_of
from penstock.printable import printable
from penstock.sources.fetched import local_file
from penstock.sources.source import Source
from penstock.structure import TensorSpec, as_dtype

__all__ = ["SqlDataset"]


class SqlDataset(Source):
    """Read the rows returned by an SQLite query.

    Elements are scalars, nested as `output_types`; their number is not known in advance. NULL
    becomes 0, False or an empty string; a number in a string column is written in decimal digits.

    Parameters
    ----------
    driver_name : str
        "sqlite", the only driver.
    data_source_name : str or path
        The database file, which is opened read-only. A database at a URL is downloaded completely
        to the folder for temporary files, once per process.
    query : str
        The query; each iterator runs it again.
    output_types : nested dtypes
        A type for each column: integers, bool, floats, `bytes` or `str`. Columns are assigned to
        leaves in order; the keys of a dict are sorted first.
    storage_options : dict, optional
        Options for URLs, as in `remote.configure`, also for all later URLs in the same folder.

    Raises
    ------
    ValueError
        If `driver_name` is unknown; while iterating, if SQLite rejects the query, or the query
        returns a different number of columns.
    TypeError
        If an argument has another type, such as an open file or a connection, or an output type is
        not supported. While iterating, at the position of a row with a value that its type cannot
        represent; the next row follows.
    OSError
        While iterating, if the file cannot be read, or another program has locked it.
    DataError
        While iterating, if the file is not a database, is damaged, or is truncated within a page
        (SQLite would read zeros); the data ends there.

    Notes
    -----
    A saved state holds the number of rows read: a restored iterator runs the query again and skips
    them, so the query should have an ORDER BY clause. Python's ``sqlite3`` is imported at the first
    iteration.

    Examples
    --------
    >>> import sqlite3
    >>> database = sqlite3.connect("pets.db")
    >>> _ = database.execute("CREATE TABLE pets (name TEXT, age INTEGER)")
    >>> _ = database.execute("INSERT INTO pets VALUES ('Tom', 3), ('Ida', 7)")
    >>> database.commit()
    >>> query = "SELECT name, age FROM pets ORDER BY age"
    >>> list(ps.experimental.SqlDataset("sqlite", "pets.db", query, (str, np.int32)))
    [('Tom', np.int32(3)), ('Ida', np.int32(7))]
    """

    __slots__ = ()

    @checked
    def __init__(
        self,
        driver_name: str,
        data_source_name: str | os.PathLike[str],
        query: str,
        output_types: Any,
        *,
        storage_options: Mapping[str, Any] | None = None,
    ) -> None:
        if driver_name != "sqlite":
            raise ValueError(f"SqlDataset: driver_name must be 'sqlite', got {driver_name!r}")
        signature = _mapped(output_types, lambda kind: TensorSpec((), _checked(kind)))
        path = name_of("SqlDataset", "data_source_name", data_source_name)
        rows = _Query(path, query, output_types)
        self._become(Dataset.from_generator(rows, output_signature=signature))


def _mapped(nested: Any, function: Callable[[Any], Any]) -> Any:
    """Apply a function to the leaves of nested tuples and dicts, in the order of sorted keys."""
    if isinstance(nested, Mapping):
        values = {key: _mapped(nested[key], function) for key in sorted(nested)}
        return {key: values[key] for key in nested}
    if isinstance(nested, tuple):
        parts = [_mapped(part, function) for part in nested]
        return type(nested)(*parts) if hasattr(nested, "_fields") else tuple(parts)
    return function(nested)


def _checked(kind: Any) -> Any:
    try:
        dtype = None if kind is None else as_dtype(kind)
    except TypeError:
        dtype = None
    if dtype in (bytes, str) or (isinstance(dtype, np.dtype) and dtype.kind in "biuf"):
        return dtype
    raise TypeError(
        "SqlDataset: output_types must be integers, bool, floats, bytes or str, in tuples or "
        f"dicts, got {kind!r}"
    )


class _Query:
    """Return an iterator over the rows, for each run."""

    def __init__(self, path: str, query: str, output_types: Any) -> None:
        self.path = path
        self.query = query
        self.output_types = output_types

    def __call__(self) -> Iterator[Any]:
        return _Rows(self)


class _Rows:
    """The rows of one run; an error belongs to its row, and the next row follows."""

    def __init__(self, query: _Query) -> None:
        self._query = query
        self._converters: list[Callable[[Any], Any]] = []
        _mapped(query.output_types, lambda kind: self._converters.append(_converter(kind)))
        self._cursor: Any = None
        self._connection: Any = None
        self._number = -1

    def __iter__(self) -> Iterator[Any]:
        return self

    def __next__(self) -> Any:
        if self._number < 0:
            self._number = 0
            self._open()
        row = None if self._cursor is None else self._fetch()
        if row is None:
            self._close()
            raise StopIteration
        number = self._number
        self._number += 1
        columns = zip(row, self._converters, strict=True)
        values = iter([self._converted(number, i, *pair) for i, pair in enumerate(columns)])
        return _mapped(self._query.output_types, lambda kind: next(values))

    def _open(self) -> None:
        import sqlite3

        path = Path(local_file(self._query.path))
        if not path.exists():
            raise FileNotFoundError(2, "SqlDataset: there is no such database", str(path))
        _check_end(path, self._query.path)
        # Only one thread uses the connection at any time, but not always the same one.
        with self._naming():
            self._connection = sqlite3.connect(
                f"{path.absolute().as_uri()}?mode=ro", uri=True, check_same_thread=False
            )
        try:
            with self._naming():
                cursor = self._connection.execute(self._query.query)
            columns = len(cursor.description or ())
            if columns != len(self._converters):
                raise ValueError(
                    f"SqlDataset: a query with {len(self._converters)} columns was expected, as "
                    f"output_types has, got {columns}"
                )
        except BaseException:
            self._close()
            raise
        self._cursor = cursor

    def _fetch(self) -> Any:
        try:
            with self._naming():
                return self._cursor.fetchone()
        except BaseException:
            self._close()
            raise

    @contextlib.contextmanager
    def _naming(self) -> Iterator[None]:
        """Convert SQLite errors to errors that name stage, row and file."""
        import sqlite3

        with library_errors("SqlDataset", self._query.path, f"row {self._number}: "):
            try:
                yield
            except (sqlite3.Error, sqlite3.Warning) as error:
                raise self._meaning(error) from error

    def _meaning(self, error: Exception) -> Exception:
        """Convert an SQLite error to an OSError, ValueError or DataError."""
        import sqlite3

        code = getattr(error, "sqlite_errorcode", None)
        primary = None if code is None else code & 0xFF
        said = printable(str(error))
        numbers = {
            sqlite3.SQLITE_BUSY: errno.EAGAIN,
            sqlite3.SQLITE_LOCKED: errno.EAGAIN,
            sqlite3.SQLITE_IOERR: errno.EIO,
            sqlite3.SQLITE_CANTOPEN: errno.EIO,
            sqlite3.SQLITE_PERM: errno.EACCES,
        }
        if primary in numbers:
            return OSError(numbers[primary], f"SqlDataset: {said}", self._query.path)
        of_query = primary in (sqlite3.SQLITE_ERROR, sqlite3.SQLITE_READONLY, sqlite3.SQLITE_AUTH)
        if of_query or isinstance(error, (sqlite3.ProgrammingError, sqlite3.Warning)):
            return ValueError(f"SqlDataset: query must be one that SQLite can run: {said}")
        return error

    def _close(self) -> None:
        self._cursor = None
        if self._connection is not None:
            self._connection.close()
            self._connection = None

    def _converted(self, row: int, column: int, value: Any, convert: Callable[[Any], Any]) -> Any:
        try:
            return convert(value)
        except (TypeError, ValueError):
            name = self._cursor.description[column][0]
            kind = convert.__name__
            raise TypeError(
                f"SqlDataset: row {row}: column {name!r} must be {kind}, got {value!r}"
            ) from None


def _check_end(path: Path, name: str) -> None:
    """Raise DataError if a file is truncated within a page, where SQLite would read zeros."""
    with path.open("rb") as file:
        head = file.read(18)
        size = os.fstat(file.fileno()).st_size
    if not head.startswith(b"SQLite format 3\0"):
        return  # empty, or not a database, which SQLite reports
    page = int.from_bytes(head[16:18], "big")
    page = 1 << 16 if page == 1 else page
    if page and size % page:
        raise DataError(
            f"SqlDataset: pages of {page} bytes were expected, the last one has {size % page}: the "
            "database is cut off",
            name,
            size,
        )


def _converter(kind: Any) -> Callable[[Any], Any]:
    """Return a function, named after the type, that converts SQLite values to the type."""
    dtype = _checked(kind)
    if dtype is bytes:
        convert: Callable[[Any], Any] = _to_bytes
    elif dtype is str:
        convert = _to_text
    elif dtype.kind == "f":
        convert = _to_float
    elif dtype.kind == "b":
        convert = _to_bool
    else:
        bounds = (np.iinfo(dtype).min, np.iinfo(dtype).max)

        def convert(value: Any) -> int:
            return _to_int(value, *bounds)

    def named(value: Any) -> Any:
        return convert(value)

    named.__name__ = dtype.__name__ if isinstance(dtype, type) else dtype.name
    return named


def _to_bytes(value: Any) -> bytes:
    if isinstance(value, bytes):
        return value
    return b"" if value is None else str(value).encode()


def _to_text(value: Any) -> str:
    if isinstance(value, bytes):
        return value.decode()
    return "" if value is None else str(value)


def _to_float(value: Any) -> float:
    if value is None:
        return 0.0
    if isinstance(value, (int, float)):
        return float(value)
    raise TypeError


def _to_bool(value: Any) -> bool:
    if value is None or isinstance(value, int):
        return bool(value)
    raise TypeError


def _to_int(value: Any, low: int, high: int) -> int:
    if value is None:
        return 0
    if isinstance(value, float) and value.is_integer():
        value = int(value)
    if isinstance(value, int) and low <= value <= high:
        return value
    raise TypeError
