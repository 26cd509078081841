"""Messages of protocol buffers taken apart: what tf.train.Example reads itself from."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from penstock.compat.listing import listing
from penstock.errors import DataError

_BYTES, _FLOATS, _INTEGERS = 1, 2, 3


def features_of(message: bytes) -> dict[str, tuple[int, list[bytes] | list[float] | list[int]]]:
    """Return the features of an Example.

    Parameters
    ----------
    message : bytes
        What `SerializeToString` gives.

    Returns
    -------
    dict
        By name: the number of the kind (1 bytes, 2 floats, 3 integers, 0 none), and the values.

    Raises
    ------
    DataError
        If the bytes are no such message.
    """
    found: dict[str, tuple[int, list[bytes] | list[float] | list[int]]] = {}
    for features in _messages(message, 1):
        for entry in _messages(features, 1):
            name, kind, values = b"", 0, []
            for number, part in _fields(entry):
                if number == 1 and isinstance(part, bytes):
                    name = part
                elif number == 2 and isinstance(part, bytes):
                    for which, packed in _fields(part):
                        if which in (_BYTES, _FLOATS, _INTEGERS):
                            kind, values = which, _values(which, packed)
            try:
                found[name.decode()] = (kind, values)
            except UnicodeDecodeError:
                raise DataError(f"Example: a name in UTF-8 was expected, got {name!r}") from None
    return found


def _values(kind: int, message: bytes | int) -> list:  # type: ignore[type-arg]
    values: list = []  # type: ignore[type-arg]
    for number, part in _fields(message if isinstance(message, bytes) else b""):
        if number != 1:
            continue
        if kind == _BYTES and isinstance(part, bytes):
            values.append(part)
        elif kind == _FLOATS and isinstance(part, bytes):
            if len(part) % 4:
                raise DataError(f"Example: floats of 4 bytes were expected, got {len(part)} bytes")
            values.extend(np.frombuffer(part, "<f4").tolist())
        elif kind == _INTEGERS and isinstance(part, int):
            values.append(_signed(part))
        elif kind == _INTEGERS and isinstance(part, bytes):
            place = 0
            while place < len(part):
                value, place = _varint(part, place)
                values.append(_signed(value))
    return values


def _messages(message: bytes, wanted: int) -> Iterator[bytes]:
    for number, part in _fields(message):
        if number == wanted and isinstance(part, bytes):
            yield part


def _fields(message: bytes) -> Iterator[tuple[int, bytes | int]]:
    """Yield the number and the value of each field: an int, or bytes."""
    place = 0
    while place < len(message):
        tag, place = _varint(message, place)
        kind = tag & 7
        if kind == 0:
            value, place = _varint(message, place)
            yield tag >> 3, value
            continue
        size = {1: 8, 5: 4}.get(kind)
        if kind == 2:
            size, place = _varint(message, place)
        if size is None:
            raise DataError(f"Example: a field of kind 0, 1, 2 or 5 was expected, got {kind}")
        if place + size > len(message):
            raise DataError(
                f"Example: {size} bytes were expected at byte {place} of {len(message)}; the "
                "message is cut off"
            )
        yield tag >> 3, message[place : place + size]
        place += size


def _varint(message: bytes, place: int) -> tuple[int, int]:
    value = 0
    for i, byte in enumerate(message[place : place + 10]):
        value |= (byte & 127) << (7 * i)
        if byte < 128:
            return value, place + i + 1
    raise DataError(f"Example: a number was expected at byte {place}; the message is cut off")


def _signed(value: int) -> int:
    value &= (1 << 64) - 1
    return value - (1 << 64) if value >> 63 else value


__dir__ = listing(globals())
