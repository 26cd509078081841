"""The memory of batches: this process's own or, in a worker, memory that its parent reads too."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import numpy.typing as npt

from penstock import _core

_FEWEST = 64 << 10  # bytes that are worth it

_shared = False


def share(shared: bool) -> None:
    """Say whether batches that are made from now on go to another process, and are not kept."""
    global _shared
    _shared = shared


def empty(shape: tuple[int, ...], dtype: Any) -> npt.NDArray[Any]:
    """Return a new array that is not initialised."""
    size = math.prod(shape) * np.dtype(dtype).itemsize
    if not _shared or size < _FEWEST:
        return np.empty(shape, dtype)
    memory: Any = _core.shared_bytes(size)
    array: npt.NDArray[Any] = np.frombuffer(memory, dtype).reshape(shape)
    return array
