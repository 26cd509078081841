"""TensorFlow's seeds: explicit ones combined with the global seed, and stateless pairs."""

from __future__ import annotations

import functools
import hashlib
from contextlib import AbstractContextManager
from typing import Any

import numpy as np

from penstock import _core, random
from penstock.compat.errors import InvalidArgumentError


def with_global(seed: Any) -> Any:
    """Return the seed that an operation or a dataset draws from.

    Parameters
    ----------
    seed : int or None
        The argument of the program.

    Returns
    -------
    int or None
        `seed` combined with the global seed (`tf.random.set_seed`); `seed` itself if there is no
        global seed.
    """
    if seed is None or (of_all := _core.global_seed()) is None:
        return seed
    return _joined(of_all, seed)


@functools.lru_cache
def _joined(*seeds: int) -> int:
    digest = hashlib.blake2b(repr(seeds).encode(), digest_size=7).digest()
    return int.from_bytes(digest, "little")


def stateless(seed: Any) -> AbstractContextManager[None]:
    """Return a scope in which operations without a seed draw from a pair of integers.

    The element and the global seed have no effect there.
    """
    return random.key(seed_of_pair(seed))


def seed_of_pair(seed: Any) -> int:
    """Return the seed of penstock's random operations for a pair of integers.

    Parameters
    ----------
    seed : array_like of int, shape (2,)
        The program's argument.

    Returns
    -------
    int
        A seed that depends on the pair only.

    Raises
    ------
    InvalidArgumentError
        If `seed` is not a pair.
    """
    pair = np.asarray(seed, np.int64)
    if pair.shape != (2,):
        raise InvalidArgumentError(None, None, f"seed must have shape [2], not {[*pair.shape]}")
    digest = hashlib.blake2b(pair.tobytes(), digest_size=7).digest()
    return int.from_bytes(digest, "little")
