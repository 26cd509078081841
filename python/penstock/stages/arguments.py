"""Argument checks that several transformations share."""

from __future__ import annotations

import operator
from typing import Any


def check_callable(stage: str, argument: str, function: Any) -> None:
    """Raise TypeError unless `function`, an argument of the stage, is callable."""
    if not callable(function):
        raise TypeError(f"{stage}: {argument} must be callable, got {function!r}")


def check_batch_size(stage: str, batch_size: Any) -> None:
    """Raise TypeError or ValueError unless `batch_size` is a valid batch size."""
    if not hasattr(batch_size, "__index__"):
        raise TypeError(f"{stage}: batch_size must be an int, got {batch_size!r}")
    if operator.index(batch_size) < 1:
        raise ValueError(f"{stage}: batch_size must be >= 1, got {batch_size}")


def given(**arguments: Any) -> dict[str, Any]:
    """Return the arguments that are not None, so that plans without them stay unchanged."""
    return {name: value for name, value in arguments.items() if value is not None}
