"""Cross entropies of tf.nn, as values without gradients."""

from __future__ import annotations

from typing import Any

import numpy as np

from penstock.compat.errors import InvalidArgumentError
from penstock.compat.listing import listing
from penstock.compat.tensor import array, in_one_type, tensor


def _log_softmax(logits: Any, axis: int = -1) -> Any:
    return logits - np.logaddexp.reduce(logits, axis, keepdims=True)


def softmax_cross_entropy_with_logits(
    labels: Any, logits: Any, axis: int = -1, name: str | None = None
) -> Any:
    """Return the cross entropy of distributions with the softmax of logits, along an axis."""
    labels, logits = map(array, in_one_type([labels, logits]))
    return tensor(-np.sum(labels * _log_softmax(logits, axis), axis))


def sparse_softmax_cross_entropy_with_logits(
    labels: Any, logits: Any, name: str | None = None
) -> Any:
    """Return the cross entropy of classes with the softmax of logits.

    Raises
    ------
    ValueError
        If there is not exactly one class for each row of logits.
    InvalidArgumentError
        If a class is out of range.
    """
    labels, logits = array(labels), array(logits)
    if labels.shape != logits.shape[:-1]:
        raise ValueError(
            f"`labels.shape` must equal `logits.shape` except for the last dimension. Received: "
            f"labels.shape={labels.shape} and logits.shape={logits.shape}"
        )
    if labels.size and not (labels.min() >= 0 and labels.max() < logits.shape[-1]):
        raise InvalidArgumentError(
            None,
            None,
            f"Received a label value which is outside the valid range of [0, {logits.shape[-1]}). "
            f"Label values: {labels}",
        )
    chosen = np.take_along_axis(_log_softmax(logits), labels[..., np.newaxis], -1)
    return tensor(-chosen[..., 0])


def sigmoid_cross_entropy_with_logits(
    labels: Any = None, logits: Any = None, name: str | None = None
) -> Any:
    """Return the element-wise cross entropy of probabilities with the sigmoid of logits."""
    labels, logits = map(array, in_one_type([labels, logits]))
    return tensor(np.maximum(logits, 0) - logits * labels + np.log1p(np.exp(-np.abs(logits))))


def weighted_cross_entropy_with_logits(
    labels: Any, logits: Any, pos_weight: Any, name: str | None = None
) -> Any:
    """Return `sigmoid_cross_entropy_with_logits` with the term for label 1 weighted."""
    labels, logits, weight = map(array, in_one_type([labels, logits, pos_weight]))
    positive = np.log1p(np.exp(-np.abs(logits))) + np.maximum(-logits, 0)
    return tensor((1 - labels) * logits + (1 + (weight - 1) * labels) * positive)


__dir__ = listing(globals())
