"""Batches of named columns from CSV files: make_csv_dataset."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from penstock import _core
from penstock.arguments.checked import checked
from penstock.dataset import AUTOTUNE, Dataset
from penstock.experimental.csv_columns import CsvColumns
from penstock.experimental.csv_records import CsvFields, csv_fields
from penstock.experimental.epochs import shuffled_epochs
from penstock.ops.native import native
from penstock.paths import Names, patterns_of
from penstock.sources.files import AUTOTUNE_READS, file_args, read_files
from penstock.stages.arguments import check_batch_size

__all__ = ["make_csv_dataset"]


class _Named:
    """Name the columns, and separate the label."""

    def __init__(self, names: Sequence[str], label: str | None) -> None:
        self.names = names
        self.label = label

    def __call__(self, *columns: Any) -> Any:
        features = dict(zip(self.names, columns, strict=True))
        return features if self.label is None else (features, features.pop(self.label))


class _WholeRecords:
    """Open a file as the fields of its records, and skip records that fail.

    Failed records are skipped within each file, so they take neither a turn of the interleaving nor
    a place in a shuffle buffer.
    """

    def __init__(self, args: dict[str, Any], fields: CsvFields, calls: int | None) -> None:
        self.args = args
        self.fields = fields
        self.calls = calls

    def __call__(self, name: str) -> Dataset:
        records = read_files("csv_record", name, self.args, None, shown_as="make_csv_dataset")
        columns = csv_fields("make_csv_dataset", records, self.fields, self.calls)
        return columns.ignore_errors()

    def of(self, files: Dataset, reads: int | None, deterministic: bool | None) -> Dataset:
        """Return the records of files, several of which are read concurrently if `reads` is set."""
        if reads is None:
            dataset = files.flat_map(self)
        else:
            reads = AUTOTUNE_READS if reads == -1 else reads
            dataset = files.interleave(self, reads, 1, reads, deterministic)
        dataset._node.set_spec(self.fields.spec())
        return dataset


@checked
def make_csv_dataset(
    file_pattern: Names | Sequence[Names],
    batch_size: int,
    column_names: Sequence[str] | None = None,
    column_defaults: Sequence[Any] | None = None,
    label_name: str | None = None,
    select_columns: Sequence[str | int] | None = None,
    field_delim: str = ",",
    use_quote_delim: bool = True,
    na_value: str = "",
    header: bool = True,
    num_epochs: int | None = None,
    shuffle: bool = True,
    shuffle_buffer_size: int = 10000,
    shuffle_seed: int | None = None,
    prefetch_buffer_size: int | None = None,
    num_parallel_reads: int | None = None,
    sloppy: bool = False,
    num_rows_for_inference: int | None = 100,
    compression_type: str | None = None,
    ignore_errors: bool = False,
    encoding: str = "utf-8",
    *,
    num_parallel_calls: int | None = None,
    max_record_bytes: int | None = None,
    storage_options: Mapping[str, Any] | None = None,
) -> Dataset:
    r"""Read CSV files into batches of named columns.

    Parameters
    ----------
    file_pattern : str, path, or sequence of them
        The files, or patterns as in `Dataset.list_files`.
    batch_size : int
        Records per batch, >= 1.
    column_names : sequence of str, optional
        Names of all columns; None reads them from the headers, which must be equal in all files.
    column_defaults : sequence, optional
        As `record_defaults` of `CsvDataset`, for the selected columns, in their order in the file.
        None infers the types: the first of int32, int64, float32, float64 and `bytes` that fits all
        values examined; empty fields are then 0 or ``b""``.
    label_name : str, optional
        The column to return separately.
    select_columns : sequence of str or int, optional
        The columns to read, by name or number; None reads all.
    field_delim, use_quote_delim, na_value
        As in `CsvDataset`.
    header : bool
        Whether the first record of each file contains column names.
    num_epochs : int, optional
        Number of epochs; None repeats forever.
    shuffle : bool
        Whether to reshuffle files and records in each epoch.
    shuffle_buffer_size : int
        Records in the buffer, as in `Dataset.shuffle`.
    shuffle_seed : int, optional
        Seed of the shuffles; None draws differently in each run, unless `set_seed` was called.
    prefetch_buffer_size : int, optional
        Number of batches to prefetch; AUTOTUNE (-1) or None picks the number, 0 prefetches none.
    num_parallel_reads : int, optional
        Number of files to read concurrently, alternating after each record; None reads
        sequentially.
    sloppy : bool
        Whether to skip the turn of a file that has no record ready, which may change the order.
    num_rows_for_inference : int, optional
        Number of records to read to infer the types; None means all.
    compression_type : str, optional
        "GZIP", "ZLIB" or "ZSTD"; None or "" for plain files.
    ignore_errors : bool
        Whether to skip records that cannot be decoded and the rest of files that cannot be read, as
        `Dataset.ignore_errors` does, up to 100 consecutive errors per file. Does not apply while
        names and types are inferred.
    encoding : str
        The encoding of the files, used to infer names and types.
    num_parallel_calls : int, optional
        As in `CsvDataset`; with `ignore_errors`, for each of the files read concurrently.
    max_record_bytes : int, optional
        As in `TextLineDataset`.
    storage_options : dict, optional
        Options for URLs, as in `remote.configure`, also for all later URLs in the same folder.

    Returns
    -------
    Dataset
        Dicts from column names to arrays of shape ``(batch_size,)``, in the order of the columns;
        with `label_name`, pairs ``(dict, array)``. With ``num_epochs=None`` every batch is full;
        otherwise the last one may have fewer records.

    Raises
    ------
    FileNotFoundError
        If a pattern matches nothing.
    ValueError
        If names are not unique, do not exist, or differ between files; if a record that is examined
        has a different number of fields; or if another argument is invalid.
    DataError, OSError
        While iterating, as in `CsvDataset`; with `ignore_errors` only after 100 consecutive errors.

    Examples
    --------
    >>> from pathlib import Path
    >>> _ = Path("points.csv").write_text("x,y,kind\n1,0.5,a\n2,1.5,b\n3,2.5,a\n")
    >>> ds = ps.experimental.make_csv_dataset(
    ...     "points.csv", 2, label_name="kind", num_epochs=1, shuffle=False)
    >>> columns, kind = ds.first()
    >>> columns
    {'x': array([1, 2], dtype=int32), 'y': array([0.5, 1.5], dtype=float32)}
    >>> kind
    array([b'a', b'b'], dtype=object)
    """
    check_batch_size("make_csv_dataset", batch_size)
    patterns = patterns_of("make_csv_dataset", "file_pattern", file_pattern)
    files = sorted(Dataset.list_files(patterns, shuffle=False)._uncounted())
    args = {
        "header": header,
        "field_delim": field_delim,
        "use_quote_delim": use_quote_delim,
        **file_args("make_csv_dataset", compression_type, None, max_record_bytes),
    }
    columns = CsvColumns(files, args, encoding)
    names = columns.names() if column_names is None else [str(name) for name in column_names]
    twice = sorted({name for name in names if names.count(name) > 1})
    if twice:
        raise ValueError(f"make_csv_dataset: names of columns must be unique, {twice} are not")
    selected = _selected(range(len(names)) if select_columns is None else select_columns, names)
    if column_defaults is None:
        column_defaults = columns.defaults(len(names), selected, na_value, num_rows_for_inference)
    if len(column_defaults) != len(selected):
        raise ValueError(
            f"make_csv_dataset: column_defaults must have {len(selected)} entries, one for each "
            f"column that is read, got {len(column_defaults)}"
        )
    names = [names[i] for i in selected]
    if label_name is not None and label_name not in names:
        raise ValueError(f"make_csv_dataset: label_name must be one of {names}, got {label_name!r}")
    fields = CsvFields(
        range(len(selected)),
        record_defaults=list(column_defaults),
        field_delim=field_delim,
        use_quote_delim=use_quote_delim,
        na_value=na_value,
        select_cols=None if select_columns is None else selected,
    )
    dataset = Dataset.from_tensor_slices(np.array(files, dtype=object))
    if shuffle:
        dataset = dataset.shuffle(len(files), shuffle_seed)
    deterministic = False if sloppy else None
    epochs = (num_epochs, shuffle, shuffle_buffer_size, shuffle_seed)
    if ignore_errors:
        whole = _WholeRecords(args, fields, num_parallel_calls)
        dataset = shuffled_epochs(whole.of(dataset, num_parallel_reads, deterministic), *epochs)
    else:
        records = read_files(
            "csv_record",
            dataset,
            args,
            num_parallel_reads,
            deterministic,
            shown_as="make_csv_dataset",
        )
        # Records are decoded after the shuffle, where many are available together.
        records = shuffled_epochs(records, *epochs)
        dataset = csv_fields("make_csv_dataset", records, fields, num_parallel_calls)
    dataset = dataset.batch(batch_size, drop_remainder=num_epochs is None)
    named = _Named(names, label_name)
    spec = dataset.element_spec
    dataset = dataset.map(native(named))
    dataset._node.set_spec(_core.Spec(named(*spec)))
    return dataset.prefetch(AUTOTUNE if prefetch_buffer_size is None else prefetch_buffer_size)


def _selected(columns: Sequence[str | int], names: list[str]) -> list[int]:
    """Return the indices of columns, ascending."""
    numbers = []
    for column in columns:
        known = column in names if isinstance(column, str) else 0 <= column < len(names)
        if not known:
            raise ValueError(
                "make_csv_dataset: select_columns must be names or numbers of the columns "
                f"{names}, got {column!r}"
            )
        numbers.append(names.index(column) if isinstance(column, str) else int(column))
    if len(set(numbers)) != len(numbers):
        raise ValueError(
            f"make_csv_dataset: select_columns must name a column once, got {list(columns)}"
        )
    return sorted(numbers)
