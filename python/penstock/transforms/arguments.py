"""Checks of arguments that several transformations take."""

from __future__ import annotations

from typing import Any


def check_callable(stage: str, argument: str, function: Any) -> None:
    """Raise TypeError unless the argument of a stage is a function."""
    if not callable(function):
        raise TypeError(f"{stage}: {argument} must be callable, got {function!r}")
