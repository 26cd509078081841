"""The writer of each file format."""

from __future__ import annotations

import io
import json
import re
import zlib
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import numpy as np

from penstock import _core
from penstock.libraries import library
from penstock.ops.examples import make_example
from penstock.ops.tf_record import TFRecordOptions, TFRecordWriter

_GZIP = 31  # zlib's window bits for gzip files
_KEY = "__key__"


class Records:
    """A TFRecord file."""

    def __init__(self, stage: str, path: str, compression: str) -> None:
        self._stage = stage
        self._file = TFRecordWriter(path, TFRecordOptions(compression))

    def write(self, number: int, element: Any) -> None:
        """Append a record, or a dict as a tf.train.Example."""
        if isinstance(element, Mapping):
            element = make_example(element)
        if isinstance(element, str):
            element = element.encode()
        if not isinstance(element, bytes):
            raise TypeError(
                f"{self._stage}: elements must be bytes, str, or dicts for tf.train.Example, "
                f"element {number} is {element!r:.200}"
            )
        self._file.write(element)

    def close(self) -> None:
        """Finish and close the file."""
        self._file.close()

    def abandon(self) -> None:
        """Close the incomplete file."""
        self._file.__exit__(RuntimeError, RuntimeError(), None)


class Packed:
    """A file of bytes, optionally compressed, with the methods of a file that tarfile calls."""

    def __init__(self, stage: str, path: str, compression: str) -> None:
        self._packer: Any = None
        if compression == "ZSTD":
            self._packer = _core.ZstdCompressor(stage, 0)
        elif compression:
            self._packer = zlib.compressobj(wbits=_GZIP)
        self._file = Path(path).open("wb")  # noqa: SIM115 - close() closes it

    def write(self, data: bytes) -> int:
        """Append bytes."""
        self._file.write(self._packer.compress(data) if self._packer else data)
        return len(data)

    def close(self) -> None:
        """Finish and close the file."""
        if self._packer:
            self._file.write(self._packer.flush())
        self._file.close()

    def abandon(self) -> None:
        """Close the incomplete file."""
        try:
            self._file.close()
        except OSError:
            self._file.close()


class Lines:
    """A JSON Lines file, with one element per line."""

    def __init__(self, stage: str, path: str, compression: str) -> None:
        self._stage = stage
        self._file = Packed(stage, path, compression)

    def write(self, number: int, element: Any) -> None:
        """Append an element."""
        try:
            text = json.dumps(
                element, allow_nan=False, ensure_ascii=False, separators=(",", ":"), default=_plain
            )
            line = text.encode()
        except (TypeError, ValueError) as error:
            kind = TypeError if isinstance(error, TypeError) else ValueError
            raise kind(f"{self._stage}: element {number} has no form in JSON: {error}") from None
        self._file.write(line + b"\n")

    def close(self) -> None:
        """Finish and close the file."""
        self._file.close()

    def abandon(self) -> None:
        """Close the incomplete file."""
        self._file.abandon()


def _plain(value: Any) -> Any:
    """Return the JSON equivalent of a NumPy value, or of UTF-8 bytes."""
    if isinstance(value, (bytes, np.bytes_)):
        return value.decode()
    if isinstance(value, np.generic) and value.dtype.kind in "Mm":
        return str(value)
    if isinstance(value, np.ndarray) and value.dtype.kind in "Mm":
        return value.astype(str).tolist()
    if isinstance(value, (np.generic, np.ndarray)):
        return value.tolist()
    raise TypeError(f"a {type(value).__name__}")


class Samples:
    """A tar file that contains a file for each field of an element."""

    def __init__(self, stage: str, path: str, compression: str) -> None:
        import tarfile  # imported here because it loads three compression libraries

        self._stage = stage
        self._file = Packed(stage, path, compression)
        self._last = ""  # the key of the previous element
        self._info = tarfile.TarInfo
        self._tar = tarfile.open(fileobj=self._file, mode="w|", format=tarfile.PAX_FORMAT)  # type: ignore[call-overload]  # noqa: SIM115 - close() closes it

    def write(self, number: int, element: Any) -> None:
        """Append the fields of an element."""
        if not isinstance(element, Mapping):
            raise TypeError(
                f"{self._stage}: elements must be dicts of fields, element {number} is "
                f"{element!r:.200}"
            )
        key = element.get(_KEY, f"{number:09d}")
        key = key.decode() if isinstance(key, bytes) else str(key)
        *folders, last = key.split("/")
        wrong_key = not last or "." in last or "\0" in key or {"", ".", ".."} & set(folders)
        if wrong_key or key == self._last:
            raise ValueError(
                f"{self._stage}: {_KEY} must be a name without dots, perhaps in a folder, and not "
                f"that of the element before; element {number} has {key!r}"
            )
        self._last = key
        fields = [name for name in element if not str(name).startswith("__")]
        wrong = [name for name in fields if not _is_extension(name)]
        if wrong or not fields:
            raise ValueError(
                f"{self._stage}: elements must have fields, with names that are extensions in "
                f"lower case; element {number} has {', '.join(map(repr, wrong)) or 'none'}"
            )
        for name in fields:
            value = element[name]
            try:
                data = _field(name, value)
            except (TypeError, ValueError) as error:
                kind = TypeError if isinstance(error, TypeError) else ValueError
                raise kind(
                    f"{self._stage}: element {number}: field {name!r} must be bytes, str, or what "
                    f"its extension stands for, got {value!r:.200}: {error}"
                ) from None
            info = self._info(f"{key}.{name}")
            info.size = len(data)
            self._tar.addfile(info, io.BytesIO(data))

    def close(self) -> None:
        """Finish and close the file."""
        self._tar.close()
        self._file.close()

    def abandon(self) -> None:
        """Close the incomplete file."""
        self._tar.fileobj.closed = True  # otherwise its finalizer would write
        self._file.abandon()


def _is_extension(name: Any) -> bool:
    """Return whether readers can find a field of this name; they truncate names at a null byte."""
    return isinstance(name, str) and bool(re.fullmatch(r"[^/\0]+", name)) and name == name.lower()


def _field(name: str, value: Any) -> bytes:
    if isinstance(value, bytes):
        return value
    if isinstance(value, str):
        return value.encode()
    ending = name.rpartition(".")[2]
    if ending == "json":
        return json.dumps(value, allow_nan=False, ensure_ascii=False, default=_plain).encode()
    if ending == "npy":
        file = io.BytesIO()
        np.save(file, np.asarray(value), allow_pickle=False)
        return file.getvalue()
    if isinstance(value, (int, float, np.number)):
        return str(value.item() if isinstance(value, np.number) else value).encode()
    raise TypeError(f"a {type(value).__name__}")


class Columns:
    """A Parquet file; each element is a row group, as from `columns_of`."""

    def __init__(
        self, stage: str, path: str, compression: str, columns: Callable[[Any], Any], empty: Any
    ) -> None:
        self._columns = columns
        parquet = library(stage, "pyarrow.parquet", "arrow")
        self._file = parquet.ParquetWriter(path, empty.schema, compression=compression or "none")

    def write(self, number: int, element: Any) -> None:
        """Append a row group."""
        self._file.write_table(self._columns(element))

    def close(self) -> None:
        """Finish and close the file."""
        self._file.close()

    def abandon(self) -> None:
        """Close the incomplete file."""
        self._file.close()


def columns_of(stage: str, spec: Any) -> Callable[[Any], Any]:
    """Return a function that converts ragged batches with a spec to pyarrow tables."""
    pa = library(stage, "pyarrow", "arrow")

    def array(part: Any, leaf: Any) -> Any:
        if isinstance(leaf, Mapping):
            fields = [array(part[name], leaf[name]) for name in leaf]
            return pa.StructArray.from_arrays(fields, names=[str(name) for name in leaf])
        splits = []
        while isinstance(part, tuple):  # (values, row_splits), nested
            part, ends = part
            splits.append(ends)
        # After a function, all axes may be ragged, even those of known size.
        shape = leaf.shape
        ragged = max((i + 1 for i, size in enumerate(shape) if size is None), default=0)
        made = _items(pa, np.asarray(part).reshape(-1, *shape[ragged:]), leaf)
        for ends in reversed(splits[:ragged]):
            made = pa.LargeListArray.from_arrays(pa.array(ends, pa.int64()), made)
        return made

    def table(batch: Any) -> Any:
        arrays = [array(batch[name], spec[name]) for name in spec]
        return pa.Table.from_arrays(arrays, names=[str(name) for name in spec])

    return table


def _items(pa: Any, values: Any, leaf: Any) -> Any:
    """Return the rows of an array: fixed-size lists if it has several axes."""
    flat = values.reshape(-1)
    if values.dtype == object:
        made = pa.array(flat.tolist(), pa.string() if leaf.dtype is str else pa.binary())
    else:
        made = pa.array(flat)
    for size in reversed(values.shape[1:]):
        made = pa.FixedSizeListArray.from_arrays(made, size)
    return made
