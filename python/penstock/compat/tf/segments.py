"""Reductions of rows with the same number: tf.math.segment_sum and related functions."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from penstock.compat.dtypes import as_dtype
from penstock.compat.errors import InvalidArgumentError
from penstock.compat.listing import listing
from penstock.compat.tensor import array, tensor

_UFUNCS = {"sum": np.add, "prod": np.multiply, "max": np.maximum, "min": np.minimum}
# Initial values of maximum and minimum, which depend on the type.
_FIRST: dict[str, Callable[[Any], Any]] = {
    "max": lambda dtype: as_dtype(dtype).min,
    "min": lambda dtype: as_dtype(dtype).max,
}
_KINDS = ("max", "mean", "min", "prod", "sum")


def _reduced(kind: str, data: Any, ids: Any, rows: int) -> tuple[Any, Any]:
    """Return a row for each number from 0 on, and a mask of those without rows in `data`."""
    values, numbers = array(data), array(ids)
    kept = np.ravel(numbers) >= 0
    counts = np.bincount(np.ravel(numbers)[kept], minlength=rows)
    values = values.reshape(-1, *values.shape[numbers.ndim :])[kept]
    ufunc = _UFUNCS.get(kind, np.add)
    first = _FIRST[kind](values.dtype) if kind in _FIRST else ufunc.identity
    made = np.full((rows, *values.shape[1:]), first, values.dtype)
    ufunc.at(made, np.ravel(numbers)[kept], values)
    counts = counts.reshape(-1, *[1] * (made.ndim - 1))
    if kind in ("mean", "sqrt_n"):
        many = np.maximum(counts, 1)
        made = made / (many if kind == "mean" else np.sqrt(many))
    return made.astype(values.dtype), counts == 0


def _sorted(kind: str) -> Callable[..., Any]:
    def call(data: Any, segment_ids: Any, name: str | None = None) -> Any:
        ids = array(segment_ids)
        if (np.diff(ids) < 0).any() or (ids < 0).any():
            raise InvalidArgumentError(
                None, None, f"segment_{kind}: segment ids are not increasing: {ids}"
            )
        if ids.shape != np.shape(tensor(data))[:1]:
            raise InvalidArgumentError(
                None, None, f"segment_{kind}: an id for each row was expected, got {ids.shape}"
            )
        rows = int(ids[-1]) + 1 if len(ids) else 0
        made, empty = _reduced(kind, data, ids, rows)
        return tensor(np.where(empty, made.dtype.type(0), made) if kind in _FIRST else made)

    call.__name__ = call.__qualname__ = f"segment_{kind}"
    call.__doc__ = f"Return the {kind} of the rows of each segment, which lie side by side."
    return call


def _unsorted(kind: str) -> Callable[..., Any]:
    def call(data: Any, segment_ids: Any, num_segments: Any, name: str | None = None) -> Any:
        rows, ids = int(num_segments), array(segment_ids)
        if ids.size and ids.max() >= rows:
            raise InvalidArgumentError(
                None, None, f"unsorted_segment_{kind}: ids below {rows} were expected, got {ids}"
            )
        return tensor(_reduced(kind, data, ids, rows)[0])

    call.__name__ = call.__qualname__ = f"unsorted_segment_{kind}"
    call.__doc__ = f"Return the {kind} of the rows of each segment; negative ids are left out."
    return call


for _kind in _KINDS:
    globals()[f"segment_{_kind}"] = _sorted(_kind)
for _kind in (*_KINDS, "sqrt_n"):
    globals()[f"unsorted_segment_{_kind}"] = _unsorted(_kind)

NAMES = [
    *(f"segment_{kind}" for kind in _KINDS),
    *(f"unsorted_segment_{kind}" for kind in (*_KINDS, "sqrt_n")),
]

__dir__ = listing(globals())
