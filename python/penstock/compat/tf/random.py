"""tf.random: numbers that follow penstock's seeds, a seed given, or the state of a generator."""

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
    # Not ported; the seeds of ported operations depend on this seed.
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
    """Draw numbers of a normal distribution, none beyond two standard deviations."""
    return draws.truncated_normal(draws.generator(seed), shape, mean, stddev, dtype)


def categorical(
    logits: Any,
    num_samples: Any,
    dtype: Any = None,
    seed: int | None = None,
    name: str | None = None,
) -> Any:
    """Draw classes, whose logarithmic probabilities are the rows of `logits`.

    Parameters
    ----------
    logits : array_like, shape ``(rows, classes)``
        Logarithms of the probabilities; they need not sum to 1.
    num_samples : int
        How many are drawn for each row.
    dtype : dtype-like, optional
        int64 by default.
    seed : int, optional
        As of `uniform`.
    name : str, optional
        A label without further meaning.
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
    """Draw `shape` numbers of each gamma distribution of shape `alpha` and rate `beta`."""
    each = np.broadcast_shapes(np.shape(array(alpha)), np.shape(array(1 if beta is None else beta)))
    return draws.gamma(draws.generator(seed), (*draws.sizes(shape), *each), alpha, beta, dtype)


def poisson(
    shape: Any, lam: Any, dtype: Any = np.float32, seed: int | None = None, name: str | None = None
) -> Any:
    """Draw `shape` numbers of each Poisson distribution of rate `lam`."""
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
