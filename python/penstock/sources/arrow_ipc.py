"""Files in the Arrow IPC formats, read by record batch."""

from __future__ import annotations

import os
import struct
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from penstock.errors import DataError
from penstock.libraries import library
from penstock.plain_tables import column_of

if TYPE_CHECKING:
    from penstock.remote.reading import ObjectReader

__all__ = ["FileVersion", "IpcFile", "version_of"]

_CONTINUATION = 0xFFFFFFFF  # precedes the length of a message, since version 0.15
_SCHEMA, _DICTIONARY, _BATCH = 1, 2, 3  # kinds of messages
_KIND, _HEADER, _BODY = 1, 2, 3  # fields of a message
_ROWS = 0  # field of a record batch
_ID, _EXTENDS = 0, 2  # fields of a dictionary


class FileVersion(NamedTuple):
    """The size of a file, and the time of its last modification."""

    size: int
    modified_ns: int


def version_of(opened: Any) -> FileVersion | None:
    """Return the present version of an open `pyarrow.OSFile`; None for other objects."""
    if isinstance(opened, library("ArrowDataset", "pyarrow", "arrow").OSFile):
        now = os.fstat(opened.fileno())
        return FileVersion(now.st_size, now.st_mtime_ns)
    return None


class IpcFile:
    """A file of record batches. Not thread-safe.

    Local files are read, not mapped, so truncating one raises an error.
    """

    def __init__(
        self, stage: str, of: str | ObjectReader, columns: Sequence[str] | None = None
    ) -> None:
        self._pa = pa = library(stage, "pyarrow", "arrow")
        self._path = of if isinstance(of, str) else None
        source = pa.OSFile(of) if isinstance(of, str) else pa.PythonFile(of, "r")
        begin = source.read(6)
        if begin.startswith(b"FEA1"):
            raise DataError(
                f"{stage}: a Feather file of version 2 was expected, got one of version 1; write "
                "it again: pyarrow.feather.write_feather(pyarrow.feather.read_table(path), path)",
                of if isinstance(of, str) else of.name,
            )
        self.source = source
        self.opened = version_of(source)
        source.seek(0)
        self._stream: _Stream | None = None
        self._batches: list[Any] = []
        if begin == b"ARROW1":
            self._reader = pa.ipc.open_file(source)
        elif self._path is None:
            # Read completely, because each seek in a remote file is a request.
            self._reader = pa.ipc.open_stream(source)
            self._batches = list(self._reader)
        else:
            self._reader = pa.ipc.open_stream(source)
            self._stream = _Stream(pa, self._path, source.fileno())
        self.schema = self._reader.schema
        self._options = None
        if columns is not None:
            names = self.schema.names
            tops = dict.fromkeys(column_of(name, names) for name in columns)
            self._options = pa.ipc.IpcReadOptions(included_fields=[names.index(n) for n in tops])
            if begin == b"ARROW1":
                source.seek(0)
                self._reader = pa.ipc.open_file(source, options=self._options)

    def batch(self, number: int) -> Any:
        """Return a record batch as a table."""
        if self._stream is not None:
            batch = self._stream.batch(number, self._options)
        elif self._batches:
            batch = self._batches[number]
        else:
            batch = self._reader.get_batch(number)
        batch.validate(full=True)  # the offsets of strings and lists may be damaged
        return self._pa.Table.from_batches([batch])

    def sizes(self) -> list[int]:
        """Return the number of rows of each batch; reads at most the smallest column."""
        if self._stream is not None:
            return [message.rows for message in self._stream.batches]
        if not hasattr(self._reader, "num_record_batches"):
            return [batch.num_rows for batch in self._batches]

        def width(number: int) -> int:
            try:
                return int(self.schema.field(number).type.bit_width)
            except ValueError:
                return 1 << 30

        smallest = min(range(len(self.schema)), key=width)
        self.source.seek(0)
        options = self._pa.ipc.IpcReadOptions(included_fields=[smallest])
        reader = self._pa.ipc.open_file(self.source, options=options)
        return [reader.get_batch(i).num_rows for i in range(reader.num_record_batches)]


class _Message(NamedTuple):
    """A message of a stream, and the position of its bytes in the file."""

    kind: int
    begin: int
    end: int
    rows: int  # of a record batch
    dictionary: int  # id of a dictionary; -1: not a dictionary message
    extends: bool  # whether it appends to the dictionary with its id


class _Stream:
    """A file in the stream format, whose messages are found without reading their data.

    A record batch is read as a short stream: the schema, the dictionaries it needs, and the batch.
    """

    def __init__(self, pa: Any, path: str, fd: int) -> None:
        self._pa = pa
        self._file = Path(path).open("rb", buffering=0)  # noqa: SIM115 - closed with this object
        if os.fstat(self._file.fileno()).st_ino != os.fstat(fd).st_ino:
            raise self._damaged("it was replaced while it was opened")
        self.batches: list[_Message] = []
        self._before: list[list[_Message]] = []  # messages required by each batch; lists are shared
        needed: list[_Message] = []
        for message in self._messages():
            if message.kind == _BATCH:
                self.batches.append(message)
                self._before.append(needed)
            elif message.kind in (_SCHEMA, _DICTIONARY):
                # A dictionary that does not extend the previous one replaces it.
                old = None if message.extends else message.dictionary
                needed = [*(m for m in needed if m.dictionary != old), message]

    def batch(self, number: int, options: Any) -> Any:
        """Return a record batch, with the columns included by `options`."""
        messages = [*self._before[number], self.batches[number]]
        buffer = self._pa.allocate_buffer(sum(each.end - each.begin for each in messages))
        memory = memoryview(buffer).cast("B")
        at = 0
        for message in messages:
            size = message.end - message.begin
            self._read(message.begin, memory[at : at + size])
            at += size
        return self._pa.ipc.open_stream(buffer, options=options).read_next_batch()

    def _read(self, offset: int, to: memoryview) -> None:
        self._file.seek(offset)
        done = 0
        while done < len(to):
            got = self._file.readinto(to[done:])
            if not got:
                raise self._damaged(
                    f"{len(to)} bytes were expected at byte {offset}, got only {done}"
                )
            done += got

    def _messages(self) -> Iterator[_Message]:
        size = os.fstat(self._file.fileno()).st_size
        at = 0
        while size - at >= 4:
            head = self._bytes(at, min(8, size - at))
            (length,) = struct.unpack_from("<I", head)
            begin = at + 4
            if length == _CONTINUATION:
                if len(head) < 8:
                    raise self._damaged("it ends within a message")
                (length,) = struct.unpack_from("<I", head, 4)
                begin = at + 8
            if length == 0:  # the end of the stream
                return
            if length > size - begin:
                raise self._damaged(f"it ends within a message of {length} bytes at byte {at}")
            message = self._message(at, begin + length, self._bytes(begin, length))
            if message.end > size:
                raise self._damaged(f"it ends within a message that has bytes up to {message.end}")
            yield message
            at = message.end

    def _bytes(self, offset: int, size: int) -> bytes:
        data = bytearray(size)
        self._read(offset, memoryview(data))
        return bytes(data)

    def _message(self, begin: int, body_at: int, metadata: bytes) -> _Message:
        """Parse the metadata of a message, a FlatBuffer.

        See https://flatbuffers.dev/internals and Arrow's Message.fbs.
        """
        rows, dictionary, extends = 0, -1, False
        try:
            message = _Table(metadata, _offset(metadata, 0))
            kind = message.number("<B", _KIND)
            body = message.number("<q", _BODY)
            if kind == _BATCH:
                rows = message.table(_HEADER).number("<q", _ROWS)
            elif kind == _DICTIONARY:
                header = message.table(_HEADER)
                dictionary = header.number("<q", _ID)
                extends = header.number("<B", _EXTENDS) != 0
        except (struct.error, IndexError):
            raise self._damaged("the header of a message is damaged") from None
        if body < 0 or rows < 0 or (kind == _DICTIONARY and dictionary < 0):
            raise self._damaged(f"a message has an impossible size: {body} bytes and {rows} rows")
        return _Message(kind, begin, body_at + body, rows, dictionary, extends)

    def _damaged(self, what: str) -> Exception:
        error: Exception = self._pa.ArrowInvalid(what)
        return error


def _offset(data: bytes, at: int) -> int:
    """Follow the offset at a position; return the target position."""
    return at + int(struct.unpack_from("<I", data, at)[0])


class _Table:
    """A FlatBuffer table. Methods raise struct.error or IndexError for damaged data."""

    def __init__(self, data: bytes, at: int) -> None:
        self._data = data
        self._at = at
        self._fields = at - int(struct.unpack_from("<i", data, at)[0])
        if self._fields < 0:  # Python would index from the end
            raise IndexError
        (self._size,) = struct.unpack_from("<H", data, self._fields)

    def _place(self, field: int) -> int:
        entry = 4 + 2 * field
        if entry + 2 > self._size:
            return 0
        (offset,) = struct.unpack_from("<H", self._data, self._fields + entry)
        return self._at + offset if offset else 0

    def number(self, form: str, field: int) -> int:
        """Return a number, or 0 if it is missing."""
        place = self._place(field)
        return int(struct.unpack_from(form, self._data, place)[0]) if place else 0

    def table(self, field: int) -> _Table:
        """Return a nested table."""
        place = self._place(field)
        if not place:
            raise IndexError
        return _Table(self._data, _offset(self._data, place))
