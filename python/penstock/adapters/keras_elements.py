"""Elements in the forms that Keras accepts: x, (x, y) or (x, y, sample_weight)."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from penstock.structure import TensorSpec

_PARTS = ("x", "y", "sample_weight")


class Packing:
    """Convert elements, and their specifications, to the forms that Keras accepts.

    Parameters
    ----------
    class_weight : mapping of int to float, optional
        Weight of each class, from which sample weights are computed; 1 for classes without an
        entry.
    floatx : str
        Dtype of the sample weights.
    numeric : bool
        Whether to reject strings.
    """

    def __init__(
        self, class_weight: Mapping[int, float] | None, floatx: str, *, numeric: bool
    ) -> None:
        self._table = None if class_weight is None else _table(class_weight, floatx)
        self._numeric = numeric

    def element(self, element: Any) -> Any:
        """Return x alone, or a tuple of the components, with dataclasses converted to dicts."""
        return self._packed(element, self._leaf, self._weights)

    def spec(self, spec: Any) -> Any:
        """Return the specification of the results of `element`."""
        return self._packed(spec, _leaf_spec, self._weights_spec)

    def _packed(
        self, element: Any, leaf: Callable[[Any, str], Any], weights: Callable[[Any], Any]
    ) -> Any:
        parts = element if isinstance(element, tuple) else (element,)
        if not 1 <= len(parts) <= len(_PARTS):
            raise ValueError(
                "to_keras: elements x, (x, y) or (x, y, sample_weight) were expected, got a tuple "
                f"of {len(parts)}; several inputs go into one x: map(lambda a, b, y: ((a, b), y))"
            )
        packed = tuple(_plain(part, name, leaf) for part, name in zip(parts, _PARTS, strict=False))
        if self._table is not None:
            if len(packed) != 2 or isinstance(packed[1], (tuple, dict)) or packed[1] is None:
                raise ValueError(
                    "to_keras: with class_weight, elements (x, y) with a single y were expected, "
                    f"got {_outline(packed)}; give sample weights as the third component"
                )
            packed = (*packed, weights(packed[1]))
        return packed[0] if len(packed) == 1 and not isinstance(packed[0], tuple) else packed

    def _leaf(self, leaf: Any, name: str) -> Any:
        if getattr(leaf, "ndim", 0) == 0:
            raise ValueError(
                f"to_keras: {name} should have a batch axis, got {leaf!r:.80}; put batch(n) "
                "before to_keras"
            )
        if self._numeric and leaf.dtype == object:
            raise TypeError(
                f"to_keras: {name} should hold numbers, got {leaf.ravel()[:1]!r:.80}; this backend "
                "of Keras has no strings: turn them into numbers with map, or leave them out"
            )
        return leaf

    def _weights(self, y: Any) -> Any:
        table = self._table
        assert table is not None
        classes = np.asarray(y)
        if classes.ndim > 1:
            one_hot = classes.shape[-1] != 1
            classes = np.argmax(classes, axis=-1) if one_hot else classes[..., 0]
        classes = np.round(classes).astype(np.int64)
        others = (classes < 0) | (classes >= len(table) - 1)
        return table[np.where(others, len(table) - 1, classes)]

    def _weights_spec(self, y: TensorSpec) -> TensorSpec:
        assert self._table is not None
        shape = y.shape if y.shape is None or len(y.shape) < 2 else y.shape[:-1]
        return TensorSpec(shape, self._table.dtype)


def _table(class_weight: Mapping[int, float], floatx: str) -> np.ndarray[Any, Any]:
    """Return the array of weights by class; the last one is for classes without an entry."""
    if not isinstance(class_weight, Mapping) or not class_weight:
        raise TypeError(
            f"to_keras: class_weight should be a dict from classes to weights, got {class_weight!r}"
        )
    for key, weight in class_weight.items():
        if not isinstance(key, (int, np.integer)) or key < 0:
            raise ValueError(f"to_keras: class_weight should have classes >= 0, got {key!r}")
        if not isinstance(weight, (int, float, np.number)):
            raise TypeError(f"to_keras: class_weight[{key}] should be a number, got {weight!r}")
    table = np.ones(int(max(class_weight)) + 2, np.dtype(floatx))
    for key, weight in class_weight.items():
        table[key] = weight
    return table


def _plain(part: Any, name: str, leaf: Callable[[Any, str], Any]) -> Any:
    """Apply a function to the leaves of a component, like `map_leaves`, but with their names."""
    if isinstance(part, TensorSpec):  # before the others, because it is a leaf
        return leaf(part, name)
    if isinstance(part, dict):
        return {key: _plain(value, f"{name}[{key!r}]", leaf) for key, value in part.items()}
    if isinstance(part, tuple):
        plain = [_plain(value, f"{name}[{i}]", leaf) for i, value in enumerate(part)]
        return type(part)(*plain) if hasattr(part, "_fields") else tuple(plain)
    if dataclasses.is_dataclass(part) and not isinstance(part, type):
        fields = [field.name for field in dataclasses.fields(part)]
        return {key: _plain(getattr(part, key), f"{name}.{key}", leaf) for key in fields}
    return None if part is None else leaf(part, name)


def _leaf_spec(spec: TensorSpec, name: str) -> TensorSpec:
    if spec.shape == ():
        raise ValueError(
            f"to_keras: {name} should have a batch axis, got {spec!r}; put batch(n) before to_keras"
        )
    return TensorSpec(None if spec.shape is None else (None, *spec.shape[1:]), spec.dtype)


def _outline(packed: tuple[Any, ...]) -> str:
    """Describe the structure of an element, without its arrays."""
    kinds = [
        f"{name} of {type(part).__name__}" if isinstance(part, (tuple, dict)) else name
        for part, name in zip(packed, _PARTS, strict=False)
    ]
    return f"({', '.join(kinds)})"


def differing(element: Any, spec: Any) -> tuple[Any, Any] | None:
    """Return the shape and specification of a leaf that do not match, or None."""
    if isinstance(spec, TensorSpec):
        shape = getattr(element, "shape", ())
        if spec.shape is None or (
            len(shape) == len(spec.shape)
            and all(d in (None, n) for d, n in zip(spec.shape, shape, strict=True))
        ):
            return None
        return shape, spec
    if spec is None:
        return None
    keys = spec if isinstance(spec, dict) else range(len(spec))
    found = (differing(element[key], spec[key]) for key in keys)
    return next((pair for pair in found if pair is not None), None)
