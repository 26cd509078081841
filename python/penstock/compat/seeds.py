"""Seeds of functions whose names begin with ``stateless_``."""

from __future__ import annotations

import hashlib
from typing import Any

import numpy as np

from penstock.compat.errors import InvalidArgumentError


def seed_of_pair(seed: Any) -> int:
    """Return the seed of penstock's random operations for a pair of integers.

    Parameters
    ----------
    seed : array_like of int, shape (2,)
        What a program gave.

    Returns
    -------
    int
        Another one for each pair, the same for the same pair.

    Raises
    ------
    InvalidArgumentError
        If it is no pair.
    """
    pair = np.asarray(seed, np.int64)
    if pair.shape != (2,):
        raise InvalidArgumentError(None, None, f"seed must have shape [2], not {[*pair.shape]}")
    digest = hashlib.blake2b(pair.tobytes(), digest_size=7).digest()
    return int.from_bytes(digest, "little")
