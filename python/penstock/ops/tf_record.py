"""Writing TFRecord files."""

from __future__ import annotations

import os
import struct
from collections.abc import Mapping
from pathlib import Path
from types import TracebackType
from typing import Any

from penstock import _core
from penstock.arguments.checked import checked
from penstock.closing import Closing
from penstock.paths import compression_of, is_url, name_file, name_of
from penstock.printable import printable

_WINDOW_BITS = {"GZIP": 31, "ZLIB": 15}
_MOST_LEVELS = {"": 9, "GZIP": 9, "ZLIB": 9, "ZSTD": 22}
_BUFFER_SIZE = 256 * 1024


class TFRecordOptions:
    """Compression options of a TFRecord file.

    Parameters
    ----------
    compression_type : str, optional
        "GZIP", "ZLIB" or "ZSTD". None or "" means no compression.
    compression_level : int, optional
        From 1 (fast) to 9 (small), or 0 to store data uncompressed. For "ZSTD", from 1 to 22. None
        is the library's default.

    Raises
    ------
    ValueError
        If an argument has another value.
    """

    @checked
    def __init__(
        self, compression_type: str | None = None, compression_level: int | None = None
    ) -> None:
        packing = compression_of(compression_type)
        if packing not in _MOST_LEVELS:
            raise ValueError(
                'TFRecordOptions: compression_type must be None, "", "GZIP", "ZLIB" or "ZSTD", got '
                f"{compression_type!r}"
            )
        most = _MOST_LEVELS[packing]
        if compression_level is not None and not -1 <= compression_level <= most:
            raise ValueError(
                f"TFRecordOptions: compression_level must be 0 to {most}, got {compression_level}"
            )
        self.compression_type = packing
        self.compression_level = compression_level

    def __repr__(self) -> str:
        return f"TFRecordOptions({self.compression_type!r}, {self.compression_level!r})"


class TFRecordWriter(Closing):
    """Writer for TFRecord files.

    Parameters
    ----------
    path : str or path
        The file, or a URL. An existing file is overwritten. A remote object becomes visible when
        the writer is closed.
    options : TFRecordOptions or str, optional
        Compression options, or the compression type.
    storage_options : dict, optional
        Options for URLs, as in `remote.configure`. They also apply to all later URLs in the same
        folder.

    Raises
    ------
    OSError
        If the file cannot be opened.
    ImportError
        If the library for a URL is not installed.
    ValueError
        If `options` is invalid, or zstd is requested but not built in.

    Notes
    -----
    The file is complete once `close` has returned, or the ``with`` block has ended, without an
    error. If an uncompressed file is truncated, `TFRecordDataset` yields its complete records and
    then raises DataError, unless the file ends exactly between two records. Truncation of a
    compressed file is always detected.

    Examples
    --------
    >>> with ps.io.TFRecordWriter("numbers.tfrecord.gz", "GZIP") as writer:
    ...     for i in range(3):
    ...         writer.write(b"%d" % i)
    >>> list(ps.TFRecordDataset("numbers.tfrecord.gz", "GZIP"))
    [b'0', b'1', b'2']
    """

    @checked
    def __init__(
        self,
        path: str | os.PathLike[str],
        options: TFRecordOptions | str | None = None,
        *,
        storage_options: Mapping[str, Any] | None = None,
    ) -> None:
        if options is None or isinstance(options, str):
            options = TFRecordOptions(options)
        if not isinstance(options, TFRecordOptions):
            raise TypeError(
                "TFRecordWriter: options must be TFRecordOptions, a compression type or None, got "
                f"{options!r:.200}"
            )
        self._packer: Any = None
        level = -1 if options.compression_level is None else options.compression_level
        if options.compression_type == "ZSTD":
            self._packer = _core.ZstdCompressor("TFRecordWriter", max(level, 0))
            self._flush_mode = self._packer.FLUSH
        elif options.compression_type:
            import zlib

            self._packer = zlib.compressobj(level, wbits=_WINDOW_BITS[options.compression_type])
            self._flush_mode = zlib.Z_SYNC_FLUSH
        self._path = name_of("TFRecordWriter", "path", path)
        if not self._path:
            raise ValueError("TFRecordWriter: path must be the name of a file, got ''")
        self._failed = False
        self._file = _opened(self._path)

    def write(self, record: bytes) -> None:
        """Append a record.

        Parameters
        ----------
        record : bytes
            The content, of any length; a bytearray or memoryview is also accepted.

        Raises
        ------
        OSError
            If the file cannot be written. It remains incomplete, and further writes are rejected.
        TypeError
            If `record` is not bytes.
        """
        if not isinstance(record, (bytes, bytearray, memoryview)):
            advice = "; encode it first" if isinstance(record, str) else ""
            raise TypeError(
                f"TFRecordWriter: bytes were expected, got {type(record).__name__}{advice}"
            )
        size = record.nbytes if isinstance(record, memoryview) else len(record)
        length = struct.pack("<Q", size)
        head = length + _core.masked_crc32c(length).to_bytes(4, "little")
        tail = _core.masked_crc32c(record).to_bytes(4, "little")
        # A single write for short records. Long ones are not copied.
        self._put(*(head + record + tail,) if size < 4096 else (head, record, tail))

    def flush(self) -> None:
        """Flush buffered records to the operating system, so that others can read them."""
        self._check()
        if self._packer:
            self._write_out(self._packer.flush(self._flush_mode))
        self._flush_out()

    def close(self) -> None:
        """Complete and close the file; a second call does nothing.

        Raises
        ------
        OSError
            If the last bytes cannot be written. The file is then incomplete.
        """
        if self._file.closed:
            return
        try:
            if not self._failed:
                if self._packer:
                    self._write_out(self._packer.flush())
                self._flush_out()
        finally:
            self._abandon()

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        """Close the file; after an error in the block, a remote object is not created."""
        self._failed = self._failed or (error is not None and is_url(self._path))
        super().__exit__(kind, error, trace)

    def __repr__(self) -> str:
        return f"TFRecordWriter({self._path!r}{', closed' if self._file.closed else ''})"

    def _put(self, *pieces: bytes | bytearray | memoryview) -> None:
        self._check()
        for piece in pieces:
            self._write_out(self._packer.compress(piece) if self._packer else piece)

    def _check(self) -> None:
        if self._file.closed:
            raise ValueError(f"TFRecordWriter: {printable(self._path)} is closed")
        if self._failed:
            raise ValueError(
                f"TFRecordWriter: {printable(self._path)} is incomplete, because writing it failed "
                "before; write it again"
            )

    def _write_out(self, data: bytes | bytearray | memoryview) -> None:
        try:
            self._file.write(data)
        except BaseException as error:
            self._failed = True
            name_file(error, self._path)
            raise

    def _flush_out(self) -> None:
        try:
            self._file.flush()
        except BaseException as error:
            self._failed = True
            name_file(error, self._path)
            raise

    def _abandon(self) -> None:
        # Closing retries data that could not be written before, and fails again.
        try:
            if self._failed and hasattr(self._file, "leave"):
                self._file.leave()
            else:
                self._file.close()
        except OSError as error:
            name_file(error, self._path)
            if not self._failed:
                raise


def _opened(name: str) -> Any:
    if not is_url(name):
        return Path(name).open("wb", buffering=_BUFFER_SIZE)
    from penstock.remote.writing import ObjectWriter

    return ObjectWriter(name, _BUFFER_SIZE)
