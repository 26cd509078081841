"""Checks of arguments that several transformations take."""

from __future__ import annotations

import operator
from typing import Any


def check_callable(stage: str, argument: str, function: Any) -> None:
    """Raise TypeError unless the argument of a stage is a function."""
    if not callable(function):
        raise TypeError(f"{stage}: {argument} must be callable, got {function!r}")


def check_batch_size(stage: str, batch_size: Any) -> None:
    """Raise TypeError or ValueError unless a batch of that size can be made."""
    if not hasattr(batch_size, "__index__"):
        raise TypeError(f"{stage}: batch_size must be an int, got {batch_size!r}")
    if operator.index(batch_size) < 1:
        raise ValueError(f"{stage}: batch_size must be >= 1, got {batch_size}")


def given(**arguments: Any) -> dict[str, Any]:
    """Return those that are not None: plans without them stay what they were."""
    return {name: value for name, value in arguments.items() if value is not None}
