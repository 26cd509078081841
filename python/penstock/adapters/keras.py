"""Conversion of datasets for Keras."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from penstock.adapters.frameworks import framework
from penstock.adapters.keras_data import STAGE, Feed, data_class
from penstock.dataset import INFINITE_CARDINALITY


def keras_data(
    dataset: Any,
    steps_per_epoch: int | None,
    class_weight: Mapping[int, float] | None,
    prefetch: int,
) -> Any:
    """Implement `Dataset.to_keras`."""
    if steps_per_epoch is not None and (
        not isinstance(steps_per_epoch, int)
        or isinstance(steps_per_epoch, bool)
        or steps_per_epoch < 1
    ):
        raise ValueError(
            f"{STAGE}: steps_per_epoch must be an int >= 1 or None, got {steps_per_epoch!r}"
        )
    framework(STAGE, "keras")
    length = dataset.cardinality()
    if length == 0:
        raise ValueError(f"{STAGE}: at least one batch was expected, the dataset has none")
    if length == INFINITE_CARDINALITY and steps_per_epoch is None:
        raise ValueError(
            f"{STAGE}: steps_per_epoch was expected for a dataset without end, got None; say "
            "how many batches an epoch has (here: fit's argument comes too late), or use "
            "take(n)"
        )
    steps = length if length > 0 else None
    feed = Feed(dataset, steps_per_epoch, class_weight, prefetch)
    return data_class()(feed, steps if steps_per_epoch is None else steps_per_epoch)
