"""The checksum of a state_dict, which stays the same when the state is saved as JSON or pickled."""

from __future__ import annotations

import struct
import zlib
from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np

from penstock.data_loader import torch_rules

NAME = "checksum"


def sum_of(state: Mapping[str, Any]) -> int:
    """Return the checksum of a state_dict, without the one that it holds."""
    found = 0
    for part in _parts({name: value for name, value in state.items() if name != NAME}):
        found = zlib.crc32(part, found)
    return found


def _parts(value: Any) -> Iterator[bytes]:
    """Yield a value as bytes. Objects other than numbers, text and arrays count by their type."""
    torch = torch_rules.torch()
    if torch is not None and isinstance(value, torch.Tensor):
        plain = value.layout == torch.strided and not value.is_quantized
        value = value.detach().cpu().tolist() if plain else value.shape
    if isinstance(value, (np.ndarray, np.generic)):
        value = value.tolist()
    if isinstance(value, Mapping):
        # JSON makes all keys strings.
        items = sorted(((str(key), part) for key, part in value.items()), key=lambda item: item[0])
        yield b"{%d" % len(items)
        for key, part in items:
            yield from _text(key)
            yield from _parts(part)
    elif isinstance(value, (list, tuple)):
        yield b"[%d" % len(value)
        for part in value:
            yield from _parts(part)
    elif isinstance(value, str):
        yield from _text(value)
    elif isinstance(value, (bytes, bytearray)):
        yield b"b%d:" % len(value)
        yield bytes(value)
    elif isinstance(value, float):
        yield b"f" + struct.pack("<d", value)
    elif value is None or isinstance(value, int):
        yield f"{int(value) if value is not None else 'n'};".encode()
    else:
        yield from _text(type(value).__qualname__)


def _text(text: str) -> Iterator[bytes]:
    data = text.encode("utf-8", "surrogatepass")
    yield b"s%d:" % len(data)
    yield data
