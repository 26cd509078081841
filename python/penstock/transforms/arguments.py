"""Checks of arguments that several transformations take."""

from __future__ import annotations

import operator
import os
from typing import Any

from penstock.paths import check_whole


def check_callable(stage: str, argument: str, function: Any) -> None:
    """Raise TypeError unless the argument of a stage is a function."""
    if not callable(function):
        raise TypeError(f"{stage}: {argument} must be callable, got {function!r}")


def check_path(stage: str, argument: str, path: Any) -> str:
    """Return the argument of a stage as a str; raise an error unless it names a file."""
    if not isinstance(path, (str, bytes, os.PathLike)):
        raise TypeError(f"{stage}: {argument} must be a str or a path, got {path!r}")
    return os.fsdecode(check_whole(stage, argument, path))


def check_batch_size(stage: str, batch_size: Any) -> None:
    """Raise TypeError or ValueError unless a batch of that size can be made."""
    if not hasattr(batch_size, "__index__"):
        raise TypeError(f"{stage}: batch_size must be an int, got {batch_size!r}")
    if operator.index(batch_size) < 1:
        raise ValueError(f"{stage}: batch_size must be >= 1, got {batch_size}")
