"""Indexes of record files: the position of each record, for random access."""

from __future__ import annotations

import argparse
import contextlib
import json
import os
import sys
import warnings
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from penstock import _core
from penstock.arguments.checked import checked
from penstock.dataset import Dataset
from penstock.encode import encode
from penstock.errors import DataError
from penstock.meter import Meter, Reading
from penstock.ops.io import read_file
from penstock.paths import Names, is_url, name_of
from penstock.printable import printable
from penstock.remote.listing import files_matching
from penstock.sources.files import file_args, indexed_files, names_of
from penstock.writers.staged import staged

# The kind of source for each format, and its file extensions.
_FORMATS = {
    "tfrecord": ("tf_record", (".tfrecord", ".tfrecords", ".tfrec")),
    "text": ("text_line", (".txt", ".text")),
    "json_lines": ("text_line", (".jsonl", ".ndjson")),
    "csv": ("csv_record", (".csv", ".tsv")),
    "tar": ("tar_sample", (".tar",)),
}
_MOST_THREADS = 8
_MAGIC = b"PSINDX\r\n"


@checked
def index(
    filenames: Names | Sequence[Names] | Dataset,
    index_dir: Names | None = None,
    *,
    format: str | None = None,
    header: bool = False,
    field_delim: str = ",",
    use_quote_delim: bool = True,
    max_record_bytes: int | None = None,
    num_parallel_reads: int | None = None,
    progress: bool | None = None,
    storage_options: Mapping[str, Any] | None = None,
) -> dict[str, int]:
    """Write an index of each file, so that sources with ``indexed=True`` have random access.

    Parameters
    ----------
    filenames : str, path, sequence of them, or Dataset of str
        The files, uncompressed.
    index_dir : str or path, optional
        The folder for the indexes, for files in a folder that is not writable; it is created if it
        does not exist. None puts each index next to its file. A source then takes
        ``indexed=index_dir``.
    format : "tfrecord", "text", "json_lines", "csv" or "tar", optional
        The format of the files; None uses the extension of each name (``.tfrecord``, ``.txt``,
        ``.jsonl``, ``.csv``, ``.tar``, ...).
    header, field_delim, use_quote_delim
        For "csv", as in `experimental.CsvDataset`: the settings that the files will be read with.
    max_record_bytes : int, optional
        As in `TFRecordDataset`.
    num_parallel_reads : int, optional
        Number of files to index concurrently, one thread each; None means one per CPU, at most 8.
    progress : bool, optional
        Whether to show a progress line on standard error; None shows it in a terminal or a
        notebook.
    storage_options : dict, optional
        Options for URLs, as in `remote.configure`, also for all later URLs in the same folder.

    Returns
    -------
    dict of str to int
        The number of records in each file, including damaged ones.

    Raises
    ------
    ValueError
        If the format is unknown, two files would have the same index, or a file is compressed.
    DataError
        If the first record of a file cannot be found: it has another format, or is compressed.
    FileExistsError
        If the path of an index is taken by something else.
    OSError
        If a file cannot be read, or an index cannot be written; the other indexes are complete.

    Notes
    -----
    An index that is up to date is kept. An index records the size and modification time of its
    file, and is rejected if they differ; copies that preserve times (``cp -p``, ``rsync -t``) keep
    their indexes valid. For a URL it records size and ETag. An index takes 32 bytes per 256 records
    and about 12 bits per record, or none per record if all have the same size. It appears only when
    it is complete. docs/reference/formats.md describes the format.

    A damaged record is counted, as it is while iterating. If no record can be found after it, or if
    a tar archive may be truncated, a RuntimeWarning reports it.

    Examples
    --------
    >>> with ps.io.TFRecordWriter("letters.tfrecord") as writer:
    ...     for record in (b"a", b"b", b"c"):
    ...         writer.write(record)
    >>> ps.index("letters.tfrecord")
    {'letters.tfrecord': 3}
    >>> ps.TFRecordDataset("letters.tfrecord", indexed=True)[-1]
    b'c'
    """
    names = names_of("index", filenames)
    folder = "" if index_dir is None else name_of("index", "index_dir", index_dir)
    more: dict[str, dict[str, Any]] = {
        "csv": {"header": header, "field_delim": field_delim, "use_quote_delim": use_quote_delim},
        "json_lines": {"skip_blank": True},
    }
    formats = {name: format or _format_of(name) for name in names}
    _require_different(names, folder)
    if folder and not is_url(folder):
        Path(folder).mkdir(parents=True, exist_ok=True)
    jobs = []
    for name, each in formats.items():
        args = file_args("index", None, None, max_record_bytes)
        jobs.append(_Job(name, folder, _FORMATS[each][0], args | more.get(each, {})))
    threads = min(num_parallel_reads or min(os.cpu_count() or 1, _MOST_THREADS), len(jobs) or 1)
    with _shown(jobs, progress):
        _run(jobs, threads)
    for job in jobs:
        for doubt in job.doubts:
            warnings.warn(doubt, RuntimeWarning, stacklevel=3)
    return {job.name: job.records for job in jobs}


def _format_of(name: str) -> str:
    """Return the format for the extension of a file name."""
    for each, (_, endings) in _FORMATS.items():
        if name.lower().endswith(endings):
            return each
    raise ValueError(
        f"index: the name of a file was expected to say its format, got {name!r}; give format= "
        f"one of {', '.join(map(repr, _FORMATS))}"
    )


def _require_different(names: Sequence[str], folder: str) -> None:
    first: dict[str, str] = {}
    for name in names:
        target = _core.index_path(name, folder)
        other = first.setdefault(target, name)
        if other != name:
            raise ValueError(
                f"index: files of different names were expected for one index_dir, got {other!r} "
                f"and {name!r}; give those of each folder an index_dir of their own"
            )


class _Job:
    """The task of indexing one file."""

    def __init__(self, name: str, folder: str, kind: str, args: dict[str, Any]) -> None:
        self.name = name
        self.folder = folder
        self.kind = kind
        self.args = args
        self.read = 0
        self.records = 0
        self.doubts: list[str] = []

    def size(self) -> int:
        try:
            return os.stat(self.name).st_size  # noqa: PTH116
        except OSError:
            return 0

    def run(self, cancel: _core.CancelToken) -> None:
        if self.is_up_to_date():
            self.read = self.size()
            return
        target = _core.index_path(self.name, self.folder)
        if not _may_replace(target):
            raise FileExistsError(
                17, "index: an index was expected there, or nothing; move it away", target
            )
        reader = _core.reader(self.kind, encode(self.kind, self.args))

        def progress(read: int) -> None:
            self.read = read

        with staged([target]) as files:
            found = _core.index_file(reader, self.name, files.paths[0], cancel, progress)
            files.complete()
        self.records, problem, self.doubts = found
        if problem:
            self.doubts.append(
                f"index: {printable(self.name)}: nothing can be found after its last record, which "
                f"is damaged: {problem}"
            )

    def is_up_to_date(self) -> bool:
        try:
            made = indexed_files(self.kind, [self.name], self.args, self.folder or True)
        except (OSError, DataError, ValueError):
            return False
        self.records = len(made)
        return True


def _run(jobs: Sequence[_Job], threads: int) -> None:
    import concurrent.futures  # imported here because it is slow to import

    cancel = _core.cancel_token()
    with concurrent.futures.ThreadPoolExecutor(threads) as pool:
        running = [pool.submit(job.run, cancel) for job in jobs]
        try:
            concurrent.futures.wait(running)
        except BaseException:  # Ctrl-C
            cancel.cancel()
            pool.shutdown(cancel_futures=True)
            raise
    for each in running:
        each.result()


def _may_replace(target: str) -> bool:
    """Return whether the path is free, or holds an index."""
    if is_url(target):
        return not files_matching(target) or read_file(target).startswith(_MAGIC)
    path = Path(target)
    if not path.exists():
        return True
    with path.open("rb") as file:
        return file.read(len(_MAGIC)) == _MAGIC


@contextlib.contextmanager
def _shown(jobs: Sequence[_Job], shown: bool | None) -> Iterator[None]:
    """Show the progress of reading the files."""
    meter = Meter("index", round(sum(job.size() for job in jobs) / 1e6), "MB", shown)
    meter.watch(lambda: Reading(round(sum(job.read for job in jobs) / 1e6)))
    try:
        yield
    finally:
        meter.finish()


def main(argv: Sequence[str] | None = None) -> int:
    """Run the command line that writes indexes of files.

    Parameters
    ----------
    argv : sequence of str, optional
        Arguments after ``index``; ``None`` uses those of the process.

    Returns
    -------
    int
        0 if all indexes were written or up to date, otherwise 1.
    """
    parser = argparse.ArgumentParser(
        prog="python -m penstock index",
        description="Write an index of each record file, so that any record can be read at once.",
    )
    parser.add_argument("files", nargs="+", metavar="FILE")
    parser.add_argument("--index-dir", help="the folder for the indexes; else beside each file")
    parser.add_argument("--format", choices=sorted(_FORMATS), help="else by the names")
    parser.add_argument("--header", action="store_true", help="CSV files begin with one")
    parser.add_argument("--field-delim", default=",", help="of CSV files; else a comma")
    parser.add_argument("--no-quotes", action="store_true", help="quotes mean nothing in CSV files")
    parser.add_argument("--max-record-bytes", type=int, help="of one record; else 256 MiB")
    parser.add_argument("--parallel", type=int, help="files at a time; else one for each processor")
    parser.add_argument("--json", action="store_true", help="print the counts as a JSON object")
    given = parser.parse_args(argv)
    try:
        records = index(
            given.files,
            given.index_dir,
            format=given.format,
            header=given.header,
            field_delim=given.field_delim,
            use_quote_delim=not given.no_quotes,
            max_record_bytes=given.max_record_bytes,
            num_parallel_reads=given.parallel,
        )
    except (OSError, ValueError, DataError) as error:
        print(printable(str(error)), file=sys.stderr)
        return 1
    if given.json:
        print(json.dumps({str(file): count for file, count in records.items()}))
    else:
        print(f"{sum(records.values())} records in {len(records)} files")
    return 0
