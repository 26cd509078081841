"""tf.random.Generator: a random generator whose state can be saved and restored."""

from __future__ import annotations

import enum
import threading
from typing import Any

import numpy as np

from penstock.compat.listing import listing
from penstock.compat.tensor import array, tensor
from penstock.compat.tf import draws
from penstock.compat.tf.variable import Variable

_PER_NUMBER = 256  # increment of the counter for each number drawn


class Algorithm(enum.Enum):
    """The random algorithm: always Philox."""

    PHILOX = 1
    THREEFRY = 2
    AUTO_SELECT = 3


def create_rng_state(seed: Any, alg: Any = "philox") -> Any:
    """Return the initial state for a seed: a counter (two numbers) and a key."""
    words = [int(each) for each in np.ravel(array(seed))][::-1]
    return tensor(np.array([0, 0, 0, *words][-3:], np.int64))


class Generator:
    """A random generator with separate state.

    Parameters
    ----------
    copy_from : Generator, optional
        A generator whose state to copy.
    state : array_like, optional
        The initial state, as returned by `create_rng_state`.
    alg : object, optional
        Ignored.

    Notes
    -----
    In functions that `Dataset.map` calls in parallel, the assignment of numbers to elements depends
    on thread timing, as in TensorFlow. The numbers of `tf.random.uniform` and similar functions
    depend only on the element.

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
        """Create a generator with reproducible numbers."""
        return cls(state=create_rng_state(seed))

    @classmethod
    def from_state(cls, state: Any, alg: Any = None) -> Generator:
        """Create a generator with a given state."""
        return cls(state=state)

    @classmethod
    def from_key_counter(cls, key: Any, counter: Any, alg: Any = None) -> Generator:
        """Create a generator with a given key and counter (two numbers)."""
        return cls(state=[*np.ravel(array(counter)).tolist(), int(key)])

    @classmethod
    def from_non_deterministic_state(cls, alg: Any = None) -> Generator:
        """Create a generator with numbers that are not reproducible."""
        return cls(state=np.random.default_rng().integers(-(2**63), 2**63, 3))

    @property
    def state(self) -> Variable:
        """The state, as a variable of three int64 numbers."""
        return self._state

    @property
    def key(self) -> Any:
        """The key of the state."""
        return self._state[2]

    @property
    def algorithm(self) -> int:
        """Number of the algorithm: 1, for Philox."""
        return Algorithm.PHILOX.value

    def get_state(self) -> bytes:
        """Return the state as bytes, for a checkpoint."""
        return self._state.get_state()

    def set_state(self, state: bytes) -> None:
        """Restore a state returned by `get_state`."""
        self._state.set_state(state)

    def reset(self, state: Any) -> None:
        """Set the state."""
        self._state.assign(array(state).astype(np.int64))

    def reset_from_seed(self, seed: Any) -> None:
        """Set the state of `from_seed`."""
        self.reset(create_rng_state(seed))

    def reset_from_key_counter(self, key: Any, counter: Any) -> None:
        """Set the state of `from_key_counter`."""
        self.reset([*np.ravel(array(counter)).tolist(), int(key)])

    def skip(self, delta: Any) -> Any:
        """Skip `delta` numbers, and return the previous state."""
        with self._lock:
            before = self._state.value()
            words = array(before).view(np.uint64).tolist()
            count = (words[0] + (words[1] << 64) + int(delta) * _PER_NUMBER) % (1 << 128)
            moved = np.array([count % (1 << 64), count >> 64, words[2]], np.uint64)
            self._state.assign(moved.view(np.int64))
        return before

    def _next(self, shape: Any) -> np.random.Generator:
        """Return a NumPy generator for one array of numbers."""
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
        """Draw numbers uniformly from ``[minval, maxval)``."""
        return draws.uniform(self._next(shape), shape, minval, maxval, dtype)

    def uniform_full_int(self, shape: Any, dtype: Any = np.uint64, name: str | None = None) -> Any:
        """Draw integers uniformly from the whole range of a type."""
        return draws.full_integers(self._next(shape), shape, dtype)

    def normal(
        self,
        shape: Any,
        mean: Any = 0.0,
        stddev: Any = 1.0,
        dtype: Any = np.float32,
        name: str | None = None,
    ) -> Any:
        """Draw numbers from a normal distribution."""
        return draws.normal(self._next(shape), shape, mean, stddev, dtype)

    def truncated_normal(
        self,
        shape: Any,
        mean: Any = 0.0,
        stddev: Any = 1.0,
        dtype: Any = np.float32,
        name: str | None = None,
    ) -> Any:
        """Draw numbers from a normal distribution truncated to two standard deviations."""
        return draws.truncated_normal(self._next(shape), shape, mean, stddev, dtype)

    def binomial(
        self, shape: Any, counts: Any, probs: Any, dtype: Any = np.int32, name: str | None = None
    ) -> Any:
        """Draw the number of successes in `counts` trials with probability `probs`."""
        draws.check_ends_with(shape, counts, probs)
        return draws.binomial(self._next(shape), shape, counts, probs, dtype)

    def make_seeds(self, count: Any = 1) -> Any:
        """Draw seeds for the ``stateless_`` functions, with shape ``(2, count)``."""
        return self.uniform_full_int([2, int(count)], np.int64)

    def split(self, count: int = 1) -> list[Generator]:
        """Create generators that are independent of this one."""
        states = array(self.uniform_full_int([int(count), 3], np.int64))
        return [Generator(state=state) for state in states]


_GLOBAL: list[Generator] = []


def get_global_generator() -> Generator:
    """Return the global generator of the program."""
    if not _GLOBAL:
        _GLOBAL.append(Generator.from_non_deterministic_state())
    return _GLOBAL[0]


def set_global_generator(generator: Generator) -> None:
    """Replace the result of `get_global_generator`."""
    _GLOBAL[:] = [generator]


__dir__ = listing(globals())
