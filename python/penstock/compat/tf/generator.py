"""tf.random.Generator: random numbers with a state of their own, which is saved and restored."""

from __future__ import annotations

import enum
import threading
from typing import Any

import numpy as np

from penstock.compat.listing import listing
from penstock.compat.tensor import array, tensor
from penstock.compat.tf import draws
from penstock.compat.tf.variable import Variable

_PER_NUMBER = 256  # how far the count moves for each number drawn


class Algorithm(enum.Enum):
    """How numbers are drawn: always by Philox."""

    PHILOX = 1
    THREEFRY = 2
    AUTO_SELECT = 3


def create_rng_state(seed: Any, alg: Any = "philox") -> Any:
    """Return the state of a generator that begins with a seed: a count (two numbers) and a key."""
    words = [int(each) for each in np.ravel(array(seed))][::-1]
    return tensor(np.array([0, 0, 0, *words][-3:], np.int64))


class Generator:
    """A source of random numbers with a state of its own.

    Parameters
    ----------
    copy_from : Generator, optional
        One whose state it begins with.
    state : array_like, optional
        The state it begins with, as of `create_rng_state`.
    alg : object, optional
        Ignored.

    Notes
    -----
    In a function that `Dataset.map` calls in parallel, which element gets which numbers depends on
    the threads, as in TensorFlow; those of `tf.random.uniform` and others belong to the element.

    Examples
    --------
    >>> import penstock.compat.tf as tf
    >>> rng = tf.random.Generator.from_seed(1)
    >>> rng.uniform([2]).shape
    TensorShape([2])
    """

    def __init__(
        self, copy_from: Generator | None = None, state: Any = None, alg: Any = None
    ) -> None:
        if copy_from is not None:
            state = copy_from.state
        if state is None:
            raise ValueError("Generator: a state was expected; see from_seed")
        self._state = Variable(array(state).astype(np.int64), name="StateVar")
        self._lock = threading.Lock()

    @classmethod
    def from_seed(cls, seed: Any, alg: Any = None) -> Generator:
        """Make one whose numbers are repeatable."""
        return cls(state=create_rng_state(seed))

    @classmethod
    def from_state(cls, state: Any, alg: Any = None) -> Generator:
        """Make one with the state of another one."""
        return cls(state=state)

    @classmethod
    def from_key_counter(cls, key: Any, counter: Any, alg: Any = None) -> Generator:
        """Make one with a key, and a count of two numbers."""
        return cls(state=[*np.ravel(array(counter)).tolist(), int(key)])

    @classmethod
    def from_non_deterministic_state(cls, alg: Any = None) -> Generator:
        """Make one whose numbers are not repeatable."""
        return cls(state=np.random.default_rng().integers(-(2**63), 2**63, 3))

    @property
    def state(self) -> Variable:
        """The state: a variable of three int64."""
        return self._state

    @property
    def key(self) -> Any:
        """The key of the state."""
        return self._state[2]

    @property
    def algorithm(self) -> int:
        """The number of the algorithm: 1 is Philox."""
        return Algorithm.PHILOX.value

    def get_state(self) -> bytes:
        """Return the state as bytes, for a checkpoint."""
        return self._state.get_state()

    def set_state(self, state: bytes) -> None:
        """Go on with what `get_state` returned."""
        self._state.set_state(state)

    def reset(self, state: Any) -> None:
        """Go on with a state."""
        self._state.assign(array(state).astype(np.int64))

    def reset_from_seed(self, seed: Any) -> None:
        """Go on as `from_seed` begins."""
        self.reset(create_rng_state(seed))

    def reset_from_key_counter(self, key: Any, counter: Any) -> None:
        """Go on as `from_key_counter` begins."""
        self.reset([*np.ravel(array(counter)).tolist(), int(key)])

    def skip(self, delta: Any) -> Any:
        """Leave out as many numbers, and return the state before."""
        with self._lock:
            before = self._state.value()
            words = array(before).view(np.uint64).tolist()
            count = (words[0] + (words[1] << 64) + int(delta) * _PER_NUMBER) % (1 << 128)
            moved = np.array([count % (1 << 64), count >> 64, words[2]], np.uint64)
            self._state.assign(moved.view(np.int64))
        return before

    def _next(self, shape: Any) -> np.random.Generator:
        """Return a generator for one array of numbers."""
        low, high, key = array(self.skip(max(1, np.prod(draws.sizes(shape))))).view(np.uint64)
        counter = [0, 0, int(low), int(high)]
        return np.random.Generator(np.random.Philox(key=[int(key), 0], counter=counter))

    def uniform(
        self,
        shape: Any,
        minval: Any = 0,
        maxval: Any = None,
        dtype: Any = np.float32,
        name: str | None = None,
    ) -> Any:
        """Draw numbers that are equally likely in ``[minval, maxval)``."""
        return draws.uniform(self._next(shape), shape, minval, maxval, dtype)

    def uniform_full_int(self, shape: Any, dtype: Any = np.uint64, name: str | None = None) -> Any:
        """Draw integers of all that a type has."""
        return draws.full_integers(self._next(shape), shape, dtype)

    def normal(
        self,
        shape: Any,
        mean: Any = 0.0,
        stddev: Any = 1.0,
        dtype: Any = np.float32,
        name: str | None = None,
    ) -> Any:
        """Draw numbers of a normal distribution."""
        return draws.normal(self._next(shape), shape, mean, stddev, dtype)

    def truncated_normal(
        self,
        shape: Any,
        mean: Any = 0.0,
        stddev: Any = 1.0,
        dtype: Any = np.float32,
        name: str | None = None,
    ) -> Any:
        """Draw numbers of a normal distribution, none beyond two standard deviations."""
        return draws.truncated_normal(self._next(shape), shape, mean, stddev, dtype)

    def binomial(
        self, shape: Any, counts: Any, probs: Any, dtype: Any = np.int32, name: str | None = None
    ) -> Any:
        """Draw how many of `counts` trials succeed, each with probability `probs`."""
        draws.check_ends_with(shape, counts, probs)
        return draws.binomial(self._next(shape), shape, counts, probs, dtype)

    def make_seeds(self, count: Any = 1) -> Any:
        """Draw seeds for functions whose names begin with ``stateless_``: shape ``(2, count)``."""
        return self.uniform_full_int([2, int(count)], np.int64)

    def split(self, count: int = 1) -> list[Generator]:
        """Make generators whose numbers differ from those of this one."""
        states = array(self.uniform_full_int([int(count), 3], np.int64))
        return [Generator(state=state) for state in states]


_GLOBAL: list[Generator] = []


def get_global_generator() -> Generator:
    """Return the generator that a program shares."""
    if not _GLOBAL:
        _GLOBAL.append(Generator.from_non_deterministic_state())
    return _GLOBAL[0]


def set_global_generator(generator: Generator) -> None:
    """Have `get_global_generator` return another one."""
    _GLOBAL[:] = [generator]


__dir__ = listing(globals())
