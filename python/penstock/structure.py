"""Specifications of elements, and functions for nested values."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from penstock.arguments.checked import checked

# The types of leaves that NumPy has no fixed-size dtype for.
_REFERENCES = (str, bytes, object)


def as_dtype(dtype: Any) -> Any:
    """Return the dtype of a leaf: a ``numpy.dtype``, or ``str``, ``bytes`` or ``object``."""
    if isinstance(dtype, type) and dtype in _REFERENCES:
        return dtype
    made = np.dtype(dtype)
    return {"U": str, "S": bytes, "O": object, "T": str}.get(made.kind, made)


class TensorSpec:
    """Shape and dtype of one leaf.

    Parameters
    ----------
    shape : sequence of int or None, or None
        Size of each axis, where None is any size. None instead of a sequence means any number of
        axes.
    dtype : dtype-like
        Anything that ``numpy.dtype`` accepts; `str`, `bytes` and `object` for strings and opaque
        objects.
    name : str, optional
        A label without further meaning.

    Examples
    --------
    >>> ps.TensorSpec((None, 3), np.float32)
    TensorSpec(shape=(None, 3), dtype=float32)
    """

    __slots__ = ("dtype", "name", "shape")

    @checked
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
            None if shape is None else tuple(_size(d) for d in shape)
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


def _size(size: Any) -> int | None:
    if size is None:
        return None
    if not hasattr(size, "__index__"):
        raise TypeError(f"TensorSpec: shape must hold ints or None, got {size!r:.200}")
    return None if size < 0 else int(size)


def is_nested(value: Any) -> bool:
    """Return whether a value is a container: a tuple, a dict or a dataclass."""
    return isinstance(value, (tuple, dict)) or (
        dataclasses.is_dataclass(value) and not isinstance(value, type)
    )


def parts_of(value: Any) -> list[tuple[Any, Any]]:
    """Return the values of a container, each with its key, index or field name."""
    if isinstance(value, dict):
        return list(value.items())
    if isinstance(value, tuple):
        return list(enumerate(value))
    return [(field.name, getattr(value, field.name)) for field in dataclasses.fields(value)]


def map_parts(function: Callable[[Any, Any], Any], value: Any) -> Any:
    """Return the same container with ``function(key, value)`` for each of its values."""
    made = [(key, function(key, part)) for key, part in parts_of(value)]
    if isinstance(value, dict):
        return dict(made)
    if isinstance(value, tuple):
        parts = [part for _, part in made]
        return type(value)(*parts) if hasattr(value, "_fields") else tuple(parts)
    return dataclasses.replace(value, **dict(made))


def map_leaves(function: Callable[[Any], Any], value: Any) -> Any:
    """Return the same nested value with ``function(leaf)`` for each leaf; None is unchanged."""
    if is_nested(value):
        return map_parts(lambda key, part: map_leaves(function, part), value)
    return None if value is None else function(value)
