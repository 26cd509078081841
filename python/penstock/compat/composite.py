"""Tensors that consist of several arrays, and their representation in a pipeline as one leaf."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Sequence
from typing import Any, Self

import numpy as np

from penstock.structure import map_leaves


class Composite:
    """Base class of ragged and sparse tensors.

    Operators of arrays defer to this class. It is not an ABC, because isinstance, called for each
    element, would be slower.
    """

    __slots__ = ()
    __array_ufunc__ = None
    made = False  # whether any exists: until then, searches for them are skipped

    @abstractmethod
    def numpy(self) -> Any:
        """Return the value in NumPy's form."""

    @abstractmethod
    def rows(self) -> list[Any]:
        """Return the elements along the first axis; `stacked` is the inverse."""

    @classmethod
    @abstractmethod
    def stacked(cls, values: Sequence[Any]) -> Self:
        """Stack values along a new first axis."""

    @abstractmethod
    def components(self) -> tuple[Any, ...]:
        """Return the arrays to store in files; `of_components` is the inverse."""

    @classmethod
    @abstractmethod
    def of_components(cls, *components: Any) -> Any:
        """Return the tensor, or row of a tensor, with these components."""


class Variant:
    """A composite tensor, or a row of one, as a leaf of an element.

    The engine treats it as an opaque object. A batch is an array of such objects, so stages need no
    special support.

    Parameters
    ----------
    kind : subclass of Composite
        The class of a batch of such values.
    value : Composite or Tensor
        The value. A row of a ragged tensor with two axes is an array of any length.
    sizes : sequence of int or None, optional
        The shape common to all such leaves of a dataset, if known.
    """

    __slots__ = ("kind", "sizes", "value")

    def __init__(self, kind: type[Composite], value: Any, sizes: Any = None) -> None:
        self.kind = kind
        self.value = value
        self.sizes = sizes

    @classmethod
    def of(cls, value: Composite) -> Variant:
        """Return the leaf for a tensor."""
        return cls(type(value), value)

    def __reduce__(self) -> Any:
        return Variant, (self.kind, self.value, self.sizes)

    def __repr__(self) -> str:
        return repr(self.value)


def kind_among(args: tuple[Any, ...], kwargs: dict[str, Any]) -> type[Composite] | None:
    """Return the class of the first composite tensor in arguments, or in lists of them."""
    for value in (*args, *kwargs.values()):
        if isinstance(value, Composite):
            return type(value)
        if isinstance(value, (list, tuple)):
            for part in value:
                if isinstance(part, Composite):
                    return type(part)
    return None


def joined(leaf: Any) -> Variant:
    """Return a leaf, or an array of leaves (a batch), as one leaf."""
    if isinstance(leaf, Variant):
        return leaf
    leaves = [joined(each) for each in leaf]
    kind = leaves[0].kind
    return Variant(kind, kind.stacked([each.value for each in leaves]))


def apart(leaf: Any) -> Any:
    """Return a leaf as an array of its rows, which are leaves."""
    if not isinstance(leaf, Variant):
        return leaf
    if not isinstance(leaf.value, Composite):
        return leaf.value
    return _rows(leaf.value, None if leaf.sizes is None else leaf.sizes[1:])


def rows_of(leaf: Variant) -> np.ndarray[Any, Any]:
    """Return the rows of a tensor as an array of leaves, for a whole dataset."""
    return _rows(leaf.value, leaf.value.shape[1:])


def _rows(tensor: Composite, sizes: Any) -> np.ndarray[Any, Any]:
    rows = tensor.rows()
    array = np.empty(len(rows), object)
    array[:] = [Variant(type(tensor), row, sizes) for row in rows]
    return array


def is_batch(array: np.ndarray[Any, Any]) -> bool:
    """Return whether an array consists of composite leaves."""
    return array.dtype.kind == "O" and array.size > 0 and type(array.flat[0]) is Variant


def is_composite(leaf: Any) -> bool:
    """Return whether a leaf is a composite tensor, or a batch of them."""
    return type(leaf) is Variant or (isinstance(leaf, np.ndarray) and is_batch(leaf))


def may_hold_composites(spec: Any) -> bool:
    """Return whether a nested spec may have leaves that are not arrays."""
    found: list[bool] = []
    map_leaves(lambda leaf: found.append(getattr(leaf, "dtype", None) is object), spec)
    return any(found)
