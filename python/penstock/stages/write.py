"""Writing elements to files of other formats: write_tfrecords, write_tar, write_jsonl, ..."""

from __future__ import annotations

import os
from collections.abc import Mapping
from functools import partial
from typing import Any

import numpy as np

from penstock.arguments.checked import checked_methods
from penstock.paths import compression_of, name_of
from penstock.stages.ragged_batch import RaggedBatch
from penstock.structure import TensorSpec, map_leaves
from penstock.writers.formats import Columns, Lines, Records, Samples, columns_of
from penstock.writers.shards import Writer, write_shards

_COMPRESSIONS = ("", "GZIP", "ZSTD")
_PARQUET = ("SNAPPY", "GZIP", "ZSTD", "LZ4", "BROTLI", "")
_BY_ENDING = {".gz": "GZIP", ".zst": "ZSTD"}


@checked_methods
class Write(RaggedBatch):
    """Mixin: elements written to files."""

    __slots__ = ()

    def write_tfrecords(
        self,
        path: str | os.PathLike[str],
        *,
        shards: int = 1,
        compression: str | None = None,
        progress: bool | None = None,
        storage_options: Mapping[str, Any] | None = None,
    ) -> list[str]:
        """Write all elements to TFRecord files.

        Parameters
        ----------
        path : str or path
            The file, or its URL; of several, ``data.tfrecord`` becomes
            ``data-00000-of-00004.tfrecord``. Files that exist are replaced when the new ones are
            complete.
        shards : int
            How many files are written, each by a thread of its own. Element i goes to file
            ``i % shards``.
        compression : str, optional
            "GZIP", "ZLIB" or "ZSTD", where it is built in; "" for none. None: by the ending of
            `path`, ``.gz`` or ``.zst``.
        progress : bool, optional
            Whether a line on standard error shows how far it is; None shows it in a terminal or a
            notebook.
        storage_options : dict, optional
            Of URLs, as of `remote.configure`: from now on for all in their folders.

        Returns
        -------
        list of str
            The files. ``TFRecordDataset(files, num_parallel_reads=len(files))`` gives the elements
            in their order.

        Raises
        ------
        TypeError
            For an element that is neither bytes nor str nor a dict, which becomes a
            ``tf.train.Example`` as `io.make_example` makes them.
        OSError
            If the files cannot be written.

        Notes
        -----
        Runs the whole dataset, at once. Files are written beside those of these names, and take the
        names when all are complete; where anything fails, none is left.

        Examples
        --------
        >>> ds = ps.Dataset.from_tensor_slices([b"a", b"b", b"c"])
        >>> ds.write_tfrecords("abc.tfrecord", shards=2)
        ['abc-00000-of-00002.tfrecord', 'abc-00001-of-00002.tfrecord']
        >>> list(ps.TFRecordDataset("abc-00000-of-00002.tfrecord"))
        [b'a', b'c']
        """
        stage = "write_tfrecords"
        name = name_of(stage, "path", path)
        zlib = compression_of(compression) == "ZLIB"
        packing = "ZLIB" if zlib else _compression_of(stage, name, compression)
        opens = partial(_opened, Records, stage, packing)
        return write_shards(stage, self, name, shards, progress, opens)

    def write_tar(
        self,
        path: str | os.PathLike[str],
        *,
        shards: int = 1,
        compression: str | None = None,
        progress: bool | None = None,
        storage_options: Mapping[str, Any] | None = None,
    ) -> list[str]:
        """Write all elements to tar files, in WebDataset's form.

        Parameters
        ----------
        path, shards, compression, progress
            As of `write_tfrecords`, without "ZLIB".
        storage_options : dict, optional
            Of URLs, as of `remote.configure`: from now on for all in their folders.

        Returns
        -------
        list of str
            The files.

        Raises
        ------
        TypeError
            For an element that is no dict, or a field that is neither bytes nor str, nor a number,
            nor of ``json`` or ``npy``.
        ValueError
            For a key with a dot in its last part, where the names of fields begin.
        OSError
            If the files cannot be written.

        Notes
        -----
        The field ``"jpg"`` of an element becomes the file ``KEY.jpg``. The key is the field
        ``"__key__"``, or the number of the element in nine digits; other fields whose names begin
        with two underscores are left out. Arrays are written to ``npy``, nested values to ``json``.

        All else is as with `write_tfrecords`.

        Examples
        --------
        >>> ds = ps.Dataset.from_tensor_slices({"txt": ["one", "two"], "cls": [1, 2]})
        >>> ds.write_tar("words.tar")
        ['words.tar']
        >>> import tarfile
        >>> tarfile.open("words.tar").getnames()
        ['000000000.txt', '000000000.cls', '000000001.txt', '000000001.cls']
        """
        stage = "write_tar"
        name = name_of(stage, "path", path)
        opens = partial(_opened, Samples, stage, _compression_of(stage, name, compression))
        return write_shards(stage, self, name, shards, progress, opens)

    def write_jsonl(
        self,
        path: str | os.PathLike[str],
        *,
        shards: int = 1,
        compression: str | None = None,
        progress: bool | None = None,
        storage_options: Mapping[str, Any] | None = None,
    ) -> list[str]:
        """Write all elements to files of JSON, one in a line.

        Parameters
        ----------
        path, shards, compression, progress
            As of `write_tfrecords`, without "ZLIB".
        storage_options : dict, optional
            Of URLs, as of `remote.configure`: from now on for all in their folders.

        Returns
        -------
        list of str
            The files.

        Raises
        ------
        TypeError, ValueError
            For an element that has no form in JSON: NaN, an infinity, bytes that are no UTF-8, an
            object.
        OSError
            If the files cannot be written.

        Notes
        -----
        Arrays become lists, bytes and times strings. All else is as with `write_tfrecords`.

        Examples
        --------
        >>> ds = ps.Dataset.from_tensor_slices({"x": [1, 2], "name": ["a", "b"]})
        >>> ds.write_jsonl("rows.jsonl")
        ['rows.jsonl']
        >>> list(ps.TextLineDataset("rows.jsonl"))
        [b'{"x":1,"name":"a"}', b'{"x":2,"name":"b"}']
        """
        stage = "write_jsonl"
        name = name_of(stage, "path", path)
        opens = partial(_opened, Lines, stage, _compression_of(stage, name, compression))
        return write_shards(stage, self, name, shards, progress, opens)

    def write_parquet(
        self,
        path: str | os.PathLike[str],
        *,
        shards: int = 1,
        compression: str | None = None,
        progress: bool | None = None,
        row_group_size: int = 65536,
        storage_options: Mapping[str, Any] | None = None,
    ) -> list[str]:
        """Write all elements, which are dicts, to Parquet files.

        Parameters
        ----------
        path, shards
            As of `write_tfrecords`; row group i goes to file ``i % shards``.
        compression : str, optional
            "SNAPPY", "GZIP", "ZSTD", "LZ4" or "BROTLI", or "" for none; None is "SNAPPY".
        progress
            As of `write_tfrecords`; row groups are counted.
        row_group_size : int
            Rows of a row group, >= 1, which are in memory for each file.
        storage_options : dict, optional
            Of URLs, as of `remote.configure`: from now on for all in their folders.

        Returns
        -------
        list of str
            The files.

        Raises
        ------
        ModuleNotFoundError
            If pyarrow is not installed: ``pip install 'penstock[arrow]'``.
        TypeError
            If elements are no dicts of arrays, or have leaves that no column holds.
        OSError
            If the files cannot be written.

        Notes
        -----
        Axes whose size `element_spec` knows become lists of fixed size, others lists of any size.
        All else is as with `write_tfrecords`.

        Examples
        --------
        >>> ds = ps.Dataset.from_tensor_slices({"x": [1, 2], "name": ["a", "b"]})
        >>> ds.write_parquet("rows.parquet")
        ['rows.parquet']
        >>> len(ps.ParquetDataset("rows.parquet"))
        2
        """
        stage = "write_parquet"
        name = name_of(stage, "path", path)
        spec = self.element_spec  # type: ignore[attr-defined]
        _check_columns(stage, spec)
        columns = columns_of(stage, spec)
        empty = columns(map_leaves(_none_of, spec))
        packing = "SNAPPY" if compression is None else compression.upper()
        if packing not in _PARQUET:
            raise ValueError(
                f"{stage}: compression must be one of {', '.join(_PARQUET)}, got {compression!r}"
            )

        def opens(beside: str) -> Writer:
            return Columns(stage, beside, packing, columns, empty)

        groups = self.ragged_batch(row_group_size)
        return write_shards(stage, groups, name, shards, progress, opens)


def _opened(kind: Any, stage: str, compression: str, path: str) -> Writer:
    writer: Writer = kind(stage, path, compression)
    return writer


def _compression_of(stage: str, path: str, compression: str | None) -> str:
    if compression is None:
        return _BY_ENDING.get(os.path.splitext(path)[1], "")  # noqa: PTH122
    if compression_of(compression) not in _COMPRESSIONS:
        raise ValueError(
            f'{stage}: compression must be None, "", "GZIP" or "ZSTD", got {compression!r}'
        )
    return compression_of(compression)


def _none_of(leaf: TensorSpec) -> Any:
    """Return a ragged batch of no elements."""
    shape = leaf.shape or ()
    ragged = max((i + 1 for i, size in enumerate(shape) if size is None), default=0)
    kind = object if leaf.dtype in (str, bytes) else leaf.dtype
    part: Any = np.empty((0, *shape[ragged:]), kind)
    for _ in range(ragged):
        part = part, np.zeros(1, np.int64)
    return part


def _check_columns(stage: str, spec: Any, path: str = "") -> None:
    if isinstance(spec, Mapping) and spec:
        for name, part in spec.items():
            _check_columns(stage, part, f"{path}.{name}" if path else str(name))
        return
    where = f"column {path}" if path else "elements"
    if any("\ud800" <= letter <= "\udfff" for letter in path):
        raise ValueError(
            f"{stage}: names of columns must be UTF-8, got {path!r}: it has lone surrogates"
        )
    if not path or not isinstance(spec, TensorSpec):
        raise TypeError(f"{stage}: elements must be dicts of arrays, {where} are {spec!r:.200}")
    kind = spec.dtype
    held = kind in (str, bytes) or (isinstance(kind, np.dtype) and kind.kind in "biufMm")
    if spec.shape is None or not held:
        raise TypeError(
            f"{stage}: {where} must be of numbers, times or strings with a known number of axes, "
            f"got {spec}"
        )
    if 0 in spec.shape:
        raise TypeError(
            f"{stage}: {where} must have no axis of size 0, which Parquet's lists of fixed size "
            f"cannot have, got {spec}; leave it out"
        )
