"""Memory for reference loops, aligned like the engine's own buffers."""

from __future__ import annotations

import numpy as np

ALIGNMENT = 64  # bytes


def aligned(*shape: int) -> np.ndarray:
    """Return zeroed memory of this shape, aligned to 64 bytes.

    NumPy places large arrays 16 bytes after a page boundary, and kernel copies to such addresses
    can be several times slower. A reference loop that reads into such an array would not be an
    upper bound.
    """
    size = int(np.prod(shape))
    memory = np.zeros(size + ALIGNMENT, np.uint8)
    first = -memory.ctypes.data % ALIGNMENT
    return memory[first : first + size].reshape(shape)
