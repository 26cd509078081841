"""tf.random's candidate samplers, which draw classes such as negative samples."""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from penstock.compat.errors import InvalidArgumentError
from penstock.compat.listing import listing
from penstock.compat.tensor import array, tensor
from penstock.compat.tf import draws


class CandidateSamples(NamedTuple):
    """Sampled classes, and the expected counts of the true and sampled classes."""

    sampled_candidates: Any
    true_expected_count: Any
    sampled_expected_count: Any


def log_uniform_candidate_sampler(
    true_classes: Any,
    num_true: int,
    num_sampled: int,
    unique: bool,
    range_max: int,
    seed: int | None = None,
    name: str | None = None,
) -> CandidateSamples:
    """Draw classes from a log-uniform distribution, as for words sorted by frequency.

    Parameters
    ----------
    true_classes : array_like of int, shape ``(batch, num_true)``
        Classes whose expected counts are returned.
    num_true : int
        The number of true classes in each row.
    num_sampled : int
        The number of classes to draw.
    unique : bool
        Whether to draw each class at most once.
    range_max : int
        The number of classes.
    seed : int, optional
        The seed, for reproducible results.
    name : str, optional
        A label without effect.

    Returns
    -------
    CandidateSamples
        Classes (int64) and expected counts (float32).
    """
    whole = math.log(range_max + 1)
    return _sampled(
        lambda rng: min(int(math.exp(rng.random() * whole)) - 1, range_max - 1),
        lambda classes: np.log((classes + 2) / (classes + 1)) / whole,
        (true_classes, num_true, num_sampled, unique, range_max, seed),
    )


def uniform_candidate_sampler(
    true_classes: Any,
    num_true: int,
    num_sampled: int,
    unique: bool,
    range_max: int,
    seed: int | None = None,
    name: str | None = None,
) -> CandidateSamples:
    """Draw classes from a uniform distribution; see `log_uniform_candidate_sampler`."""
    return _sampled(
        lambda rng: int(rng.integers(range_max)),
        lambda classes: np.full(classes.shape, 1 / range_max),
        (true_classes, num_true, num_sampled, unique, range_max, seed),
    )


def _sampled(
    draw: Callable[[Any], int], probability: Callable[[Any], Any], arguments: tuple[Any, ...]
) -> CandidateSamples:
    true_classes, num_true, num_sampled, unique, range_max, seed = arguments
    classes = array(true_classes)
    if classes.ndim != 2 or classes.shape[1] != num_true:
        raise ValueError(f"true_classes must have shape (batch, {num_true}), got {classes.shape}")
    if unique and num_sampled > range_max:
        message = f"{range_max} classes are fewer than num_sampled, {num_sampled}"
        raise InvalidArgumentError(None, None, message)
    rng = draws.generator(seed)
    drawn: list[int] = []
    tries = 0
    while len(drawn) < num_sampled:
        tries += 1
        one = draw(rng)
        if not (unique and one in drawn):
            drawn.append(one)

    def expected(numbers: Any) -> Any:
        each = probability(numbers)
        counts = -np.expm1(tries * np.log1p(-each)) if unique else each * num_sampled
        return tensor(counts, "float32")

    sampled = np.array(drawn, np.int64)
    return CandidateSamples(tensor(sampled), expected(classes), expected(sampled))


__dir__ = listing(globals())
