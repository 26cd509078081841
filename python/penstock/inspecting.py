"""``python -m penstock inspect``: show the contents of files that penstock reads or writes.

Records are read by the same sources as in a pipeline, so damage found here also affects pipelines.
The formats of penstock's own files are in docs/reference/formats.md.
"""

from __future__ import annotations

import argparse
import functools
import json
import stat
import struct
import sys
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

from penstock import (
    ArrowDataset,
    Dataset,
    FixedLengthRecordDataset,
    HDF5Dataset,
    NumpyDataset,
    ParquetDataset,
    TarDataset,
    TFRecordDataset,
    _core,
)
from penstock.errors import DataError
from penstock.iterator import TEXT_BEGIN, bytes_of
from penstock.meter import Meter
from penstock.printable import printable

_SHOWN = 3  # elements
_MOST_DAMAGE = 20  # listed errors
_MOST_EXAMPLES = 1000  # whose features are counted
_BEGIN = 512  # bytes that identify the format of a file
_TAR_MAGIC = (257, b"ustar")
_PACKED_TAR = (".tar.gz", ".tgz", ".tar.zst")
_RECORDS = {".tfrecord", ".tfrecords", ".tfrec"}
# The first bytes of each format, from the specifications of Arrow, Parquet, HDF5 and
# numpy.lib.format.
_TABLES: tuple[tuple[bytes, str, Callable[[str], Dataset]], ...] = (
    (b"ARROW1\0\0", "Arrow file", ArrowDataset),
    (b"\xff\xff\xff\xff", "Arrow stream", ArrowDataset),
    (b"PAR1", "Parquet", ParquetDataset),
    (b"\x89HDF\r\n\x1a\n", "HDF5", HDF5Dataset),
    (b"\x93NUMPY", ".npy file", NumpyDataset),
    (b"PK\x03\x04", ".npz file", NumpyDataset),
)
_RECORD_HEADER = 12  # length, and its checksum
_STATE_CHECKSUM = 4


def main(argv: Sequence[str] | None = None) -> int:
    """Print the contents of files.

    Parameters
    ----------
    argv : sequence of str, optional
        Arguments after ``inspect``; ``None`` takes those of the process.

    Returns
    -------
    int
        0 without errors, 1 if something is damaged, 2 if a file is missing or its format is
        unknown.
    """
    parser = argparse.ArgumentParser(
        prog="python -m penstock inspect",
        description="Show the contents of TFRecord files, tar shards, Parquet, Arrow, HDF5, .npy "
        "and .npz files, saved datasets, snapshots, states of iterators and indexes: counts, "
        "sizes, first elements, and damage.",
        epilog="exit codes: 0 well, 1 damaged, 2 missing or unknown",
    )
    parser.add_argument("files", nargs="+", metavar="FILE")
    parser.add_argument("--json", action="store_true", help="print a JSON list")
    given = parser.parse_args(argv)
    status, reports = 0, []
    for name in given.files:
        try:
            report = inspect(name)
        except FileNotFoundError:
            print(f"inspect: there is no file {printable(name)}", file=sys.stderr)
            status = 2
            continue
        except (OSError, ImportError, _UnknownError) as error:
            print(f"inspect: {printable(str(error))}", file=sys.stderr)
            status = 2
            continue
        status = max(status, int(bool(report["damage"])))
        reports.append(report)
        if not given.json:
            print(_text(report))
    if given.json:
        print(json.dumps(reports, indent=2))
    return status


class _UnknownError(Exception):
    """A file of unknown format."""


def inspect(name: str) -> dict[str, Any]:
    """Return the contents of a file or folder.

    Parameters
    ----------
    name : str
        Its name.

    Returns
    -------
    dict
        ``file``, ``format``, ``bytes``, ``damage`` (a list of ``element``, ``offset`` or None and
        ``reason``), and entries that depend on the format, such as the number of readable
        ``elements``.

    Raises
    ------
    OSError
        If the file cannot be read.
    """
    path = Path(name)
    if path.is_dir():
        if not (path / _core.MANIFEST_NAME).exists():
            raise _UnknownError(f"{name} is a folder without {_core.MANIFEST_NAME}")
        size = sum(each.stat().st_size for each in path.iterdir() if each.is_file())
        report = {"file": name, "format": "saved dataset", "bytes": size}
        try:
            return {**report, "files": _core.saved_shards(name)} | _elements(
                Dataset.load(name), name
            )
        except DataError as error:  # the data at the end of the file is missing
            return {**report, "damage": [_damage(None, error)]}
    status = path.stat()
    if not stat.S_ISREG(status.st_mode):  # opening a pipe would wait for a writer
        raise _UnknownError(f"{name} is not a regular file")
    size = status.st_size
    with path.open("rb") as file:
        begin = file.read(_BEGIN)
    form, look = _form_of(name, begin)
    return {"file": name, "format": form, "bytes": size, **look(name)}


def _form_of(name: str, begin: bytes) -> tuple[str, Callable[[str], dict[str, Any]]]:
    if begin.startswith((b"PSTK", TEXT_BEGIN)):
        return "state of an iterator", _state
    if begin.startswith(b"PSINDX\r\n"):
        return "index", _index
    if begin.startswith(b"PSROWS\r\n"):
        return "file of rows", _rows
    for magic, form, source in _TABLES:
        # Many other formats are also zip files.
        if begin.startswith(magic) and (form != ".npz file" or name.endswith(".npz")):
            return form, functools.partial(_table, source)
    packed = _compression(begin)
    how = f", {packed}" if packed else ""
    if packed:
        begin = _unpacked(name, packed)
    at, tar = _TAR_MAGIC
    if begin[at:].startswith(tar) or (packed and name.endswith(_PACKED_TAR)):
        return f"tar shard{how}", lambda name: _elements(
            TarDataset(name, compression_type=packed), name
        )
    named = not _RECORDS.isdisjoint(Path(name).suffixes)
    if named or not begin or _begins_with_a_record(name, packed, begin):
        return f"TFRecord{how}", lambda name: _records(name, packed)
    raise _UnknownError(f"{name} is of no format that is known here, or damaged at its beginning")


def _begins_with_a_record(name: str, packed: str, begin: bytes) -> bool:
    """Return whether the first record is valid and has the length in its header."""
    if len(begin) < _RECORD_HEADER:
        return False
    records = TFRecordDataset(name, packed).ignore_errors(log_warning=False)
    first = next(iter(records), None)
    return first is not None and len(first) == struct.unpack("<Q", begin[:8])[0]


def _unpacked(name: str, packed: str) -> bytes:
    """Return the first bytes of a compressed file, as many as can be read."""
    begin = b""
    try:
        for byte in FixedLengthRecordDataset(name, 1, compression_type=packed).take(_BEGIN):
            begin += bytes(byte)
    except (DataError, ValueError, OSError):
        pass  # the beginning of a damaged file may still identify it
    return begin


def _compression(begin: bytes) -> str:
    if begin.startswith(b"\x1f\x8b"):
        return "GZIP"
    if begin.startswith(b"\x28\xb5\x2f\xfd"):
        return "ZSTD"
    return ""


def _elements(dataset: Any, name: str) -> dict[str, Any]:
    """Read a dataset to its end, continuing after damaged elements."""
    whole = 0
    first: list[str] = []
    damage: list[dict[str, Any]] = []
    for count, (element, error) in enumerate(_steps(dataset, name)):
        if error is None:
            whole += 1
            if len(first) < _SHOWN:
                first.append(_shown(element))
        elif len(damage) < _MOST_DAMAGE:
            damage.append(_damage(count, error))
    return {"elements": whole, "first": first, "damage": damage}


def _damage(element: int | None, error: Exception) -> dict[str, Any]:
    offset = getattr(error, "offset", None)
    return {"element": element, "offset": offset, "reason": str(error)}


def _steps(dataset: Any, name: str) -> Iterator[tuple[Any, Exception | None]]:
    meter = Meter(name, None)
    done = 0
    with iter(dataset) as it:
        while True:
            try:
                element = next(it)
            except StopIteration:
                break
            except (DataError, ValueError, OSError) as error:
                yield None, error
            else:
                yield element, None
            done += 1
            meter.update(done)
    meter.finish()


def _table(source: Callable[[str], Dataset], name: str) -> dict[str, Any]:
    """Read the rows of a file with a schema."""
    try:
        dataset = source(name)
    except DataError as error:
        return {"damage": [_damage(None, error)]}
    except ValueError as error:  # its arrays have no common rows
        return {"rows": str(error), "damage": []}
    return {"rows": str(dataset.element_spec), **_elements(dataset, name)}


def _records(name: str, packed: str) -> dict[str, Any]:
    """Read a TFRecord file; count features if the first records are Examples."""
    whole, sizes = 0, [0, 0, 0]
    first: list[str] = []
    damage: list[dict[str, Any]] = []
    features: dict[str, dict[str, Any]] = {}
    examples = True
    dataset = TFRecordDataset(name, packed or None)
    for count, (record, error) in enumerate(_steps(dataset, name)):
        if error is None:
            whole += 1
            size = len(record)
            sizes = [sizes[0] + size, min(sizes[1] or size, size), max(sizes[2], size)]
            if len(first) < _SHOWN:
                first.append(_shown(record))
            if examples and count < _MOST_EXAMPLES:
                examples = _count_features(bytes(record), features)
        elif len(damage) < _MOST_DAMAGE:
            damage.append(_damage(count, error))
    found = {
        "elements": whole,
        "record_bytes": dict(zip(("all", "least", "most"), sizes, strict=True)),
    }
    if examples and features:
        found["features"] = features
    return {**found, "first": first, "damage": damage}


def _count_features(record: bytes, features: dict[str, dict[str, Any]]) -> bool:
    """Count the features of an Example; return False if the record is not an Example."""
    try:
        found = list(_features_of(record))
    except (IndexError, UnicodeDecodeError, _NotAnExampleError):
        return False
    for name, kind, length in found:
        seen = features.setdefault(
            name, {"kind": kind, "examples": 0, "least": length, "most": length}
        )
        if seen["kind"] == "none":
            seen["kind"] = kind
        seen["examples"] += 1
        seen["least"], seen["most"] = min(seen["least"], length), max(seen["most"], length)
    return bool(found)


class _NotAnExampleError(Exception):
    """The bytes are not a tf.train.Example."""


_KINDS = {1: "bytes", 2: "float", 3: "int64"}


def _features_of(record: bytes) -> Iterator[tuple[str, str, int]]:
    """Yield name, kind and length of each feature of a tf.train.Example."""
    for number, _, features in _fields(record):
        if number != 1 or not isinstance(features, bytes):
            raise _NotAnExampleError
        for number, _, entry in _fields(features):
            if number != 1 or not isinstance(entry, bytes):
                raise _NotAnExampleError
            parts = {number: value for number, _, value in _fields(entry)}
            feature = parts.get(2, b"")
            if not isinstance(feature, bytes) or not isinstance(name := parts.get(1), bytes):
                raise _NotAnExampleError
            kind, length = "none", 0
            for number, _, values in _fields(feature):
                if number not in _KINDS or not isinstance(values, bytes):
                    raise _NotAnExampleError
                kind, length = _KINDS[number], _length(number, values)
            yield name.decode(), kind, length


def _length(kind: int, values: bytes) -> int:
    """Return the number of values in a list, packed or not."""
    count = 0
    for _, wire, value in _fields(values):
        if kind == 1 or wire != 2 or not isinstance(value, bytes):
            count += 1
        elif kind == 2:
            count += len(value) // 4
        else:
            count += sum(byte < 0x80 for byte in value)  # the last byte of each varint
    return count


def _fields(message: bytes) -> Iterator[tuple[int, int, bytes | int]]:
    """Yield number, wire type and value of each field of a protocol buffer."""
    at = 0
    while at < len(message):
        key, at = _varint(message, at)
        wire = key & 7
        value: bytes | int
        if wire == 0:
            value, at = _varint(message, at)
        else:
            if wire == 2:
                size, at = _varint(message, at)
            elif wire in (1, 5):
                size = 8 if wire == 1 else 4
            else:
                raise _NotAnExampleError
            value = message[at : at + size]
            at += size
            if at > len(message):
                raise _NotAnExampleError
        yield key >> 3, wire, value


def _varint(message: bytes, at: int) -> tuple[int, int]:
    value = shift = 0
    while True:
        byte = message[at]
        value |= (byte & 0x7F) << shift
        shift += 7
        at += 1
        if byte < 0x80:
            return value, at


def _state(name: str) -> dict[str, Any]:
    """Return the contents of a state saved by `Iterator.get_state`."""
    try:
        state = bytes_of(Path(name).read_bytes())
        version, at = _varint(state, 4)
        plan, at = _text_at(state, at)
        account, _ = _text_at(state, at)
        # The engine verifies the checksum first.
        with iter(Dataset.range(0)) as it:
            it._compare_state(state)
    except (IndexError, ValueError) as error:
        reason = str(error).removeprefix("set_state: ")
        return {"damage": [{"element": None, "offset": None, "reason": reason}]}
    return {"version": version, "plan": plan.decode(), "account_bytes": len(account), "damage": []}


def _text_at(message: bytes, at: int) -> tuple[bytes, int]:
    size, at = _varint(message, at)
    if at + size > len(message):
        raise IndexError("the text is longer than the file")
    return message[at : at + size], at + size


def _index(name: str) -> dict[str, Any]:
    """Check an index written by `ps.index`, and return its contents."""
    try:
        form, records, size, problem = _core.check_index(name)
    except DataError as error:
        return {"damage": [_damage(None, error)]}
    indexed = name.removesuffix(".psindex")
    report = {
        "of": indexed if Path(indexed).exists() and indexed != name else None,
        "records": records,
        "bytes of the file": size,
        "format of the file": form.split("\0")[0],
    }
    if problem:
        report["the last record"] = problem
    return {**report, "damage": []}


def _rows(name: str) -> dict[str, Any]:
    """Read a file written by `cache`, `save` or `snapshot`."""
    try:
        return _elements(
            Dataset._make("load", (), {"path": name, "alone": True, "shown_as": "inspect"}), name
        )
    except DataError as error:  # the data at the end of the file is missing
        return {"damage": [_damage(None, error)]}


def _shown(element: Any) -> str:
    text = repr(element)
    return text if len(text) <= 200 else f"{text[:197]}..."


def _text(report: dict[str, Any]) -> str:
    lines = [f"{report['file']}: {report['format']}, {report['bytes']:,} bytes"]
    for key, value in report.items():
        if key in ("file", "format", "bytes", "first", "damage", "features"):
            continue
        of_value = str(value).splitlines() or [""]
        lines += [f"  {key}: {of_value[0]}"] if len(of_value) == 1 else [f"  {key}:"]
        lines += (f"    {line}" for line in of_value if len(of_value) > 1)
    for feature, seen in report.get("features", {}).items():
        lengths = (
            f"{seen['least']} to {seen['most']}" if seen["least"] != seen["most"] else seen["most"]
        )
        lines.append(
            f"  feature {feature}: {seen['kind']}, {lengths} values, in {seen['examples']} examples"
        )
    lines += (f"  {i}: {each}" for i, each in enumerate(report.get("first", ())))
    for each in report["damage"]:
        where = "" if each["element"] is None else f" at element {each['element']}"
        lines.append(f"  damaged{where}: {each['reason']}")
    return "\n".join(map(printable, lines))
