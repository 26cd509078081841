"""Tensors as protocol buffer messages, for tf.io.serialize_tensor and tf.io.parse_tensor."""

from __future__ import annotations

from typing import Any

import numpy as np

from penstock.compat.dtypes import DTYPES, as_dtype
from penstock.compat.errors import InvalidArgumentError
from penstock.compat.listing import listing
from penstock.compat.tensor import tensor
from penstock.compat.tf import wire
from penstock.errors import DataError

# The numbers of types in messages: DataType in TensorFlow's types.proto.
_NUMBERS = {
    **{"float32": 1, "float64": 2, "int32": 3, "uint8": 4, "int16": 5, "int8": 6, "string": 7},
    **{"complex64": 8, "int64": 9, "bool": 10, "bfloat16": 14, "uint16": 17, "complex128": 18},
    **{"float16": 19, "uint32": 22, "uint64": 23},
}
_NAMES = {number: name for name, number in _NUMBERS.items()}
_DTYPE, _SHAPE, _CONTENT, _STRINGS = 1, 2, 4, 8
# Fields that contain individual values, rather than the bytes of the whole array.
_FLOATS = {5: "<f4", 6: "<f8", 9: "<f4", 12: "<f8"}
_INTEGERS = frozenset({7, 10, 11, 13, 16, 17})
_NAME = "parse_tensor"


def serialized(value: Any) -> bytes:
    """Serialise a tensor."""
    array = np.asarray(tensor(value))
    name = as_dtype(array.dtype).name
    sizes = (wire.number_field(1, size) if size else b"" for size in array.shape)
    made = wire.number_field(_DTYPE, _NUMBERS[name])
    made += wire.field(_SHAPE, b"".join(wire.field(2, size) for size in sizes))
    if name == "string":
        return made + b"".join(wire.field(_STRINGS, text) for text in array.ravel().tolist())
    little = array.astype(array.dtype.newbyteorder("<"), copy=False)
    return made + (wire.field(_CONTENT, little.tobytes()) if array.size else b"")


def parsed(message: bytes, out_type: Any = None) -> Any:
    """Parse a serialised tensor.

    Parameters
    ----------
    message : bytes
        A message written by `serialized` or by TensorFlow.
    out_type : dtype-like, optional
        The expected type.

    Raises
    ------
    InvalidArgumentError
        If the bytes are not a valid message, or contain a tensor of another type.
    """
    try:
        number, shape, content, values = _fields_of(message)
    except DataError as error:
        raise InvalidArgumentError(None, None, str(error)) from None
    if number not in _NAMES:
        raise InvalidArgumentError(None, None, f"{_NAME}: a tensor was expected, got {message!r}")
    dtype = DTYPES[_NAMES[number]]
    if out_type is not None and dtype != as_dtype(out_type):
        raise InvalidArgumentError(
            None,
            None,
            f"Type mismatch between parsed tensor ({dtype.name}) and dtype "
            f"({as_dtype(out_type).name})",
        )
    try:
        if content and dtype.name != "string":
            made = np.frombuffer(content, dtype.dtype.newbyteorder("<")).astype(dtype.dtype)
        else:
            made = _of_values(values, dtype.dtype, int(np.prod(shape)))
        return tensor(made.reshape(shape))
    except ValueError as error:
        raise InvalidArgumentError(None, None, f"{_NAME}: {error}") from None


def _fields_of(message: bytes) -> tuple[int, list[int], bytes, list[Any]]:
    number, shape, content = 0, [], b""
    values: list[Any] = []
    for which, payload in wire.fields(message, _NAME):
        if which == _DTYPE and isinstance(payload, int):
            number = payload
        elif which == _SHAPE and isinstance(payload, bytes):
            shape = [_size_of(size) for at, size in wire.fields(payload, _NAME) if at == 2]
        elif which == _CONTENT and isinstance(payload, bytes):
            content = payload
        elif which == _STRINGS and isinstance(payload, bytes):
            values.append(payload)
        elif which in _FLOATS:
            values += wire.numbers_of(payload, _FLOATS[which], _NAME).tolist()
        elif which in _INTEGERS:
            values += wire.integers_of(payload, _NAME)
    return number, shape, content, values


def _size_of(dimension: bytes | int) -> int:
    parts = wire.fields(dimension if isinstance(dimension, bytes) else b"", _NAME)
    return next((wire.signed(size) for at, size in parts if at == 1 and isinstance(size, int)), 0)


def _of_values(values: list[Any], dtype: np.dtype[Any], size: int) -> Any:
    """Return an array of individual values; the last one is repeated to fill it."""
    if dtype.kind == "O":
        made = np.full(size, b"", object)
        made[: len(values)] = values
        return made
    if dtype.kind == "c":
        pairs = np.array(values, np.float64).reshape(-1, 2)
        values = (pairs[:, 0] + 1j * pairs[:, 1]).tolist()
    if dtype.name in ("float16", "bfloat16"):
        array: Any = np.array(values, np.int64).astype(np.uint16).view(dtype)
    elif dtype.kind == "u":
        array = np.array(values, np.int64).astype(dtype)
    else:
        array = np.array(values).astype(dtype)
    if len(array) < size:
        last = array[-1:] if len(array) else np.zeros(1, dtype)
        array = np.concatenate([array, np.repeat(last, size - len(array))])
    return array


__dir__ = listing(globals())
