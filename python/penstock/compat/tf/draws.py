"""Random arrays from various distributions, drawn with a NumPy generator."""

from __future__ import annotations

import statistics
from typing import Any

import numpy as np

from penstock import random as _random
from penstock.compat.calling import ported
from penstock.compat.dtypes import as_dtype
from penstock.compat.errors import InvalidArgumentError
from penstock.compat.listing import listing
from penstock.compat.tensor import array, tensor

Random = np.random.Generator


_uniform = ported(_random.uniform)


def generator(seed: int | None) -> np.random.Generator:
    """Return a generator that belongs to the current element, and follows penstock's seeds."""
    limits = np.iinfo(np.int64)
    key = array(_uniform([2], limits.min, limits.max, np.int64, seed)).view(np.uint64)
    return np.random.Generator(np.random.Philox(key=key))


def sizes(shape: Any) -> tuple[int, ...]:
    """Return a shape in NumPy's form."""
    return tuple(int(size) for size in np.ravel(np.asarray(shape, np.int64)))


def full_integers(random: Random, shape: Any, dtype: Any) -> Any:
    """Draw integers uniformly from the whole range of a type."""
    wanted = as_dtype(dtype).dtype
    limits = np.iinfo(wanted)
    return tensor(random.integers(limits.min, limits.max, sizes(shape), wanted, endpoint=True))


def uniform(random: Random, shape: Any, minval: Any, maxval: Any, dtype: Any) -> Any:
    """Draw numbers uniformly from ``[minval, maxval)``."""
    wanted = as_dtype(dtype).dtype
    if wanted.kind in "iu":
        if minval is None and maxval is None:
            return full_integers(random, shape, dtype)
        if minval is None or maxval is None:
            raise ValueError(
                "random.uniform: minval and maxval must both be given, or both be None, for "
                f"integers, got {minval} and {maxval}"
            )
        least, end = array(minval), array(maxval)
        if (least >= end).any():
            raise InvalidArgumentError(None, None, f"Need minval < maxval, got {least} >= {end}")
        return tensor(random.integers(least, end, sizes(shape), wanted))
    bits = np.finfo(wanted).nmant + 1  # few enough that rounded values stay below 1
    drawn = (random.integers(0, 1 << bits, sizes(shape)) / (1 << bits)).astype(wanted)
    least = np.asarray(0 if minval is None else minval, wanted)
    end = np.asarray(1 if maxval is None else maxval, wanted)
    return tensor(drawn * (end - least) + least)


def normal(random: Random, shape: Any, mean: Any, stddev: Any, dtype: Any) -> Any:
    """Draw numbers from a normal distribution."""
    wanted = as_dtype(dtype).dtype
    drawn = random.standard_normal(sizes(shape)).astype(wanted)
    return tensor(drawn * np.asarray(stddev, wanted) + np.asarray(mean, wanted))


def truncated_normal(random: Random, shape: Any, mean: Any, stddev: Any, dtype: Any) -> Any:
    """Draw numbers from a normal distribution truncated to two standard deviations."""
    wanted = as_dtype(dtype).dtype
    drawn = random.standard_normal(sizes(shape))
    while (beyond := np.abs(drawn) >= 2).any():
        drawn = np.where(beyond, random.standard_normal(drawn.shape), drawn)
    drawn = drawn.astype(wanted)
    return tensor(drawn * np.asarray(stddev, wanted) + np.asarray(mean, wanted))


def normal_between(
    random: Random, shape: Any, mean: Any, stddev: Any, minval: Any, maxval: Any
) -> Any:
    """Draw numbers from a normal distribution truncated to given limits."""
    curve = statistics.NormalDist()
    every = [np.broadcast_to(array(each), sizes(shape)) for each in (mean, stddev, minval, maxval)]
    made = np.empty(sizes(shape), np.float32)
    for at in np.ndindex(made.shape):
        middle, width, least, most = (float(each[at]) for each in every)
        low, high = curve.cdf((least - middle) / width), curve.cdf((most - middle) / width)
        level = min(max(low + (high - low) * random.random(), 1e-300), 1 - 1e-16)
        made[at] = min(max(middle + width * curve.inv_cdf(level), least), most)
    return tensor(made)


def categorical(random: Random, logits: Any, num_samples: Any, dtype: Any) -> Any:
    """Draw class numbers for each row of log probabilities."""
    rows = array(logits).astype(np.float64)
    if rows.ndim != 2:
        raise InvalidArgumentError(
            None, None, f"logits should be a matrix, got shape {list(rows.shape)}"
        )
    ends = np.cumsum(np.exp(rows - rows.max(-1, keepdims=True)), -1)
    levels = random.random((len(rows), int(num_samples))) * ends[:, -1:]
    drawn = [np.searchsorted(row, level, "right") for row, level in zip(ends, levels, strict=True)]
    return tensor(np.array(drawn, np.int64).reshape(levels.shape), dtype)


def gamma(random: Random, shape: Any, alpha: Any, beta: Any, dtype: Any) -> Any:
    """Draw numbers from gamma distributions with shape `alpha` and rate `beta`."""
    rate = 1.0 if beta is None else array(beta)
    return tensor(random.gamma(array(alpha), 1 / rate, sizes(shape)), dtype)


def poisson(random: Random, shape: Any, lam: Any, dtype: Any) -> Any:
    """Draw numbers from Poisson distributions with rate `lam`."""
    return tensor(random.poisson(array(lam), sizes(shape)), dtype)


def binomial(random: Random, shape: Any, counts: Any, probs: Any, dtype: Any) -> Any:
    """Draw the number of successes in `counts` trials with probability `probs`."""
    return tensor(
        random.binomial(array(counts).astype(np.int64), array(probs), sizes(shape)), dtype
    )


def check_ends_with(shape: Any, *parameters: Any) -> None:
    """Raise InvalidArgumentError unless a shape ends with the parameters' broadcast shape."""
    shapes = [np.shape(array(each)) for each in parameters if each is not None]
    together = np.broadcast_shapes(*(tuple(each) for each in shapes))
    wanted = sizes(shape)
    if len(wanted) < len(together) or wanted[len(wanted) - len(together) :] != together:
        raise InvalidArgumentError(
            None, None, f"Shape passed in must end with broadcasted shape {together}, got {wanted}"
        )


__dir__ = listing(globals())
