"""Table files: ParquetDataset and ArrowDataset."""

from __future__ import annotations

import threading
from collections.abc import Collection, Iterable, Mapping, Sequence
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, NamedTuple, TypeAlias

from penstock import _core
from penstock.arguments.checked import checked
from penstock.dataset import Dataset
from penstock.encode import Indexable
from penstock.errors import DataError
from penstock.libraries import as_data_error, library, library_errors
from penstock.on_error import MAX_ERRORS, OnError
from penstock.paths import Names, is_url
from penstock.plain_tables import PlainTables, column_of, names_of_columns
from penstock.printable import printable
from penstock.sources.arrow_ipc import FileVersion, IpcFile, version_of
from penstock.sources.files import names_of
from penstock.sources.source import Source

if TYPE_CHECKING:
    from penstock.remote.reading import ObjectReader

_Source: TypeAlias = "str | ObjectReader"

_READS = 2  # concurrent reads of row groups, unless num_parallel_reads is given
_OPENED = 16  # concurrent reads of file footers
_KEPT = 8  # idle files that stay open


class ParquetDataset(Source):
    """Read the rows of Parquet files, each a dict of its columns.

    Parameters
    ----------
    filenames : str, path, sequence of them, or Dataset of str
        The files, all with the columns of the first one. The footer of each file, which describes
        its contents, is read at this call.
    columns : sequence of str, optional
        The columns to read, in this order; ``"a.b"`` is the column with that name or, if it does
        not exist, the field b of the struct a. None means all.
    batch_size : int, optional
        Rows per element, as in `batch`; None yields single rows.
    filters : list of tuples, or expression, optional
        The rows to read, as in pyarrow: ``[("age", ">", 3), ("name", "in", ["a", "b"])]``, or an
        expression of ``pyarrow.compute``. Row groups whose statistics exclude such rows are not
        read.
    num_parallel_reads : int, optional
        Number of row groups to read concurrently, ahead of their use; AUTOTUNE (-1) picks the
        number. None means 2.
    name : str, optional
        Name of the stage in errors, `Iterator.stats` and traces.
    drop_remainder : bool
        Drop a last batch with fewer than `batch_size` rows.
    null_values : mapping, optional
        Replacements for missing values, by column name, as in `Dataset.from_arrow`.
    on_error, max_errors
        As in `TFRecordDataset`.
    storage_options : dict, optional
        Options for URLs, as in `remote.configure`, also for all later URLs in the same folder.

    Raises
    ------
    ModuleNotFoundError
        If pyarrow is not installed: ``pip install 'penstock[arrow]'``.
    ValueError, TypeError
        If an argument is invalid, or a column has a type that NumPy lacks. While iterating, at the
        position of a row group with missing values without a replacement.
    OSError, DataError
        While iterating, at the position of a file that cannot be read, or of a damaged row group:
        one error is raised for all its rows, and the next row group follows. At the call, if no
        file can be read.

    Notes
    -----
    Columns become arrays as in `Dataset.from_arrow`, in pyarrow's memory until they are batched,
    but strings are bytes. A missing value of another type than floats and times raises unless
    `null_values` has a value for it. A column that has only missing values, or only empty lists, in
    one file has the type of the other files. If a file is modified or replaced while the dataset
    exists, each row group that is read from the new version raises `DataError`.

    Rows are in the order of the files and of the rows in them, whatever `num_parallel_reads` is.
    That many row groups are in memory, plus one or two. A saved state holds a row group and a row:
    a restored iterator reads that row group again. Without `filters` the number of rows is known,
    and `experimental.at` works: it reads the row group that contains the row, and the last two row
    groups are cached. `select` and `global_shuffle` cache as many rows as fit into half of
    ``Options.memory_limit``.

    Examples
    --------
    >>> import pyarrow as pa, pyarrow.parquet
    >>> table = pa.table({"age": [3, 7, 5], "name": ["Tom", "Ida", "Rex"]})
    >>> pa.parquet.write_table(table, "pets.parquet")
    >>> ds = ps.ParquetDataset("pets.parquet", filters=[("age", ">", 3)])
    >>> list(ds)
    [{'age': np.int64(7), 'name': b'Ida'}, {'age': np.int64(5), 'name': b'Rex'}]
    >>> ps.ParquetDataset("pets.parquet", columns=["age"], batch_size=2).first()
    {'age': array([3, 7])}
    """

    __slots__ = ()

    @checked
    def __init__(
        self,
        filenames: Names | Sequence[Names] | Dataset,
        columns: Sequence[str] | None = None,
        batch_size: int | None = None,
        filters: Any = None,
        num_parallel_reads: int | None = None,
        name: str | None = None,
        *,
        drop_remainder: bool = False,
        null_values: Mapping[str, Any] | None = None,
        on_error: OnError = "raise",
        max_errors: int | None = MAX_ERRORS,
        storage_options: Mapping[str, Any] | None = None,
    ) -> None:
        reader = _Parquet("ParquetDataset", columns, filters, null_values)
        rows = _rows_of(reader, filenames, num_parallel_reads, name)
        rows = rows._without_errors(reader.stage, on_error, max_errors)
        self._become(rows if batch_size is None else rows.batch(batch_size, drop_remainder))


class ArrowDataset(Source):
    """Read the rows of files in Arrow IPC (Feather) format, each a dict of its columns.

    Parameters
    ----------
    filenames : str, path, sequence of them, or Dataset of str
        The files, in file or stream format, all with the columns of the first one.
    columns : sequence of str, optional
        The columns to read, in this order; None means all.
    batch_size, filters, num_parallel_reads, name, drop_remainder, null_values, on_error, max_errors
        As in `ParquetDataset`, with record batches in place of row groups.
    storage_options : dict, optional
        Options for URLs, as in `remote.configure`, also for all later URLs in the same folder.

    Raises
    ------
    ModuleNotFoundError
        If pyarrow is not installed: ``pip install 'penstock[arrow]'``.
    ValueError, TypeError, OSError, DataError
        As in `ParquetDataset`.

    Notes
    -----
    A record batch is read when its first row is requested. In the file format, only the columns
    that are needed are read. Other behaviour is as in `ParquetDataset`. To shuffle all rows of
    uncompressed files, pass the mapped table:
    ``Dataset.from_arrow(pyarrow.ipc.open_file(pyarrow.memory_map(path)).read_all())``. Never
    truncate such a file: the operating system kills a process that reads the missing part.

    Examples
    --------
    >>> import pyarrow as pa, pyarrow.feather
    >>> pa.feather.write_feather(pa.table({"x": [1, 2, 3]}), "numbers.feather")
    >>> list(ps.ArrowDataset("numbers.feather", batch_size=2))
    [{'x': array([1, 2])}, {'x': array([3])}]
    """

    __slots__ = ()

    @checked
    def __init__(
        self,
        filenames: Names | Sequence[Names] | Dataset,
        columns: Sequence[str] | None = None,
        batch_size: int | None = None,
        filters: Any = None,
        num_parallel_reads: int | None = None,
        name: str | None = None,
        *,
        drop_remainder: bool = False,
        null_values: Mapping[str, Any] | None = None,
        on_error: OnError = "raise",
        max_errors: int | None = MAX_ERRORS,
        storage_options: Mapping[str, Any] | None = None,
    ) -> None:
        reader = _Arrow("ArrowDataset", columns, filters, null_values)
        rows = _rows_of(reader, filenames, num_parallel_reads, name)
        rows = rows._without_errors(reader.stage, on_error, max_errors)
        self._become(rows if batch_size is None else rows.batch(batch_size, drop_remainder))


class _Fetched:
    """The input of the stage that yields rows: a table, and the file it was read from."""

    __slots__ = ("file", "table")

    def __init__(self, table: Any, file: str) -> None:
        self.table = table
        self.file = file


class _Chunk(NamedTuple):
    """A row group or record batch, or the error of a file that cannot be read."""

    file: str
    number: int
    rows: int
    error: Exception | None = None
    size: int | None = None  # bytes of the file when the dataset was created


class _Contents(NamedTuple):
    """The description in a file's footer: a table without rows, and the sizes of its chunks."""

    empty: Any
    sizes: dict[int, int]
    version: FileVersion | None = None  # of a local file
    size: int | None = None  # bytes of the file; None: not compared


class _Format:
    """Opening and reading files of one format."""

    form: str
    unit: str

    def __init__(
        self,
        stage: str,
        columns: Sequence[str] | None,
        filters: Any,
        null_values: Mapping[str, Any] | None,
    ) -> None:
        self.stage = stage
        library(stage, "pyarrow", "arrow")
        self.columns = None if columns is None else list(columns)
        if not all(isinstance(name, str) for name in self.columns or ()):
            raise TypeError(f"{stage}: columns must be a sequence of str, got {columns!r:.200}")
        self.filter = None
        if filters is not None:
            parquet = library(stage, "pyarrow.parquet", "arrow")
            try:
                self.filter = parquet.filters_to_expression(filters)
            except (TypeError, ValueError) as error:
                kind = TypeError if isinstance(error, TypeError) else ValueError
                raise kind(
                    f"{stage}: filters must be a list of (column, operator, value), or an "
                    f"expression of pyarrow, got {filters!r:.200}: {error}"
                ) from None
        self._plain = PlainTables(stage, False, null_values)

    def contents(self, path: str, source: _Source) -> _Contents:
        """Return the description of a file's contents."""
        raise NotImplementedError

    def open(self, source: _Source) -> Any:
        """Return an open file for `read`."""
        raise NotImplementedError

    def read(self, file: Any, number: int) -> Any:
        """Return a chunk as a table."""
        raise NotImplementedError

    def version(self, file: Any) -> FileVersion | None:
        """Return the present version of an open file; None for a remote file."""
        raise NotImplementedError

    def finished(self, table: Any, file: str = "") -> Any:
        """Return the requested columns, in order, with types that the engine supports.

        `file` is used in errors.
        """
        if self.columns is not None:
            tops = dict.fromkeys(column_of(name, table.column_names) for name in self.columns)
            table = table.select(list(tops))
        return self._plain.of(table, file)

    def learn(self, tables: list[Any]) -> None:
        """Take the types of columns without a type in some files from the other files."""
        self._plain.learn([table.schema for table in tables])

    def check(self, path: str, schema: Any, paths: Collection[str]) -> None:
        """Raise ValueError if the columns or filters refer to something the file lacks.

        `paths` are all that may be named, with the fields of structs. A file without columns, or
        with impossible names, raises DataError.
        """
        names = names_of_columns(self.stage, schema, path)
        if not names:
            raise DataError(f"{self.stage}: a file with columns was expected, got none", path)
        wanted = names if self.columns is None else self.columns
        if not wanted:
            raise ValueError(f"{self.stage}: columns must name at least one, got none")
        known = {*names, *(each for each in paths if column_of(each, names) in names)}
        if missing := [name for name in wanted if name not in known]:
            raise ValueError(
                f"{self.stage}: columns must be among {_listed(names)}, which {printable(path)} "
                f"has; got {_listed(missing)}"
            )
        tops = {column_of(name, names) for name in wanted}
        if twice := sorted(name for name in tops if names.count(name) > 1):
            raise DataError(
                f"{self.stage}: names of columns must be unique, got {_listed(twice)} more than "
                "once",
                path,
            )
        if self.filter is not None:
            pa = library(self.stage, "pyarrow", "arrow")
            try:
                schema.empty_table().filter(self.filter)
            except pa.ArrowException as error:
                raise ValueError(
                    f"{self.stage}: filters must compare columns with values of their types; "
                    f"{printable(path)} has {_listed(names)}: "
                    f"{printable(str(error).partition(' in ')[0])}"
                ) from None


class _Parquet(_Format):
    form = "Parquet's format"
    unit = "row group"

    def contents(self, path: str, source: _Source) -> _Contents:
        opened = self._opened(source)
        version = version_of(opened)
        file = self._file(opened)
        self.check(path, file.schema_arrow, _prefixes(file.schema))
        if self.filter is None:
            groups = range(file.num_row_groups)
            sizes = {i: file.metadata.row_group(i).num_rows for i in groups}
            return _Contents(file.read_row_groups([], self.columns), sizes, version)
        if any(name not in file.schema_arrow.names for name in self.columns or ()):
            raise ValueError(f"{self.stage}: with filters, columns must be whole ones")
        # Those whose statistics leave it open whether there are such rows.
        chosen = self._fragment(opened).split_by_row_group(filter=self.filter)
        sizes = {each.row_groups[0].id: each.row_groups[0].num_rows for each in chosen}
        return _Contents(file.schema_arrow.empty_table(), sizes, version)

    def read(self, file: Any, number: int) -> Any:
        _, rows = file
        # Another thread reads the next row group meanwhile.
        if self.filter is None:
            return rows.read_row_group(number, self.columns, use_threads=False)
        group = rows.subset(row_group_ids=[number])
        return group.to_table(filter=self.filter, columns=self.columns, use_threads=False)

    def open(self, source: _Source) -> Any:
        opened = self._opened(source)
        return opened, self._file(opened) if self.filter is None else self._fragment(opened)

    def version(self, file: Any) -> FileVersion | None:
        return version_of(file[0])

    def _opened(self, source: _Source) -> Any:
        # Not mapped: of a file that is truncated meanwhile, a read is an error, and no signal.
        if isinstance(source, str):
            return library(self.stage, "pyarrow", "arrow").OSFile(source)
        return source

    def _file(self, opened: Any) -> Any:
        parquet = library(self.stage, "pyarrow.parquet", "arrow")
        remote = version_of(opened) is None
        # Pages have checksums where the writer added them.
        return parquet.ParquetFile(opened, pre_buffer=remote, page_checksum_verification=True)

    def _fragment(self, opened: Any) -> Any:
        dataset = library(self.stage, "pyarrow.dataset", "arrow")
        verified = dataset.ParquetFragmentScanOptions(page_checksum_verification=True)
        format_ = dataset.ParquetFileFormat(default_fragment_scan_options=verified)
        return format_.make_fragment(opened)


class _Arrow(_Format):
    form = "Arrow's IPC format"
    unit = "record batch"

    def contents(self, path: str, source: _Source) -> _Contents:
        file = IpcFile(self.stage, source)
        self.check(path, file.schema, ())
        sizes = dict(enumerate(file.sizes()))
        size = None if file.opened is None else file.opened.size
        return _Contents(file.schema.empty_table(), sizes, file.opened, size)

    def open(self, source: _Source) -> Any:
        # A filter may refer to any column.
        columns = self.columns if self.filter is None else None
        return IpcFile(self.stage, source, columns)

    def read(self, file: Any, number: int) -> Any:
        table = file.batch(number)
        return table if self.filter is None else table.filter(self.filter)

    def version(self, file: Any) -> FileVersion | None:
        return version_of(file.source)


class _Opened(NamedTuple):
    """An open file, and the source it was opened from."""

    source: _Source
    file: Any


class _IdleFiles:
    """Files that were read last, which threads borrow: none is used by two at a time.

    `versions` are those of local files when the dataset was created. Another process, which may
    run on another machine, compares with the version that it opens first.
    """

    def __init__(self, versions: Mapping[str, FileVersion] = MappingProxyType({})) -> None:
        self._idle: list[tuple[str, _Opened]] = []
        self._versions = dict(versions)
        self._lock = threading.Lock()

    def __reduce__(self) -> tuple[Any, ...]:
        return _IdleFiles, ()

    def take(self, path: str) -> _Opened | None:
        """Remove and return an open file with this name, or None if there is none."""
        with self._lock:
            for i, (name, file) in enumerate(self._idle):
                if name == path:
                    del self._idle[i]
                    return file
        return None

    def is_same(self, chunk: _Chunk, version: FileVersion | None) -> bool:
        """Return whether a file was neither replaced nor written to."""
        if version is None:
            return True
        with self._lock:
            known = self._versions.setdefault(chunk.file, version)
        return version == known and chunk.size in (None, version.size)

    def give(self, path: str, file: _Opened) -> None:
        """Keep a file for its next reader; the oldest files beyond the limit are dropped."""
        with self._lock:
            self._idle.append((path, file))
            del self._idle[:-_KEPT]


def _listed(names: Iterable[str]) -> str:
    return printable(", ".join(names))


def _prefixes(schema: Any) -> set[str]:
    """Return the valid column paths of a Parquet file: columns, and fields of structs."""
    found = set()
    for number in range(len(schema)):
        path = schema.column(number).path
        while path:
            found.add(path)
            path = path.rpartition(".")[0]
    return found


class _Chunks:
    """The chunks of all files, in order."""

    def __init__(
        self, reader: _Format, chunks: list[_Chunk], versions: dict[str, FileVersion]
    ) -> None:
        self._reader = reader
        self._chunks = chunks
        self._idle = _IdleFiles(versions)

    def __len__(self) -> int:
        return len(self._chunks)

    def __getitem__(self, i: int) -> _Fetched:
        chunk = self._chunks[i]
        if chunk.error is not None:
            raise chunk.error
        reader = self._reader
        try:
            opened = self._idle.take(chunk.file) or self._open(chunk.file)
            if not isinstance(opened.source, str):  # pyarrow's threads belong to no run
                opened.source.cancel = _core.cancel_of_run()
            table = reader.finished(reader.read(opened.file, chunk.number), chunk.file)
            if not self._idle.is_same(chunk, reader.version(opened.file)):
                raise DataError(
                    f"{reader.stage}: the file was modified after this dataset was created; "
                    "create the dataset again",
                    chunk.file,
                )
            self._idle.give(chunk.file, opened)
        except Exception as error:
            where = f"{reader.unit} {chunk.number}: "
            raise as_data_error(reader.stage, chunk.file, where, error) from None
        return _Fetched(table, chunk.file)

    def _open(self, path: str) -> _Opened:
        source = _source(path, _core.cancel_of_run())
        return _Opened(source, self._reader.open(source))

    def __repr__(self) -> str:
        return f"{len(self._chunks)} {self._reader.unit}s"


def _rows_of(
    reader: _Format, filenames: Any, num_parallel_reads: int | None, name: str | None
) -> Dataset:
    files = names_of(reader.stage, filenames)
    found = _contents_of_all(reader, files)
    chunks: list[_Chunk] = []
    versions: dict[str, FileVersion] = {}
    for path, contents in zip(files, found, strict=True):
        if isinstance(contents, Exception):
            chunks.append(_Chunk(path, 0, 1, contents))
        else:
            sizes, size = contents.sizes, contents.size
            chunks += [_Chunk(path, number, rows, None, size) for number, rows in sizes.items()]
            if contents.version is not None:
                versions[path] = contents.version
    readable = [(p, c.empty) for p, c in zip(files, found, strict=True) if isinstance(c, _Contents)]
    if not readable:
        raise next(
            (c for c in found if isinstance(c, Exception)),
            ValueError(f"{reader.stage}: at least one file was expected, got none"),
        )
    reader.learn([empty for _, empty in readable])
    first, empty = readable[0]
    with library_errors(reader.stage, first):
        schema = reader.finished(empty, first)
    args: dict[str, Any] = {"part_of": reader.stage, "schema": schema}
    if reader.filter is None:
        args["sizes"] = [chunk.rows for chunk in chunks]
    reads = _READS if num_parallel_reads is None else num_parallel_reads
    fetched = Dataset.range(len(chunks))._then(
        "parallel_from_indexable",
        obj=Indexable(_Chunks(reader, chunks, versions), len(chunks)),
        output_signature=None,
        num_parallel_calls=reads,
        deterministic=True,
    )
    return fetched._then("table_rows", name=name, **args)


def _contents_of_all(reader: _Format, files: list[str]) -> list[_Contents | Exception]:
    from concurrent.futures import ThreadPoolExecutor  # imported here because it is slow to import

    cancel = _core.cancel_token()
    with ThreadPoolExecutor(_OPENED) as pool:
        try:
            return list(pool.map(lambda path: _contents(reader, path, cancel), files))
        except BaseException:  # Ctrl-C
            cancel.cancel()
            pool.shutdown(cancel_futures=True)
            raise


def _contents(reader: _Format, path: str, cancel: _core.CancelToken) -> _Contents | Exception:
    expected = f"a complete file in {reader.form} was expected: "
    try:
        return reader.contents(path, _source(path, cancel))
    except Exception as error:
        failure = as_data_error(reader.stage, path, expected, error)
        if failure is error and isinstance(error, (ValueError, TypeError)):
            raise  # an argument is invalid
        return failure


def _source(path: str, cancel: _core.CancelToken | None) -> _Source:
    """Return a source for pyarrow: a path, or an object that reads from a URL."""
    if not is_url(path):
        return path
    from penstock.remote.reading import ObjectReader

    return ObjectReader(path, cancel)
