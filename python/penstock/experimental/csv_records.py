"""CSV files: CsvDataset."""

from __future__ import annotations

import itertools
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from penstock import _core
from penstock.arguments.checked import checked
from penstock.dataset import Dataset
from penstock.ops.decoding import csv_types, decode_csv_records
from penstock.ops.native import native
from penstock.paths import Names
from penstock.sources.files import file_args, read_files
from penstock.sources.source import Source
from penstock.stages.map import map_for
from penstock.structure import TensorSpec

__all__ = ["CsvDataset"]


class CsvFields:
    """Decode records into tuples of columns."""

    def __init__(self, keep: Sequence[int], **arguments: Any) -> None:
        self.keep = keep
        self.arguments = arguments

    def __call__(self, records: Any) -> tuple[Any, ...]:
        columns = decode_csv_records(records, **self.arguments)
        return tuple(columns[i] for i in self.keep)

    def spec(self) -> _core.Spec:
        """Return the spec of the tuples."""
        types = csv_types(self.arguments["record_defaults"])
        return _core.Spec(tuple(TensorSpec((), types[i]) for i in self.keep))


def csv_fields(
    stage: str, records: Dataset, fields: CsvFields, num_parallel_calls: int | None = None
) -> Dataset:
    """Return the fields of records, whose types are known in advance."""
    dataset = map_for(stage, records, native(fields), num_parallel_calls, deterministic=True)
    dataset._node.set_spec(fields.spec())
    return dataset


class CsvDataset(Source):
    r"""Read the records of CSV files (RFC 4180).

    Elements are tuples of scalars, one for each of `record_defaults`.

    Parameters
    ----------
    filenames : str, path, sequence of them, or Dataset of str
        The files, read sequentially.
    record_defaults : sequence
        For each column that is read, the default for empty fields, or a type if no field may be
        empty, as in `io.decode_csv`.
    compression_type : str, optional
        "GZIP", "ZLIB" or "ZSTD"; None or "" for plain files.
    buffer_size : int, optional
        Size of each read in bytes; None means 512 KiB.
    header : bool
        Whether to skip the first record of each file.
    field_delim : str
        The character between fields.
    use_quote_delim : bool
        Whether fields may be enclosed in double quotes, with delimiters, line ends and doubled
        quotes inside; otherwise quotes are ordinary characters.
    na_value : str
        A text that is treated as an empty field.
    select_cols : sequence of int, optional
        The columns to read, ascending. Fields after the last one are not examined.
    exclude_cols : sequence of int, optional
        The columns to skip, ascending, as an alternative to `select_cols`.
    num_parallel_calls : int, optional
        Number of threads that decode records; AUTOTUNE (-1) picks the number. None decodes in the
        consumer's thread. Order, saved states and errors are the same.
    max_record_bytes : int, optional
        As in `TextLineDataset`.
    indexed : bool, str or path
        As in `TFRecordDataset`.
    storage_options : dict, optional
        Options for URLs, as in `remote.configure`, also for all later URLs in the same folder.

    Raises
    ------
    ValueError, TypeError
        If an argument is invalid.
    DataError
        While iterating, at the position of a record with a different number of fields, or with a
        field that is not a number of its type, or empty without a default. The error names field,
        file and byte offset, and the next record follows. After quotes that are still open at the
        end of a file, and for a file without the expected header, the next file follows.
    OSError
        While iterating, at the position of a file that cannot be read; the next file follows.

    Notes
    -----
    Records end with ``\n``, ``\r\n`` or ``\r``. A UTF-8 byte order mark at the beginning of a file
    is skipped. Reading and decoding are native and release the GIL. A saved state holds a byte
    offset.

    Examples
    --------
    >>> from pathlib import Path
    >>> _ = Path("pets.csv").write_text('name,age\n"Tom, the cat",3\nRex,\n')
    >>> for record in ps.experimental.CsvDataset("pets.csv", [str, -1], header=True):
    ...     record
    ('Tom, the cat', np.int32(3))
    ('Rex', np.int32(-1))
    """

    __slots__ = ()

    @checked
    def __init__(
        self,
        filenames: Names | Sequence[Names] | Dataset,
        record_defaults: Sequence[Any],
        compression_type: str | None = None,
        buffer_size: int | None = None,
        header: bool = False,
        field_delim: str = ",",
        use_quote_delim: bool = True,
        na_value: str = "",
        select_cols: Sequence[int] | None = None,
        exclude_cols: Sequence[int] | None = None,
        *,
        num_parallel_calls: int | None = None,
        max_record_bytes: int | None = None,
        indexed: bool | Names = False,
        storage_options: Mapping[str, Any] | None = None,
    ) -> None:
        defaults = list(record_defaults)
        keep = list(range(len(defaults)))
        if exclude_cols is not None:
            if select_cols is not None:
                raise ValueError("CsvDataset: one of select_cols and exclude_cols may be given")
            keep, defaults = _around(list(exclude_cols), defaults)
        fields = CsvFields(
            keep,
            record_defaults=defaults,
            field_delim=field_delim,
            use_quote_delim=use_quote_delim,
            na_value=na_value,
            select_cols=select_cols,
        )
        fields(np.empty(0, object))  # validates the arguments
        args = {
            "header": header,
            "field_delim": field_delim,
            "use_quote_delim": use_quote_delim,
            **file_args("CsvDataset", compression_type, buffer_size, max_record_bytes),
        }
        records = read_files("csv_record", filenames, args, None, indexed=indexed)
        self._become(csv_fields("CsvDataset", records, fields, num_parallel_calls))


def _around(left_out: list[int], defaults: list[Any]) -> tuple[list[int], list[Any]]:
    """Return the indices of the columns to keep, and the defaults of all columns."""
    if any(a >= b for a, b in itertools.pairwise([-1, *left_out])):
        raise ValueError(f"CsvDataset: exclude_cols must ascend from 0 or more, got {left_out}")
    keep: list[int] = []
    all_defaults: list[Any] = []
    while len(keep) < len(defaults) or len(all_defaults) in left_out:
        if len(all_defaults) in left_out:
            all_defaults.append(b"")
        else:
            all_defaults.append(defaults[len(keep)])
            keep.append(len(all_defaults) - 1)
    return keep, all_defaults
