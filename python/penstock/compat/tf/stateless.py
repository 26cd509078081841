"""Random numbers that depend only on a seed: tf.random.stateless_uniform and others."""

from __future__ import annotations

from typing import Any

import numpy as np

from penstock.compat.errors import InvalidArgumentError
from penstock.compat.listing import listing
from penstock.compat.tensor import array, tensor
from penstock.compat.tf import draws

_ROUNDS = 8


def generator(seed: Any) -> np.random.Generator:
    """Return the generator for a seed, which is a pair of integers."""
    pair = np.asarray(seed)
    if pair.shape != (2,):
        raise InvalidArgumentError(None, None, f"seed must have shape [2], not {list(pair.shape)}")
    return np.random.Generator(np.random.Philox(key=pair.astype(np.int64).view(np.uint64)))


def stateless_uniform(
    shape: Any,
    seed: Any,
    minval: Any = 0,
    maxval: Any = None,
    dtype: Any = np.float32,
    name: str | None = None,
    alg: Any = "auto_select",
) -> Any:
    """Draw numbers uniformly from ``[minval, maxval)``.

    Parameters
    ----------
    shape : sequence of int
        The shape of the result.
    seed : pair of int
        The seed; equal seeds return equal numbers.
    minval, maxval : number
        The range; None for both selects all integers of the type.
    dtype : dtype-like
        The type of the result.
    name : str, optional
        A label without effect.
    alg : object
        Ignored.

    Examples
    --------
    >>> import penstock.compat.tf as tf
    >>> a, b = (tf.random.stateless_uniform([2], seed=(1, 2)) for _ in range(2))
    >>> bool(tf.reduce_all(a == b))
    True
    """
    return draws.uniform(generator(seed), shape, minval, maxval, dtype)


def stateless_normal(
    shape: Any,
    seed: Any,
    mean: Any = 0.0,
    stddev: Any = 1.0,
    dtype: Any = np.float32,
    name: str | None = None,
    alg: Any = "auto_select",
) -> Any:
    """Draw numbers from a normal distribution; `seed` as in `stateless_uniform`."""
    return draws.normal(generator(seed), shape, mean, stddev, dtype)


def stateless_truncated_normal(
    shape: Any,
    seed: Any,
    mean: Any = 0.0,
    stddev: Any = 1.0,
    dtype: Any = np.float32,
    name: str | None = None,
    alg: Any = "auto_select",
) -> Any:
    """Draw numbers from a normal distribution truncated to two standard deviations."""
    return draws.truncated_normal(generator(seed), shape, mean, stddev, dtype)


def stateless_parameterized_truncated_normal(
    shape: Any,
    seed: Any,
    means: Any = 0.0,
    stddevs: Any = 1.0,
    minvals: Any = -2.0,
    maxvals: Any = 2.0,
    name: str | None = None,
) -> Any:
    """Draw numbers from normal distributions truncated to given limits."""
    draws.check_ends_with(shape, means, stddevs, minvals, maxvals)
    return draws.normal_between(generator(seed), shape, means, stddevs, minvals, maxvals)


def stateless_categorical(
    logits: Any, num_samples: Any, seed: Any, dtype: Any = np.int64, name: str | None = None
) -> Any:
    """Draw classes with the log probabilities given by the rows of `logits`."""
    return draws.categorical(generator(seed), logits, num_samples, dtype)


def stateless_gamma(
    shape: Any,
    seed: Any,
    alpha: Any,
    beta: Any = None,
    dtype: Any = np.float32,
    name: str | None = None,
) -> Any:
    """Draw numbers from gamma distributions with shape `alpha` and rate `beta`."""
    draws.check_ends_with(shape, alpha, beta)
    return draws.gamma(generator(seed), shape, alpha, beta, dtype)


def stateless_poisson(
    shape: Any, seed: Any, lam: Any, dtype: Any = np.int32, name: str | None = None
) -> Any:
    """Draw numbers from Poisson distributions with rate `lam`."""
    draws.check_ends_with(shape, lam)
    return draws.poisson(generator(seed), shape, lam, dtype)


def stateless_binomial(
    shape: Any,
    seed: Any,
    counts: Any,
    probs: Any,
    output_dtype: Any = np.int32,
    name: str | None = None,
) -> Any:
    """Draw the number of successes in `counts` trials with probability `probs`."""
    draws.check_ends_with(shape, counts, probs)
    return draws.binomial(generator(seed), shape, counts, probs, output_dtype)


def split(seed: Any, num: Any = 2, alg: Any = "auto_select") -> Any:
    """Return `num` seeds derived from one, with shape ``(num, 2)``."""
    return draws.full_integers(generator(seed), [int(num), 2], np.int32)


def fold_in(seed: Any, data: Any, alg: Any = "auto_select") -> Any:
    """Return a seed derived from a seed and a number."""
    key, number = (array(each).astype(np.int64).view(np.uint64) for each in (seed, data))
    mixed = np.random.Philox(key=key, counter=[0, 0, 0, int(number)])
    return draws.full_integers(np.random.Generator(mixed), [2], np.int32)


def stateless_shuffle(
    value: Any, seed: Any, alg: Any = "auto_select", name: str | None = None
) -> Any:
    """Shuffle the rows of an array in an order that depends only on the seed."""
    return tensor(generator(seed).permutation(array(value)))


def index_shuffle(index: Any, seed: Any, max_index: Any) -> Any:
    """Return the position of each index in a random permutation of 0 to `max_index`.

    Parameters
    ----------
    index : array_like of int
        Numbers from 0 to `max_index`.
    seed : sequence of two or three int
        The seed of the permutation.
    max_index : int
        The highest index.

    Notes
    -----
    Uses a Feistel network (Luby and Rackoff, 1988). Each position is computed independently,
    without storing the permutation.

    Examples
    --------
    >>> import penstock.compat.tf as tf
    >>> order = tf.random.experimental.index_shuffle(tf.range(4), seed=(1, 2), max_index=3)
    >>> sorted(order.numpy().tolist())
    [0, 1, 2, 3]
    """
    numbers = array(index)
    most = int(max_index)
    half = np.uint64(max(1, (most.bit_length() + 1) // 2))
    mask = (np.uint64(1) << half) - np.uint64(1)
    words = np.random.SeedSequence([int(each) % (1 << 64) for each in np.ravel(array(seed))])
    keys = words.generate_state(_ROUNDS, np.uint64)
    made = np.atleast_1d(numbers).astype(np.uint64)
    outside = np.ones(made.shape, bool)
    while outside.any():  # cycle walking always returns into the range
        left, right = made[outside] >> half, made[outside] & mask
        for key in keys:
            left, right = right, left ^ (_mixed(right + key) & mask)
        made[outside] = left << half | right
        outside = made > most
    return tensor(made.reshape(numbers.shape).astype(numbers.dtype))


def _mixed(values: Any) -> Any:
    """Mix 64 bits so that each depends on all others, with the finaliser of MurmurHash3."""
    for factor in (0xFF51AFD7ED558CCD, 0xC4CEB9FE1A85EC53):
        values = (values ^ values >> np.uint64(33)) * np.uint64(factor)
    return values ^ values >> np.uint64(33)


def random_index_shuffle(
    index: Any, seed: Any, max_index: Any, rounds: int = 4, name: str | None = None
) -> Any:
    """Return the position of each index in a random permutation; see `index_shuffle`."""
    return index_shuffle(index, seed, max_index)


NAMES = ["random_index_shuffle"]

__dir__ = listing(globals())
