"""Memory for limits, placed as the engine places its own."""

from __future__ import annotations

import numpy as np

ALIGNMENT = 64  # bytes


def aligned(*shape: int) -> np.ndarray:
    """Return bytes of this shape, filled with 0, that begin at a multiple of 64.

    NumPy's own large arrays begin 16 bytes behind a page, and the kernel may copy several times
    slower to there: a limit that reads into them would be none.
    """
    size = int(np.prod(shape))
    memory = np.zeros(size + ALIGNMENT, np.uint8)
    first = -memory.ctypes.data % ALIGNMENT
    return memory[first : first + size].reshape(shape)
