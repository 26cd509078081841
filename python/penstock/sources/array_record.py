"""ArrayRecord files, read with the array-record package."""

from __future__ import annotations

import bisect
import itertools
from collections.abc import Mapping, Sequence
from typing import Any

from penstock.arguments.checked import checked
from penstock.dataset import Dataset
from penstock.errors import DataError
from penstock.libraries import library, library_errors
from penstock.open_files import OpenFiles
from penstock.paths import Names
from penstock.printable import printable
from penstock.sources.fetched import local_file
from penstock.sources.files import names_of
from penstock.sources.source import Source
from penstock.structure import TensorSpec

_STAGE = "ArrayRecordDataset"
# The options of array-record's own random-access source: no readahead.
_OPTIONS = "readahead_buffer_size:0,max_parallelism:0"


class ArrayRecordDataset(Source):
    """Read the records of ArrayRecord files as ``bytes``, with random access.

    Parameters
    ----------
    filenames : str, path, or sequence of them
        The files, in order. A file at a URL is downloaded completely to the folder for temporary
        files, once per process.
    name : str, optional
        Name of the stage in errors, `Iterator.stats` and traces.
    num_parallel_calls : int, optional
        Number of concurrent reads, each on its own thread; AUTOTUNE (-1) picks the number. None
        reads in the consumer's thread.
    storage_options : dict, optional
        Options for URLs, as in `remote.configure`, also for all later URLs in the same folder.

    Raises
    ------
    ImportError
        If array-record is not installed: ``pip install 'penstock[arrayrecord]'``.
    FileNotFoundError
        If a file does not exist.
    DataError
        If a file is not an ArrayRecord file, or is incomplete; while iterating, at the position of
        a record that cannot be read.

    Notes
    -----
    The number of records is known, and records have random access: `shuffle` directly after it
    shuffles positions and reads nothing twice, and a saved state holds a position. Several records
    are read in one call, without the GIL.

    The format is specified at https://github.com/google/array_record.

    Examples
    --------
    >>> ds = ps.ArrayRecordDataset(["train-0.array_record", "train-1.array_record"])  # doctest: +SKIP
    >>> ds.shuffle(len(ds), seed=1).map(parse).batch(64)  # doctest: +SKIP
    """  # noqa: E501 - the example

    __slots__ = ()

    @checked
    def __init__(
        self,
        filenames: Names | Sequence[Names],
        name: str | None = None,
        *,
        num_parallel_calls: int | None = None,
        storage_options: Mapping[str, Any] | None = None,
    ) -> None:
        files = names_of(_STAGE, filenames)
        self._become(
            Dataset._of_rows(
                _Records(files),
                name,
                num_parallel_calls,
                output_signature=TensorSpec((), bytes),
                part_of=_STAGE,
            )
        )


class _Records:
    """The records of several files, indexed by their position in the whole sequence."""

    def __init__(self, files: list[str]) -> None:
        self._files = OpenFiles(files, _opened)
        counts = []
        for i, file in enumerate(files):
            with library_errors(_STAGE, file):
                counts.append(self._files[i].num_records())
        self._ends = list(itertools.accumulate(counts))

    def __len__(self) -> int:
        return self._ends[-1] if self._ends else 0

    def __getitem__(self, position: int) -> bytes:
        return self.__getitems__([position])[0]

    def __getitems__(self, positions: list[int]) -> list[bytes]:
        found: list[bytes] = [b""] * len(positions)
        by_file: dict[int, list[tuple[int, int]]] = {}
        for at, position in enumerate(positions):
            number = bisect.bisect_right(self._ends, position)
            first = self._ends[number - 1] if number else 0
            by_file.setdefault(number, []).append((position - first, at))
        for number, wanted in by_file.items():
            numbers = [record for record, _ in wanted]
            try:
                records = self._files[number].read(numbers)
            except Exception as error:
                which = f"record {numbers[0]}" if len(numbers) == 1 else f"{len(numbers)} records"
                said = f"{_STAGE}: {which} cannot be read: {printable(str(error))}"
                raise DataError(said, self._files.names[number], element=numbers[0]) from None
            for (_, at), record in zip(wanted, records, strict=True):
                found[at] = record
        return found


def _opened(path: str) -> Any:
    module = library(_STAGE, "array_record.python.array_record_module", "arrayrecord")
    local = local_file(path)
    with open(local, "rb"):  # noqa: PTH123 - the reader raises no error for a missing file
        pass
    reader = module.ArrayRecordReader(local, _OPTIONS)
    if not reader.ok():
        raise DataError(
            "ArrayRecordDataset: this is no complete ArrayRecord file; one that was not closed by "
            "its writer has no index of its records",
            path,
        )
    return reader
