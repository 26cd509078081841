"""Reading and writing the fields of protocol buffer messages."""

from __future__ import annotations

import struct
from collections.abc import Iterable, Iterator
from typing import Any

import numpy as np

from penstock.compat.listing import listing
from penstock.errors import DataError

_64_BITS = (1 << 64) - 1
_FEW = 16  # maximum number of integers that Python packs faster than NumPy


def fields(message: bytes, name: str) -> Iterator[tuple[int, bytes | int]]:
    """Yield the number and the value of each field: an int, or bytes.

    Parameters
    ----------
    message : bytes
        The message.
    name : str
        Name of the message for errors.

    Raises
    ------
    DataError
        If the bytes are not a valid message.
    """
    at = 0
    while at < len(message):
        tag, at = _varint(message, at, name)
        kind = tag & 7
        if kind == 0:
            value, at = _varint(message, at, name)
            yield tag >> 3, value
            continue
        size = {1: 8, 5: 4}.get(kind)
        if kind == 2:
            size, at = _varint(message, at, name)
        if size is None:
            raise DataError(f"{name}: a field of kind 0, 1, 2 or 5 was expected, got {kind}")
        if at + size > len(message):
            raise DataError(
                f"{name}: {size} bytes were expected at byte {at} of {len(message)}; the message "
                "is cut off"
            )
        yield tag >> 3, message[at : at + size]
        at += size


def _varint(message: bytes, at: int, name: str) -> tuple[int, int]:
    value = 0
    for i, byte in enumerate(message[at : at + 10]):
        value |= (byte & 127) << (7 * i)
        if byte < 128:
            return value, at + i + 1
    raise DataError(f"{name}: a number was expected at byte {at}; the message is cut off")


def signed(value: int) -> int:
    """Return the int64 value of an integer field."""
    value &= _64_BITS
    return value - (1 << 64) if value >> 63 else value


def integers_of(field: bytes | int, name: str) -> list[int]:
    """Return the integers of a field, which may be single or packed."""
    if isinstance(field, int):
        return [signed(field)]
    found, at = [], 0
    while at < len(field):
        value, at = _varint(field, at, name)
        found.append(signed(value))
    return found


def numbers_of(field: bytes | int, dtype: str, name: str) -> np.ndarray[Any, Any]:
    """Return the floats of a field, which may be single or packed."""
    size = np.dtype(dtype).itemsize
    if isinstance(field, int) or len(field) % size:
        raise DataError(f"{name}: floats of {size} bytes were expected, got {field!r}")
    return np.frombuffer(field, dtype)


def varint(value: int) -> bytes:
    """Encode an integer as a varint."""
    value &= _64_BITS
    made = bytearray()
    while value > 127:
        made.append(value & 127 | 128)
        value >>= 7
    made.append(value)
    return bytes(made)


def packed(values: Any) -> bytes:
    """Encode integers as concatenated varints."""
    if len(values) <= _FEW:
        return b"".join(map(varint, values))
    numbers = np.asarray(values, np.int64).view(np.uint64)
    groups = numbers[:, None] >> np.arange(0, 70, 7, dtype=np.uint64)
    groups[:, 9] = numbers >> np.uint64(63)
    sizes = np.maximum((groups > 0).sum(1), 1)[:, None]
    columns = np.arange(10)
    made = (groups & np.uint64(127)).astype(np.uint8) | ((columns < sizes - 1) * np.uint8(128))
    return bytes(made[columns < sizes].tobytes())


def field(number: int, payload: bytes) -> bytes:
    """Encode a field of bytes, text or a message."""
    return varint(number << 3 | 2) + varint(len(payload)) + payload


def number_field(number: int, value: int) -> bytes:
    """Encode a field with one integer."""
    return varint(number << 3) + varint(value)


def floats(values: Iterable[float]) -> bytes:
    """Encode floats as concatenated 4-byte values."""
    values = list(values)
    return struct.pack(f"<{len(values)}f", *values)


__dir__ = listing(globals())
