"""tf.random: random numbers from penstock's seeds, an explicit seed, or a generator state."""

from __future__ import annotations

import functools
from typing import Any

import numpy as np

from penstock import random as _random
from penstock.compat.calling import argument, port_all
from penstock.compat.errors import raise_translated
from penstock.compat.listing import listing
from penstock.compat.tensor import array
from penstock.compat.tf import draws
from penstock.compat.tf import random_experimental as experimental
from penstock.compat.tf.candidates import log_uniform_candidate_sampler, uniform_candidate_sampler
from penstock.compat.tf.generator import (
    Algorithm,
    Generator,
    create_rng_state,
    get_global_generator,
    set_global_generator,
)
from penstock.compat.tf.stateless import (
    fold_in,
    split,
    stateless_binomial,
    stateless_categorical,
    stateless_gamma,
    stateless_normal,
    stateless_parameterized_truncated_normal,
    stateless_poisson,
    stateless_truncated_normal,
    stateless_uniform,
)

port_all(globals(), _random, ["normal", "shuffle", "uniform"])


@functools.wraps(_random.set_seed)
def set_seed(seed: Any) -> None:
    # Not wrapped; the seeds of wrapped operations depend on this seed.
    try:
        _random.set_seed(argument(seed))
    except Exception as error:
        raise_translated(error)


def truncated_normal(
    shape: Any,
    mean: Any = 0.0,
    stddev: Any = 1.0,
    dtype: Any = np.float32,
    seed: int | None = None,
    name: str | None = None,
) -> Any:
    """Draw numbers from a normal distribution truncated to two standard deviations."""
    return draws.truncated_normal(draws.generator(seed), shape, mean, stddev, dtype)


def categorical(
    logits: Any,
    num_samples: Any,
    dtype: Any = None,
    seed: int | None = None,
    name: str | None = None,
) -> Any:
    """Draw classes with the log probabilities given by the rows of `logits`.

    Parameters
    ----------
    logits : array_like, shape ``(rows, classes)``
        Log probabilities; the probabilities need not sum to 1.
    num_samples : int
        Number of classes to draw for each row.
    dtype : dtype-like, optional
        The type of the result; int64 by default.
    seed : int, optional
        As in `uniform`.
    name : str, optional
        A label without effect.
    """
    return draws.categorical(draws.generator(seed), logits, num_samples, dtype or np.int64)


def gamma(
    shape: Any,
    alpha: Any,
    beta: Any = None,
    dtype: Any = np.float32,
    seed: int | None = None,
    name: str | None = None,
) -> Any:
    """Draw numbers of shape `shape` from each gamma distribution (shape `alpha`, rate `beta`)."""
    each = np.broadcast_shapes(np.shape(array(alpha)), np.shape(array(1 if beta is None else beta)))
    return draws.gamma(draws.generator(seed), (*draws.sizes(shape), *each), alpha, beta, dtype)


def poisson(
    shape: Any, lam: Any, dtype: Any = np.float32, seed: int | None = None, name: str | None = None
) -> Any:
    """Draw numbers of shape `shape` from each Poisson distribution with rate `lam`."""
    each = np.shape(array(lam))
    return draws.poisson(draws.generator(seed), (*draws.sizes(shape), *each), lam, dtype)


__all__ = [
    "Algorithm",
    "Generator",
    "create_rng_state",
    "experimental",
    "fold_in",
    "get_global_generator",
    "log_uniform_candidate_sampler",
    "set_global_generator",
    "split",
    "stateless_binomial",
    "stateless_categorical",
    "stateless_gamma",
    "stateless_normal",
    "stateless_parameterized_truncated_normal",
    "stateless_poisson",
    "stateless_truncated_normal",
    "stateless_uniform",
    "uniform_candidate_sampler",
]

__dir__ = listing(globals())
