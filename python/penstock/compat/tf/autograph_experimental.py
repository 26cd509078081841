"""tf.autograph.experimental: decorators that return functions unchanged."""

from __future__ import annotations

import enum
from typing import Any

from penstock.compat.listing import listing


class Feature(enum.Enum):
    """Features to convert; none has an effect."""

    ALL = "ALL"
    ASSERT_STATEMENTS = "ASSERT_STATEMENTS"
    AUTO_CONTROL_DEPS = "AUTO_CONTROL_DEPS"
    BUILTIN_FUNCTIONS = "BUILTIN_FUNCTIONS"
    EQUALITY_OPERATORS = "EQUALITY_OPERATORS"
    LISTS = "LISTS"
    NAME_SCOPES = "NAME_SCOPES"


def do_not_convert(func: Any = None) -> Any:
    """Return the function itself: nothing is converted."""
    return do_not_convert if func is None else func


def set_loop_options(
    parallel_iterations: Any = None,
    swap_memory: Any = None,
    maximum_iterations: Any = None,
    shape_invariants: Any = None,
) -> None:
    """Do nothing: loops are Python loops."""


__dir__ = listing(globals())
