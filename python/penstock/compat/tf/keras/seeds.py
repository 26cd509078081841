"""tf.keras.utils.set_random_seed."""

from __future__ import annotations

import random

import numpy as np

from penstock.compat.listing import listing
from penstock.compat.tf import random as _random


def set_random_seed(seed: int) -> None:
    """Set the seeds of Python, NumPy and `tf.random`.

    Parameters
    ----------
    seed : int
        The seed, from 0 to 2**32 - 1.
    """
    if not isinstance(seed, int):
        raise ValueError(f"Expected `seed` argument to be an integer. Received: seed={seed!r}")
    random.seed(seed)
    np.random.seed(seed)
    vars(_random)["set_seed"](seed)


__dir__ = listing(globals())
