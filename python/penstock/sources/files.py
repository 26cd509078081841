"""Sources for record files: TFRecord, fixed-length and text."""

from __future__ import annotations

import functools
import os
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from penstock import _core
from penstock.arguments.checked import checked
from penstock.dataset import Dataset
from penstock.encode import Reader, encode
from penstock.errors import TraceError
from penstock.on_error import MAX_ERRORS, OnError
from penstock.ops.symbol import Symbol
from penstock.ops.tracing import SymbolicReader
from penstock.paths import Names, compression_of, name_of, what_came
from penstock.sources.source import Source
from penstock.structure import TensorSpec
from penstock.traits import traits_of

# Number of files that num_parallel_reads=AUTOTUNE reads concurrently: a constant, so that the order
# of the records does not depend on the machine.
AUTOTUNE_READS = 8
_BUFFER_SIZE = 512 * 1024  # fits in a CPU cache
# Records to read ahead from each of several files. If a thread blocked after every record, waking
# it would take longer than reading.
_READ_AHEAD = 128


class TFRecordDataset(Source):
    """Read the records of TFRecord files as ``bytes``.

    Parameters
    ----------
    filenames : str, path, sequence of them, or Dataset of str
        The files, or their URLs.
    compression_type : str, optional
        "GZIP", "ZLIB" or "ZSTD"; None or "" for plain files.
    buffer_size : int, optional
        Size of each read in bytes, at most 256 MiB; None means 512 KiB.
    num_parallel_reads : int, optional
        None reads the files sequentially. `n` reads `n` files concurrently, alternating after each
        record; AUTOTUNE (-1) means 8.
    name : str, optional
        Name of the stage in errors, `Iterator.stats` and traces.
    on_error : "raise", "skip", "log" or callable
        Action for a record or file that cannot be read; see :doc:`/guides/errors`.
    max_errors : int, optional
        Maximum number of consecutive errors to skip, >= 1; None means no limit.
    max_record_bytes : int, optional
        Maximum size of a record in bytes, >= 1; None means 256 MiB. A reader uses at most about
        twice as much memory, whatever a compressed file expands to. A longer record raises an
        error, and the next file follows.
    indexed : bool, str or path
        Whether to use the indexes written by `index`, next to the files or in the folder given
        here. Then the length is known, ``ds[i]`` reads one record, and `shuffle` and
        `global_shuffle` shuffle positions. Files must be uncompressed and are read sequentially;
        `num_parallel_reads` must be None.
    storage_options : dict, optional
        Options for URLs, as in `remote.configure`, also for all later URLs in the same folder.

    Raises
    ------
    OSError
        While iterating, at the position of a file that cannot be read (FileNotFoundError, ...); the
        next file follows. At the call, with `indexed`, for a file without an index.
    DataError
        At the call, with `indexed`, for an index that is damaged, or older than its file. While
        iterating, at the position of a record whose checksum is wrong; the next record follows. If
        a length is damaged or the file is truncated, the next file follows.
    ValueError
        If an argument is invalid, or support for the compression was not built in.

    Notes
    -----
    Both checksums of every record are verified. Memory is allocated only for bytes that arrive,
    whatever a damaged length states; a zstd file may need a window of up to 128 MiB. Files are read
    without the GIL. With `num_parallel_reads` each file has its own thread, and the order is always
    the same. A saved state holds byte offsets; to resume in a compressed file, it is decompressed
    again up to that offset. A pipe can be read only once, from its beginning.

    Examples
    --------
    >>> with ps.io.TFRecordWriter("animals.tfrecord") as writer:
    ...     for record in (b"cat", b"dog"):
    ...         writer.write(record)
    >>> list(ps.TFRecordDataset("animals.tfrecord"))
    [b'cat', b'dog']
    """

    __slots__ = ()

    @checked
    def __init__(
        self,
        filenames: Names | Sequence[Names] | Dataset,
        compression_type: str | None = None,
        buffer_size: int | None = None,
        num_parallel_reads: int | None = None,
        name: str | None = None,
        *,
        on_error: OnError = "raise",
        max_errors: int | None = MAX_ERRORS,
        max_record_bytes: int | None = None,
        indexed: bool | Names = False,
        storage_options: Mapping[str, Any] | None = None,
    ) -> None:
        args = file_args("TFRecordDataset", compression_type, buffer_size, max_record_bytes)
        self._become(
            read_files(
                "tf_record",
                filenames,
                args,
                num_parallel_reads,
                name=name,
                on_error=on_error,
                max_errors=max_errors,
                indexed=indexed,
            )
        )


class FixedLengthRecordDataset(Source):
    """Read records of a fixed length, `record_bytes` each, from binary files as ``bytes``.

    Parameters
    ----------
    filenames : str, path, sequence of them, or Dataset of str
        The files, or their URLs.
    record_bytes : int
        Size of each record in bytes, at least 1.
    header_bytes, footer_bytes : int, optional
        Bytes to skip at the beginning and at the end of each file; None means 0.
    buffer_size, compression_type, num_parallel_reads, name, on_error, max_errors
        As in `TFRecordDataset`.
    indexed : bool
        Whether to read records by position, as in `TFRecordDataset`. Needs no index files: the
        sizes of the files, which are read at the call, determine the positions.
    storage_options : dict, optional
        Options for URLs, as in `remote.configure`, also for all later URLs in the same folder.

    Raises
    ------
    OSError
        While iterating, at the position of a file that cannot be read; the next file follows. With
        `indexed`, at the call.
    DataError
        While iterating: after the last complete record of a file whose bytes between header and
        footer are not a multiple of `record_bytes`; and if the name and first bytes of a file
        indicate a compression that `compression_type` does not. The next file follows.
    ValueError
        If an argument is invalid, or support for the compression was not built in.

    Notes
    -----
    Order, saved states and pipes are as in `TFRecordDataset`.

    Examples
    --------
    >>> from pathlib import Path
    >>> Path("pairs.bin").write_bytes(b"HEADaabbcc")
    10
    >>> list(ps.FixedLengthRecordDataset("pairs.bin", 2, header_bytes=4))
    [b'aa', b'bb', b'cc']
    """

    __slots__ = ()

    @checked
    def __init__(
        self,
        filenames: Names | Sequence[Names] | Dataset,
        record_bytes: int,
        header_bytes: int | None = None,
        footer_bytes: int | None = None,
        buffer_size: int | None = None,
        compression_type: str | None = None,
        num_parallel_reads: int | None = None,
        name: str | None = None,
        *,
        on_error: OnError = "raise",
        max_errors: int | None = MAX_ERRORS,
        indexed: bool = False,
        storage_options: Mapping[str, Any] | None = None,
    ) -> None:
        if not isinstance(indexed, bool):
            raise TypeError(
                "FixedLengthRecordDataset: indexed must be a bool, since no indexes are read, got "
                f"{indexed!r}"
            )
        args = {
            "record_bytes": record_bytes,
            "header_bytes": 0 if header_bytes is None else header_bytes,
            "footer_bytes": 0 if footer_bytes is None else footer_bytes,
            **file_args("FixedLengthRecordDataset", compression_type, buffer_size),
        }
        self._become(
            read_files(
                "fixed_length_record",
                filenames,
                args,
                num_parallel_reads,
                name=name,
                on_error=on_error,
                max_errors=max_errors,
                indexed=indexed,
            )
        )


class TextLineDataset(Source):
    r"""Read the lines of text files as ``bytes``, without ``\n`` or ``\r\n``.

    Parameters
    ----------
    filenames : str, path, sequence of them, or Dataset of str
        The files, or their URLs.
    compression_type, buffer_size, num_parallel_reads, name, on_error, max_errors
        As in `TFRecordDataset`.
    num_parallel_calls : int, optional
        Number of threads that read sections of the same file; AUTOTUNE (-1) uses one per CPU. None
        reads in the consumer's thread. Order, saved states and errors are the same.
    max_record_bytes : int, optional
        Maximum size of a line in bytes; otherwise as in `TFRecordDataset`.
    indexed : bool, str or path
        As in `TFRecordDataset`.
    storage_options : dict, optional
        Options for URLs, as in `remote.configure`, also for all later URLs in the same folder.

    Raises
    ------
    OSError
        While iterating, at the position of a file that cannot be read (FileNotFoundError, ...); the
        next file follows.
    DataError
        While iterating, if compressed data is truncated, a file is modified, or a file is
        compressed although `compression_type` does not indicate it; the next file follows.
    ValueError
        If an argument is invalid, or support for the compression was not built in.

    Notes
    -----
    Order, saved states and pipes are as in `TFRecordDataset`. The threads of `num_parallel_calls`
    read only local, uncompressed files of at least four times `buffer_size` bytes; other files are
    read without them. A UTF-8 byte order mark at the beginning of a file is skipped.

    Examples
    --------
    >>> from pathlib import Path
    >>> Path("poem.txt").write_text("one\ntwo\n")
    8
    >>> list(ps.TextLineDataset("poem.txt"))
    [b'one', b'two']
    """

    __slots__ = ()

    @checked
    def __init__(
        self,
        filenames: Names | Sequence[Names] | Dataset,
        compression_type: str | None = None,
        buffer_size: int | None = None,
        num_parallel_reads: int | None = None,
        name: str | None = None,
        *,
        num_parallel_calls: int | None = None,
        on_error: OnError = "raise",
        max_errors: int | None = MAX_ERRORS,
        max_record_bytes: int | None = None,
        indexed: bool | Names = False,
        storage_options: Mapping[str, Any] | None = None,
    ) -> None:
        args = file_args("TextLineDataset", compression_type, buffer_size, max_record_bytes)
        if num_parallel_calls is not None:
            if indexed is not False:
                raise ValueError(
                    "TextLineDataset: with indexed, num_parallel_calls must be None, got "
                    f"{num_parallel_calls}: lines are read by their positions"
                )
            args["num_parallel_calls"] = num_parallel_calls
        self._become(
            read_files(
                "text_line",
                filenames,
                args,
                num_parallel_reads,
                name=name,
                on_error=on_error,
                max_errors=max_errors,
                indexed=indexed,
            )
        )


def file_args(
    stage: str,
    compression_type: str | None,
    buffer_size: int | None,
    max_record_bytes: int | None = None,
) -> dict[str, Any]:
    """Return the arguments that all file formats share."""
    if buffer_size is not None and buffer_size < 0:
        raise ValueError(f"{stage}: buffer_size must be >= 0 bytes, got {buffer_size}")
    args = {
        "compression_type": compression_of(compression_type),
        "buffer_size": _BUFFER_SIZE if buffer_size is None else buffer_size,
    }
    # Omitted if None, so that plans without it stay unchanged.
    return args if max_record_bytes is None else args | {"max_record_bytes": max_record_bytes}


def read_files(
    kind: str,
    filenames: Any,
    args: dict[str, Any],
    num_parallel_reads: int | None,
    deterministic: bool | None = None,
    *,
    name: str | None = None,
    on_error: OnError = "raise",
    max_errors: int | None = MAX_ERRORS,
    indexed: bool | Names = False,
    shown_as: str | None = None,
) -> Dataset:
    """Return a dataset of the records of files, with parallel reads if requested.

    Errors begin with `shown_as`, the name that the user called; None means the name of the format.
    """
    stage = traits_of(kind).format if shown_as is None else shown_as
    if shown_as is not None:
        args = args | {"shown_as": shown_as}
    if indexed is not False:
        if num_parallel_reads is not None:
            raise ValueError(
                f"{stage}: with indexed, num_parallel_reads must be None, got "
                f"{num_parallel_reads}: files come one after the other, and those that are far "
                "apart are asked for together"
            )
        made = indexed_files(kind, names_of(stage, filenames), args, indexed, name, stage)
        return made._without_errors(stage, on_error, max_errors)
    if isinstance(filenames, Symbol):
        if on_error != "raise":
            raise TraceError(
                f"{stage}: a native function cannot say on_error; give it to the "
                "flat_map or interleave that calls the function"
            )
        reader = _core.reader(kind, encode(kind, args))
        return SymbolicReader(reader, filenames, (kind, args))  # type: ignore[return-value]
    records = _records(kind, filenames, args, num_parallel_reads, deterministic, name, stage)
    return records._without_errors(stage, on_error, max_errors)


def names_of(stage: str, filenames: Any) -> list[str]:
    """Return file names as a list of str; a Dataset of names is iterated now."""
    if isinstance(filenames, (str, bytes, os.PathLike)):
        return [name_of(stage, "filenames", filenames)]
    if hasattr(filenames, "read") or not np.iterable(filenames):
        raise TypeError(
            f"{stage}: filenames must be a path, a list of paths or a Dataset of them, got "
            f"{what_came(filenames)}"
        )
    return [name_of(stage, "each of filenames", name) for name in filenames]


def indexed_files(
    kind: str,
    names: list[str],
    args: dict[str, Any],
    indexed: bool | Names,
    name: str | None = None,
    stage: str = "index",
) -> Dataset:
    """Return the records of files by their indexes, next to the files or in a folder."""
    folder = "" if indexed is True else name_of(stage, "indexed", indexed)
    files = Dataset.from_tensor_slices(np.array(names, dtype=object))
    return files._then("indexed_records", reader=Reader(kind, args), folder=folder, name=name)


def _records(
    kind: str,
    filenames: Any,
    args: dict[str, Any],
    num_parallel_reads: int | None,
    deterministic: bool | None,
    name: str | None,
    stage: str,
) -> Dataset:
    if isinstance(filenames, (str, bytes, os.PathLike)):
        path = name_of(stage, "filenames", filenames)
        return Dataset._make(kind, (), {"filename": path, **args}, name)
    if isinstance(filenames, Dataset):
        files = filenames
        if files._node.spec(TensorSpec) == TensorSpec((), object):  # the readers take str only
            files = files.map(functools.partial(name_of, stage, "each of filenames"))
    else:
        names = np.array(names_of(stage, filenames), dtype=object)
        files = Dataset.from_tensor_slices(names)
    reader = Reader(kind, args)
    if num_parallel_reads is None:
        return files._then("flat_map", map_func=reader, name=name)
    reads = AUTOTUNE_READS if num_parallel_reads == -1 else num_parallel_reads
    return files._then(
        "interleave",
        map_func=reader,
        cycle_length=reads,
        block_length=1,
        num_parallel_calls=reads,
        deterministic=deterministic,
        buffer_output_elements=_READ_AHEAD,
        name=name,
    )
