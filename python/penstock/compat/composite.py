"""Tensors that several arrays make up, and how each travels through a pipeline: as one leaf."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Sequence
from typing import Any, Self

import numpy as np

from penstock.structure import map_leaves


class Composite:
    """What ragged and sparse tensors have in common.

    Operators of arrays leave it to the class here what they mean. The class is not an ABC, with
    which isinstance, asked of each element, would take longer.
    """

    __slots__ = ()
    __array_ufunc__ = None
    made = False  # whether there is one at all: until then none is looked for

    @abstractmethod
    def numpy(self) -> Any:
        """Return the value as NumPy has it."""

    @abstractmethod
    def rows(self) -> list[Any]:
        """Return the elements along the first axis, which `stacked` makes the whole of again."""

    @classmethod
    @abstractmethod
    def stacked(cls, values: Sequence[Any]) -> Self:
        """Return a tensor of one more axis, with these values along it."""

    @abstractmethod
    def components(self) -> tuple[Any, ...]:
        """Return the arrays that files hold of it: what `of_components` takes."""

    @classmethod
    @abstractmethod
    def of_components(cls, *components: Any) -> Any:
        """Return the tensor, or the row of one, that `components` are of."""


class Variant:
    """A composite tensor, or a row of one, as a leaf of an element.

    The engine carries it as it is, and a batch of them is an array of them: no stage need know
    what they are.

    Parameters
    ----------
    kind : subclass of Composite
        What a batch of such values is.
    value : Composite or Tensor
        The value. A row of a ragged tensor of two axes is an array, and yet of any length.
    sizes : sequence of int or None, optional
        The shape that all such leaves of a dataset have, where that is known.
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
    """Return the class of the first composite tensor among arguments, or in lists of them."""
    for value in (*args, *kwargs.values()):
        if isinstance(value, Composite):
            return type(value)
        if isinstance(value, (list, tuple)):
            for part in value:
                if isinstance(part, Composite):
                    return type(part)
    return None


def joined(leaf: Any) -> Variant:
    """Return a leaf, be it an array of leaves that a batch is, as one."""
    if isinstance(leaf, Variant):
        return leaf
    leaves = [joined(each) for each in leaf]
    kind = leaves[0].kind
    return Variant(kind, kind.stacked([each.value for each in leaves]))


def apart(leaf: Any) -> Any:
    """Return a leaf as the array of its rows, each of them a leaf."""
    if not isinstance(leaf, Variant):
        return leaf
    if not isinstance(leaf.value, Composite):
        return leaf.value
    return _rows(leaf.value, None if leaf.sizes is None else leaf.sizes[1:])


def rows_of(leaf: Variant) -> np.ndarray[Any, Any]:
    """Return the array of the rows of a tensor, each of them a leaf: of the whole dataset."""
    return _rows(leaf.value, leaf.value.shape[1:])


def _rows(tensor: Composite, sizes: Any) -> np.ndarray[Any, Any]:
    rows = tensor.rows()
    array = np.empty(len(rows), object)
    array[:] = [Variant(type(tensor), row, sizes) for row in rows]
    return array


def is_batch(array: np.ndarray[Any, Any]) -> bool:
    """Return whether an array is of leaves that are composite tensors."""
    return array.dtype.kind == "O" and array.size > 0 and type(array.flat[0]) is Variant


def is_composite(leaf: Any) -> bool:
    """Return whether a leaf is a composite tensor, or a batch of them."""
    return type(leaf) is Variant or (isinstance(leaf, np.ndarray) and is_batch(leaf))


def may_hold_composites(spec: Any) -> bool:
    """Return whether a nested spec has a leaf that no array is of."""
    found: list[bool] = []
    map_leaves(lambda leaf: found.append(getattr(leaf, "dtype", None) is object), spec)
    return any(found)
