"""TensorFlow's shapes and tensor specs."""

from __future__ import annotations

import abc
from collections.abc import Iterable
from typing import Any

import numpy as np

from penstock.compat.dtypes import as_dtype, for_penstock
from penstock.structure import TensorSpec as PenstockSpec


class TensorShape(tuple[Any, ...]):
    """The size of each axis (None if unknown), or a completely unknown shape.

    Parameters
    ----------
    dims : sequence of int or None, or None
        The sizes; None if the rank is unknown.

    Examples
    --------
    >>> import penstock.compat.tf as tf
    >>> shape = tf.TensorShape([None, 3])
    >>> shape, shape.rank, shape[1:], shape.is_compatible_with([5, 3])
    (TensorShape([None, 3]), 2, TensorShape([3]), True)
    """

    known = True
    """Whether at least the rank is known."""

    def __new__(cls, dims: Iterable[int | None] | int | None = None) -> TensorShape:
        """Create a shape; an existing shape is returned unchanged."""
        if isinstance(dims, TensorShape):
            return dims
        if isinstance(dims, (int, np.integer)):
            dims = (int(dims),)
        sizes = tuple(None if d is None or d < 0 else int(d) for d in dims or ())
        shape = super().__new__(cls, sizes)
        if dims is None:
            shape.known = False
        return shape

    @property
    def rank(self) -> int | None:
        """The number of axes; None if unknown."""
        return len(self) if self.known else None

    ndims = rank

    @property
    def dims(self) -> list[int | None] | None:
        """The sizes as a list; None if the rank is unknown."""
        return list(self) if self.known else None

    def as_list(self) -> list[int | None]:
        """Return the sizes as a list.

        Raises
        ------
        ValueError
            If the rank is unknown.
        """
        if not self.known:
            raise ValueError("as_list: the number of axes is not known")
        return list(self)

    def num_elements(self) -> int | None:
        """Return the product of the sizes; None if a size is unknown."""
        return int(np.prod(self)) if self.is_fully_defined() else None

    def is_fully_defined(self) -> bool:
        """Return whether every size is known."""
        return self.known and None not in self

    def is_compatible_with(self, other: Any) -> bool:
        """Return whether some shape matches both."""
        other = TensorShape(other)
        if not (self.known and other.known):
            return True
        pairs = zip(self, other, strict=False)
        return len(self) == len(other) and all(a is None or b is None or a == b for a, b in pairs)

    def assert_is_compatible_with(self, other: Any) -> None:
        """Raise ValueError if `is_compatible_with` returns False."""
        if not self.is_compatible_with(other):
            raise ValueError(f"shape: {self} was expected, got {TensorShape(other)}")

    def concatenate(self, other: Any) -> TensorShape:
        """Return the sizes of this shape followed by those of another."""
        other = TensorShape(other)
        return TensorShape([*self, *other] if self.known and other.known else None)

    def merge_with(self, other: Any) -> TensorShape:
        """Return the shape that combines the known sizes of both.

        Raises
        ------
        ValueError
            If the shapes are not compatible.
        """
        other = TensorShape(other)
        if not self.is_compatible_with(other):
            raise ValueError(f"Shapes {self} and {other} are not compatible")
        if not (self.known and other.known):
            return self if self.known else other
        pairs = zip(self, other, strict=True)
        return TensorShape([a if a is not None else b for a, b in pairs])

    def most_specific_compatible_shape(self, other: Any) -> TensorShape:
        """Return the most specific shape that both shapes match."""
        other = TensorShape(other)
        if not (self.known and other.known) or len(self) != len(other):
            return TensorShape(None)
        return TensorShape([a if a == b else None for a, b in zip(self, other, strict=True)])

    def is_subtype_of(self, other: Any) -> bool:
        """Return whether every array of this shape matches the other shape."""
        if not TensorShape(other).known:
            return True
        pairs = zip(self, other, strict=False)
        same = self.known and len(self) == len(other)
        return same and all(b is None or a == b for a, b in pairs)

    def with_rank(self, rank: int) -> TensorShape:
        """Return the shape with `rank` axes; raise ValueError if it has another rank."""
        return self.merge_with([None] * int(rank))

    def with_rank_at_least(self, rank: int) -> TensorShape:
        """Return the shape; raise ValueError if it has fewer than `rank` axes."""
        if self.known and len(self) < rank:
            raise ValueError(f"Shape {self} must have rank at least {rank}")
        return self

    def with_rank_at_most(self, rank: int) -> TensorShape:
        """Return the shape; raise ValueError if it has more than `rank` axes."""
        if self.known and len(self) > rank:
            raise ValueError(f"Shape {self} must have rank at most {rank}")
        return self

    def assert_has_rank(self, rank: int) -> None:
        """Raise ValueError unless the shape may have `rank` axes."""
        if self.known and len(self) != rank:
            raise ValueError(f"Shape {self} must have rank {rank}")

    def assert_same_rank(self, other: Any) -> None:
        """Raise ValueError unless two shapes may have the same rank."""
        other = TensorShape(other)
        if self.known and other.known and len(self) != len(other):
            raise ValueError(f"Shapes {self} and {other} must have the same rank")

    def assert_is_fully_defined(self) -> None:
        """Raise ValueError unless every size is known."""
        if not self.is_fully_defined():
            raise ValueError(f"Shape {self} is not fully defined")

    def __add__(self, other: Any) -> Any:
        return self.concatenate(other) if _are_sizes(other) else (*self, *other)

    def __radd__(self, other: Any) -> Any:
        return TensorShape(other).concatenate(self) if _are_sizes(other) else (*other, *self)

    def __getitem__(self, key: Any) -> Any:
        item = super().__getitem__(key)
        return TensorShape(item) if isinstance(key, slice) else item

    def __eq__(self, other: object) -> bool:
        if isinstance(other, (list, tuple)):
            return tuple(self) == tuple(other) and self.known == getattr(other, "known", True)
        return NotImplemented

    def __ne__(self, other: object) -> bool:
        return not self == other

    __hash__ = tuple.__hash__

    def __reduce__(self) -> Any:
        return TensorShape, (self.dims,)

    def __repr__(self) -> str:
        return f"TensorShape({self.dims})"

    def __str__(self) -> str:
        return tuple.__repr__(self) if self.known else "<unknown>"


def _are_sizes(shape: Any) -> bool:
    """Return whether a shape has no NumPy-style -1, which a plain tuple keeps unchanged."""
    return isinstance(shape, TensorShape) or all(d is None or d >= 0 for d in shape)


class TypeSpec(abc.ABC):  # noqa: B024 - the specs are registered
    """Abstract base class of all specs, for `isinstance`."""


@TypeSpec.register
class TensorSpec(PenstockSpec):
    """Shape and type of a leaf.

    Parameters
    ----------
    shape : sequence of int or None, or None
        Size of each axis, None for any size; None for any number of axes.
    dtype : dtype-like
        The type of the values.
    name : str, optional
        A label without effect.

    Examples
    --------
    >>> import penstock.compat.tf as tf
    >>> tf.TensorSpec([None], tf.string)
    TensorSpec(shape=(None,), dtype=tf.string, name=None)
    """

    __slots__ = ()

    def __init__(self, shape: Any = None, dtype: Any = np.float32, name: str | None = None) -> None:
        sizes = TensorShape(shape)
        super().__init__(sizes.dims, for_penstock(dtype), name)
        self.dtype = as_dtype(dtype)
        self.shape = sizes

    @classmethod
    def from_tensor(cls, tensor: Any, name: str | None = None) -> TensorSpec:
        """Return the spec of a tensor."""
        return cls(np.shape(tensor), tensor.dtype, name)

    def is_compatible_with(self, spec_or_tensor: Any) -> bool:
        """Return whether a spec or tensor has this type and a compatible shape."""
        shape = TensorShape(spec_or_tensor.shape)
        return self.dtype == spec_or_tensor.dtype and TensorShape(self.shape).is_compatible_with(
            shape
        )

    def __hash__(self) -> int:
        return hash((self.shape, self.dtype))

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, PenstockSpec):
            return NotImplemented
        return TensorShape(self.shape) == TensorShape(other.shape) and self.dtype == other.dtype

    def __reduce__(self) -> Any:
        return TensorSpec, (self.shape, self.dtype, self.name)

    def __repr__(self) -> str:
        return f"TensorSpec(shape={self.shape}, dtype={self.dtype!r}, name={self.name!r})"


def penstock_spec(spec: PenstockSpec) -> PenstockSpec:
    """Return a spec in the form that penstock's functions accept."""
    shape = TensorShape(spec.shape).dims
    return PenstockSpec(shape, for_penstock(spec.dtype), spec.name)
