"""tf.random: penstock's random operations, on tensors."""

from __future__ import annotations

from typing import Any

import numpy as np

from penstock import random as _random
from penstock.compat.calling import port_all
from penstock.compat.listing import listing
from penstock.compat.tensor import tensor

port_all(globals(), _random, ["normal", "set_seed", "shuffle", "uniform"])


class Generator:
    """A source of random numbers with a state of its own.

    Examples
    --------
    >>> import penstock.compat.tf as tf
    >>> rng = tf.random.Generator.from_seed(1)
    >>> rng.uniform([2]).shape
    TensorShape([2])
    """

    def __init__(self, numbers: np.random.Generator) -> None:
        self._numbers = numbers

    @classmethod
    def from_seed(cls, seed: int, alg: Any = None) -> Generator:
        """Make one whose numbers are repeatable."""
        return cls(np.random.default_rng(np.random.Philox(seed)))

    @classmethod
    def from_non_deterministic_state(cls, alg: Any = None) -> Generator:
        """Make one whose numbers are not repeatable."""
        return cls(np.random.default_rng())

    def uniform(
        self, shape: Any, minval: Any = 0, maxval: Any = None, dtype: Any = np.float32
    ) -> Any:
        """Draw numbers that are equally likely in ``[minval, maxval)``."""
        drawn: Any
        if np.dtype(dtype).kind in "iu":
            drawn = self._numbers.integers(minval, maxval, tuple(shape))
        else:
            drawn = self._numbers.uniform(minval, 1 if maxval is None else maxval, tuple(shape))
        return tensor(drawn, dtype)

    def normal(
        self, shape: Any, mean: Any = 0.0, stddev: Any = 1.0, dtype: Any = np.float32
    ) -> Any:
        """Draw numbers of a normal distribution."""
        return tensor(self._numbers.normal(mean, stddev, tuple(shape)), dtype)

    def make_seeds(self, count: int = 1) -> Any:
        """Draw seeds for functions whose names begin with ``stateless_``: shape ``(2, count)``."""
        return tensor(self._numbers.integers(0, 2**62, (2, count)))


__dir__ = listing(globals())
