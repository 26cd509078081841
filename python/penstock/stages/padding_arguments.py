"""Conversion of the nested arguments of padded_batch and pack for the engine."""

from __future__ import annotations

import dataclasses
import operator
from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

import numpy as np

from penstock.arguments.checks import shown
from penstock.structure import TensorSpec, is_nested, map_leaves, map_parts

if TYPE_CHECKING:
    from penstock import _core

_INTS = (np.int64, np.int32, np.int16, np.int8, np.uint64, np.uint32, np.uint16, np.uint8)
_FLOATS = (np.float64, np.float32, np.float16, np.longdouble)
_COMPLEX = (np.complex128, np.complex64, np.clongdouble)


def padded_shapes_of(shapes: Any, node: _core.Node) -> Any:
    """Return nested shapes as nested TensorSpecs.

    A tuple may be a shape or a tuple of shapes. The structure of the elements decides, where it is
    known; otherwise a tuple that contains only sizes is a shape.
    """
    return None if shapes is None else _shapes(shapes, node.spec(TensorSpec))


def _shapes(shapes: Any, spec: Any) -> Any:
    if isinstance(spec, TensorSpec):
        return _shape(shapes)
    if is_nested(shapes) and not (spec is None and _is_sizes(shapes)):
        return map_parts(lambda key, part: _shapes(part, _at(spec, key)), shapes)
    return _shape(shapes)


def _shape(shape: Any) -> TensorSpec:
    if hasattr(shape, "as_list"):
        shape = shape.as_list()
    sizes = shape if isinstance(shape, Iterable) else [shape]
    dims: list[int | None] = []
    for size in sizes:
        try:
            dims.append(None if size is None else operator.index(size))
        except TypeError:
            raise TypeError(
                "padded_batch: padded_shapes must have ints and None in its shapes, got "
                f"{shown(shape)}"
            ) from None
    if any(size is not None and size < -1 for size in dims) or shape is None:
        raise ValueError(
            "padded_batch: padded_shapes must have sizes >= 0, and None for the largest of the "
            f"batch, got {shown(shape)}"
        )
    return TensorSpec(dims, object)


def with_sizes(shapes: Any, size: int) -> Any:
    """Return nested TensorSpecs with each None replaced by `size`."""
    if isinstance(shapes, TensorSpec):
        dims = None if shapes.shape is None else [size if d is None else d for d in shapes.shape]
        return TensorSpec(dims, shapes.dtype)
    return shapes if shapes is None else map_parts(lambda key, part: with_sizes(part, size), shapes)


def padding_values_of(stage: str, values: Any) -> tuple[Any, Any]:
    """Return (the scalar for all leaves, the nested scalars), one of which is None.

    Each scalar is replaced by a tuple with its equivalents in several dtypes, because a Python
    number takes the dtype of its leaf.
    """
    if values is None:
        return None, None
    if not is_nested(values):
        return _scalars(stage, values), None
    return None, map_leaves(lambda value: _scalars(stage, value), values)


def _scalars(stage: str, value: Any) -> tuple[Any, ...]:
    if np.ndim(value) != 0:
        raise ValueError(f"{stage}: padding_values must be scalars, got {value!r}")
    if type(value) is bool:
        return (np.bool_(value),)
    if type(value) is int:
        fitting = (t for t in _INTS if np.iinfo(t).min <= value <= np.iinfo(t).max)
        made = tuple(t(value) for t in fitting)
        if not made:
            raise ValueError(f"{stage}: padding_values must fit 64 bits, got {value}")
        return made
    if type(value) is float:
        with np.errstate(over="ignore"):
            return tuple(t(value) for t in _FLOATS)
    if type(value) is complex:
        with np.errstate(over="ignore"):
            return tuple(t(value) for t in _COMPLEX)
    if isinstance(value, str):
        return (value, value.encode("utf-8", "surrogatepass"))
    if isinstance(value, bytes):
        try:
            return (value, value.decode())
        except UnicodeDecodeError:
            return (value,)
    return (np.asarray(value)[()],)


def _is_sizes(value: Any) -> bool:
    return type(value) is tuple and all(
        size is None or isinstance(size, (int, np.integer)) for size in value
    )


def _at(spec: Any, key: Any) -> Any:
    try:
        return getattr(spec, key) if dataclasses.is_dataclass(spec) else spec[key]
    except (KeyError, IndexError, TypeError, AttributeError):
        return None  # another nesting, which the engine reports
