"""tf.autograph: functions run unchanged, as Python functions."""

from __future__ import annotations

import inspect
import sys
from typing import Any

from penstock.compat.listing import listing
from penstock.compat.tf import autograph_experimental as experimental


def to_graph(
    entity: Any, recursive: bool = True, experimental_optional_features: Any = None
) -> Any:
    """Return the function itself."""
    return entity


def to_code(entity: Any, recursive: bool = True, *args: Any, **kwargs: Any) -> str:
    """Return the source of a function."""
    return inspect.getsource(entity)


def set_verbosity(level: int, alsologtostdout: bool = False) -> None:
    """Do nothing: nothing is converted."""


def trace(*args: Any) -> None:
    """Print values to the standard output."""
    print(*args, file=sys.stdout)


__all__ = ["experimental"]

__dir__ = listing(globals())
