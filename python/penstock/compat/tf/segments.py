"""Sums, means and the like of rows that share a number: tf.math.segment_sum and its relatives."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from penstock.compat.errors import InvalidArgumentError
from penstock.compat.listing import listing
from penstock.compat.tensor import array, tensor

_UFUNCS = {"sum": np.add, "prod": np.multiply, "max": np.maximum, "min": np.minimum}
_KINDS = ("max", "mean", "min", "prod", "sum")


def _reduced(kind: str, data: Any, ids: Any, rows: int, empty: Any) -> Any:
    """Return a row for each number from 0 on, and `empty` where there is none."""
    values, numbers = array(data), array(ids)
    kept = np.ravel(numbers) >= 0
    counts = np.bincount(np.ravel(numbers)[kept], minlength=rows)
    values = values.reshape(-1, *values.shape[numbers.ndim :])[kept]
    columns = (rows, *values.shape[1:])
    ufunc = _UFUNCS.get(kind, np.add)
    first = empty if kind in ("max", "min") else ufunc.identity
    if kind in ("max", "min"):
        limits = _limits(values.dtype)
        first = limits[0] if kind == "max" else limits[1]
    made = np.full(columns, first, values.dtype)
    ufunc.at(made, np.ravel(numbers)[kept], values)
    shape = (-1, *[1] * (made.ndim - 1))
    if kind in ("max", "min"):
        return np.where(counts.reshape(shape) > 0, made, values.dtype.type(empty(*limits)))
    if kind in ("mean", "sqrt_n"):
        many = np.maximum(counts, 1).reshape(shape)
        made = made / (many if kind == "mean" else np.sqrt(many))
    return made.astype(values.dtype)


def _limits(dtype: np.dtype[Any]) -> tuple[Any, Any]:
    limits = np.finfo(dtype) if dtype.kind == "f" else np.iinfo(dtype)
    return limits.min, limits.max


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
        return tensor(_reduced(kind, data, ids, rows, lambda least, most: 0))

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
        return tensor(
            _reduced(kind, data, ids, rows, lambda least, most: least if kind == "max" else most)
        )

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
