"""JSON Lines files, with one JSON value per line: JSONLinesDataset."""

from __future__ import annotations

import functools
import importlib
import json
import os
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from penstock import _core
from penstock.arguments.checked import checked
from penstock.dataset import Dataset
from penstock.encode import JsonFields
from penstock.errors import DataError
from penstock.on_error import MAX_ERRORS, OnError
from penstock.paths import Names
from penstock.sources.files import file_args, read_files
from penstock.sources.source import Source
from penstock.stages.map import map_for
from penstock.structure import TensorSpec

_STAGE = "JSONLinesDataset"
_LONG = 19  # minimum digits of an integer that may exceed 64 bits
_COMPRESSIONS = {".gz": "GZIP", ".zst": "ZSTD"}


class JSONLinesDataset(Source):
    r"""Read JSON Lines files, with one JSON value per line.

    Parameters
    ----------
    filenames : str, path, sequence of them, or Dataset of str
        The files.
    signature : nested dict of TensorSpec, optional
        The fields to read, which become elements of this structure: numbers, bools, `str` or
        `bytes`; lists of a fixed size, or of any size, ``TensorSpec((None,), ...)``. Other fields
        are skipped. Without a signature, an element is the dict or list that Python's parser
        returns.
    compression_type : str, optional
        "GZIP", "ZLIB", "ZSTD" or "" for none. None chooses by the suffix of the names, ``.gz`` or
        ``.zst``.
    num_parallel_reads : int, optional
        None reads the files sequentially; otherwise as in `TFRecordDataset`.
    num_parallel_calls : int, optional
        Number of threads that parse; AUTOTUNE (-1) picks the number. None parses in the consumer's
        thread.
    name : str, optional
        Name of the stage in errors, `Iterator.stats` and traces.
    null_values : mapping, optional
        Replacements for null and for missing fields, by field name; ``"a.b"`` is field b of the
        object a. Needs a signature.
    buffer_size, on_error, max_errors
        As in `TFRecordDataset`.
    max_record_bytes : int, optional
        Maximum size of a line in bytes; otherwise as in `TFRecordDataset`.
    indexed : bool, str or path
        As in `TextLineDataset`: lines are read by position, with an index written by `index`.
    storage_options : dict, optional
        Options for URLs, as in `remote.configure`, also for all later URLs in the same folder.

    Raises
    ------
    OSError
        While iterating, at the position of a file that cannot be read; the next file follows.
    DataError
        While iterating, at the position of a line that is not JSON, or does not match `signature`:
        a field is missing or null, has another type, or is a number that its type cannot represent.
        The error names the file and the line, the field and the byte; the next line follows.
    ValueError, TypeError
        If an argument is invalid.

    Notes
    -----
    With a signature, lines are parsed natively, without the GIL, as RFC 8259 specifies: no NaN, no
    comments, no invalid UTF-8, no lone surrogates (``"\ud800"``), at most 1,000 levels of nesting,
    and no duplicate fields. Integers must not have a fraction or exponent.

    Without a signature, an element is the result of Python's ``json.loads``, including integers of
    any size. If ``orjson`` is installed, it produces the same objects in less time. A dict is
    passed on as an opaque object; it becomes an element with fields when a `map` function returns
    it.

    Lines that are empty or contain only spaces and tabs are skipped, and are not counted. Order,
    saved states and byte order marks are as in `TextLineDataset`, for any `num_parallel_calls`.

    Examples
    --------
    >>> from pathlib import Path
    >>> lines = '{"name": "Tom", "age": 3, "toys": [1, 7]}\n{"age": 7, "name": "Ida"}\n'
    >>> _ = Path("pets.jsonl").write_text(lines)
    >>> signature = {
    ...     "age": ps.TensorSpec((), np.int32),
    ...     "toys": ps.TensorSpec((None,), np.int64),
    ... }
    >>> for pet in ps.JSONLinesDataset("pets.jsonl", signature, null_values={"toys": []}):
    ...     pet
    {'age': np.int32(3), 'toys': array([1, 7])}
    {'age': np.int32(7), 'toys': array([], dtype=int64)}
    >>> ps.JSONLinesDataset("pets.jsonl").skip(1).first()
    {'age': 7, 'name': 'Ida'}
    """

    __slots__ = ()

    @checked
    def __init__(
        self,
        filenames: Names | Sequence[Names] | Dataset,
        signature: Mapping[str, Any] | None = None,
        compression_type: str | None = None,
        buffer_size: int | None = None,
        num_parallel_reads: int | None = None,
        num_parallel_calls: int | None = None,
        name: str | None = None,
        *,
        null_values: Mapping[str, Any] | None = None,
        on_error: OnError = "raise",
        max_errors: int | None = MAX_ERRORS,
        max_record_bytes: int | None = None,
        indexed: bool | Names = False,
        storage_options: Mapping[str, Any] | None = None,
    ) -> None:
        function: JsonFields | _Objects
        if signature is not None:
            function = JsonFields(signature, null_values)
        elif null_values is not None:
            raise ValueError(f"{_STAGE}: null_values need a signature")
        else:
            function = _Objects()
        if compression_type is None:
            compression_type = _compression_of(filenames)
        args = file_args(_STAGE, compression_type, buffer_size, max_record_bytes)
        args["skip_blank"] = True
        lines = read_files(
            "text_line", filenames, args, num_parallel_reads, indexed=indexed, shown_as=_STAGE
        )
        values = map_for(
            _STAGE,
            lines,
            function,
            num_parallel_calls,
            deterministic=True,
            name=name,
            output_signature=TensorSpec((), object) if signature is None else signature,
        )
        self._become(values._without_errors(_STAGE, on_error, max_errors))


class _Objects:
    """Parse a line into a Python object."""

    def __call__(self, line: bytes) -> Any:
        try:
            return _loads()(line)
        except (ValueError, RecursionError) as error:
            raise DataError(f"{_STAGE}: {error}") from None


@functools.cache
def _loads() -> Callable[[bytes], Any]:
    """Return `json.loads`, or a faster function with the same results."""
    try:
        quick = importlib.import_module("orjson").loads
    except ModuleNotFoundError:
        return json.loads

    def loads(line: bytes) -> Any:
        if not _core.has_digits(line, _LONG):  # orjson converts longer integers to floats
            try:
                return quick(line)
            except ValueError:  # json accepts more: NaN, 1e400, lone surrogates
                pass
        return json.loads(line)

    return loads


def _compression_of(filenames: Any) -> str:
    """Return the compression that the suffixes of file names indicate; raise if they differ."""
    if isinstance(filenames, (str, bytes, os.PathLike)):
        filenames = [filenames]
    if isinstance(filenames, Dataset) or not np.iterable(filenames):
        return ""
    paths = (os.fsdecode(p) for p in filenames if isinstance(p, (str, bytes, os.PathLike)))
    found = {_COMPRESSIONS.get(os.path.splitext(path)[1], "") for path in paths}  # noqa: PTH122
    if len(found) > 1:
        raise ValueError(
            f"{_STAGE}: files of one compression were expected, got "
            f"{', '.join(sorted(each or 'none' for each in found))}; make a dataset of each kind, "
            "and concatenate them"
        )
    return next(iter(found), "")
