"""Specifications of elements."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

# The types of leaves that NumPy has no fixed-size dtype for.
_REFERENCES = (str, bytes, object)


def as_dtype(dtype: Any) -> Any:
    """Give the dtype of a leaf: a ``numpy.dtype``, or ``str``, ``bytes`` or ``object``."""
    if isinstance(dtype, type) and dtype in _REFERENCES:
        return dtype
    made = np.dtype(dtype)
    return {"U": str, "S": bytes, "O": object, "T": str}.get(made.kind, made)


class TensorSpec:
    """Shape and dtype of one leaf.

    Parameters
    ----------
    shape : sequence of int or None, or None
        Size of each axis, None for any size; None for any number of axes.
    dtype : dtype-like
        What ``numpy.dtype`` takes; `str`, `bytes` and `object` for strings and opaque objects.
    name : str, optional
        A label without further meaning.

    Examples
    --------
    >>> ps.TensorSpec((None, 3), np.float32)
    TensorSpec(shape=(None, 3), dtype=float32)
    """

    __slots__ = ("dtype", "name", "shape")

    def __init__(
        self,
        shape: Sequence[int | None] | None = None,
        dtype: Any = np.float32,
        name: str | None = None,
    ) -> None:
        if isinstance(shape, str) or not (shape is None or np.iterable(shape)):
            raise TypeError(
                f"TensorSpec: shape must be a sequence of int or None, or None, got {shape!r}"
            )
        self.shape: tuple[int | None, ...] | None = (
            None if shape is None else tuple(None if d is None or d < 0 else int(d) for d in shape)
        )
        self.dtype = as_dtype(dtype)
        self.name = name

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, TensorSpec):
            return NotImplemented
        return self.shape == other.shape and bool(self.dtype == other.dtype)

    def __hash__(self) -> int:
        return hash((self.shape, self.dtype))

    def __repr__(self) -> str:
        dtype = self.dtype.__name__ if isinstance(self.dtype, type) else self.dtype
        return f"TensorSpec(shape={self.shape}, dtype={dtype})"
