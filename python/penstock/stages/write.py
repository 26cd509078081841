"""Export of elements to other file formats: write_tfrecords, write_tar, write_jsonl, ..."""

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
    """Mixin: exporting elements."""

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
            The file, or its URL. With several shards, ``data.tfrecord`` becomes
            ``data-00000-of-00004.tfrecord``. Existing files are replaced once the new ones are
            complete.
        shards : int
            Number of files, each written by its own thread. Element i goes to file ``i % shards``.
        compression : str, optional
            "GZIP", "ZLIB" or "ZSTD", if it is built in; "" for none. None chooses by the suffix of
            `path`, ``.gz`` or ``.zst``.
        progress : bool, optional
            Whether to show a progress line on standard error; None shows it in a terminal or a
            notebook.
        storage_options : dict, optional
            Options for URLs, as in `remote.configure`, also for all later URLs in the same folder.

        Returns
        -------
        list of str
            The file names. ``TFRecordDataset(files, num_parallel_reads=len(files))`` reads the
            elements in their original order.

        Raises
        ------
        TypeError
            If an element is not bytes, str or a dict. A dict becomes a ``tf.train.Example``, as in
            `io.make_example`.
        OSError
            If the files cannot be written.

        Notes
        -----
        Runs the whole dataset immediately. Files are written under temporary names in the same
        folder and renamed when all are complete; if anything fails, no partial files remain.

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
        """Write all elements to tar files in WebDataset format.

        Parameters
        ----------
        path, shards, compression, progress
            As in `write_tfrecords`, but without "ZLIB".
        storage_options : dict, optional
            Options for URLs, as in `remote.configure`, also for all later URLs in the same folder.

        Returns
        -------
        list of str
            The file names.

        Raises
        ------
        TypeError
            If an element is not a dict, or a field is not bytes, str or a number, unless its
            extension is ``json`` or ``npy``.
        ValueError
            If the last part of a key contains a dot, which would start the field name.
        OSError
            If the files cannot be written.

        Notes
        -----
        The field ``"jpg"`` of an element becomes the file ``KEY.jpg``. The key is the field
        ``"__key__"``, or the nine-digit index of the element; other fields whose names begin with
        two underscores are omitted. A field with extension ``npy`` takes an array, one with
        ``json`` a nested value.

        Otherwise as in `write_tfrecords`.

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
        """Write all elements to JSON Lines files.

        Parameters
        ----------
        path, shards, compression, progress
            As in `write_tfrecords`, but without "ZLIB".
        storage_options : dict, optional
            Options for URLs, as in `remote.configure`, also for all later URLs in the same folder.

        Returns
        -------
        list of str
            The file names.

        Raises
        ------
        TypeError, ValueError
            If an element cannot be represented in JSON: NaN, infinity, bytes that are not UTF-8, an
            object.
        OSError
            If the files cannot be written.

        Notes
        -----
        Arrays become lists; bytes and times become strings. Otherwise as in `write_tfrecords`.

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
        """Write all elements, which must be dicts, to Parquet files.

        Parameters
        ----------
        path, shards
            As in `write_tfrecords`; row group i goes to file ``i % shards``.
        compression : str, optional
            "SNAPPY", "GZIP", "ZSTD", "LZ4" or "BROTLI", or "" for none; None is "SNAPPY".
        progress
            As in `write_tfrecords`; counts row groups.
        row_group_size : int
            Rows per row group, >= 1. At most six of them per file wait in memory to be written.
        storage_options : dict, optional
            Options for URLs, as in `remote.configure`, also for all later URLs in the same folder.

        Returns
        -------
        list of str
            The file names.

        Raises
        ------
        ModuleNotFoundError
            If pyarrow is not installed: ``pip install 'penstock[arrow]'``.
        TypeError
            If elements are not dicts of arrays, or a leaf cannot be stored in a column.
        OSError
            If the files cannot be written.

        Notes
        -----
        Axes with a known size in `element_spec` become fixed-size lists, others variable-size
        lists. Otherwise as in `write_tfrecords`.

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
    """Return an empty ragged batch."""
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
