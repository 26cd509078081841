"""Allocation of batches: private memory or, in a worker, memory shared with its parent."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import numpy.typing as npt

from penstock import _core

_FEWEST = 64 << 10  # below this many bytes, sharing does not pay off

_shared = False


def share(shared: bool) -> None:
    """Set whether later batches are sent to another process and not kept here."""
    global _shared
    _shared = shared


def empty(shape: tuple[int, ...], dtype: Any) -> npt.NDArray[Any]:
    """Return a new uninitialised array."""
    size = math.prod(shape) * np.dtype(dtype).itemsize
    if not _shared or size < _FEWEST:
        return np.empty(shape, dtype)
    memory: Any = _core.shared_bytes(size)
    array: npt.NDArray[Any] = np.frombuffer(memory, dtype).reshape(shape)
    return array
