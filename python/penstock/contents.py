"""What values consist of, for digests: attributes, and what pickle would write of the others."""

from __future__ import annotations

import copyreg
import random
import sys
import types
import warnings
from collections.abc import Iterable, Iterator
from typing import Any

import numpy as np

# What they hold changes with every use; which numbers they give is no part of a pipeline.
_VARYING = (
    *(np.random.Generator, np.random.RandomState, np.random.BitGenerator, random.Random),
    *(Iterator, types.ModuleType),
)


def attributes_of(value: Any) -> dict[str, Any]:
    """Return the attributes that an object has of its own, those of ``__slots__`` among them."""
    found = dict(getattr(value, "__dict__", {}))
    for cls in type(value).__mro__:
        slots = vars(cls).get("__slots__", ())
        for name in (slots,) if isinstance(slots, str) else slots:
            if name.startswith("__") and not name.endswith("__"):
                name = f"_{cls.__name__.lstrip('_')}{name}"
            if name not in ("__dict__", "__weakref__") and hasattr(value, name):
                found[name] = getattr(value, name)
    return found


def is_of_a_table(value: Any) -> bool:
    """Return whether a value is of pandas, Polars or Arrow; their attributes hold caches."""
    return type(value).__module__.partition(".")[0] in ("pandas", "polars", "pyarrow")


def is_of_the_standard_library(value: Any) -> bool:
    """Return whether the type of a value is: then it is known to be cheap to reduce."""
    return type(value).__module__.partition(".")[0] in sys.stdlib_module_names


def some_rows(table: Any, positions: Iterable[int]) -> Any:
    """Return some rows of a table as a short one; what is no table as it is."""
    rows = list(positions)
    if type(table).__name__ not in ("DataFrame", "Series", "Table", "ChunkedArray"):
        return table
    if hasattr(table, "iloc"):
        return table.iloc[rows]
    return table.take(rows) if hasattr(table, "take") else table[rows]


def reduction_of(value: Any) -> Any:
    """Return what pickle would write of a value, as nested tuples, or None where it varies.

    Parameters
    ----------
    value : object
        Of any type.

    Returns
    -------
    object
        Of the callable that makes it anew, its arguments, and what is set afterwards; for buffers
        their format, shape and bytes.
    """
    if isinstance(value, (bytearray, memoryview)):
        view = memoryview(value)
        return view.format, view.shape, view.tobytes()
    if isinstance(value, _VARYING):
        return None
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            reduce = copyreg.dispatch_table.get(type(value))
            reduced = value.__reduce_ex__(4) if reduce is None else reduce(value)
            if isinstance(reduced, str):
                return reduced
            made, args, state, items, pairs = (*reduced, None, None, None)[:5]
            return made, args, state, items and list(items), pairs and list(pairs)
    except Exception:
        # A type may refuse in any way: then nothing is known of the value but its type.
        return None
