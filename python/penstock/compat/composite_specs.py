"""Specs of ragged and sparse tensors."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import Any

import numpy as np

from penstock.compat.composite import Composite, Variant
from penstock.compat.dtypes import as_dtype
from penstock.compat.ragged import RaggedTensor
from penstock.compat.shape import TensorShape, TensorSpec, TypeSpec
from penstock.compat.sparse import SparseTensor
from penstock.compat.tensor import tensor
from penstock.structure import TensorSpec as PenstockSpec


@TypeSpec.register
class CompositeSpec(ABC):
    """Base class of the specs in this module."""

    shape: TensorShape
    dtype: Any
    value_type: Any

    def is_compatible_with(self, spec_or_value: Any) -> bool:
        """Return whether a spec or value has this type and a compatible shape."""
        other = type_spec_from_value(spec_or_value)
        return (
            self._same_kind(other)
            and self.dtype == other.dtype
            and self.shape.is_compatible_with(other.shape)
        )

    @abstractmethod
    def batched(self, sizes: Any) -> CompositeSpec:
        """Return the spec of batches, or batches of batches, of such tensors."""

    def leaf(self, value: Any) -> Variant:
        """Return a value as a leaf of an element.

        Raises
        ------
        TypeError
            If the value does not match this spec.
        """
        made = value if isinstance(value, Composite) else tensor(value, self.dtype)
        if not self.is_compatible_with(made):
            raise TypeError(
                f"from_generator: an element did not match the expected structure: {self} was "
                f"expected, got {value!r:.200}"
            )
        return Variant(self.value_type, made, self.shape if self.shape.known else None)

    def _same_kind(self, other: Any) -> bool:
        return type(self) is type(other)

    def __eq__(self, other: object) -> bool:
        return type(self) is type(other) and repr(self) == repr(other)

    def __hash__(self) -> int:
        return hash(repr(self))


class RaggedTensorSpec(CompositeSpec):
    """Shape and type of a ragged tensor.

    Parameters
    ----------
    shape : sequence of int or None, optional
        The size of each axis; None for ragged axes and unknown sizes.
    dtype : dtype-like
        The type of the values.
    ragged_rank : int, optional
        The number of ragged axes; by default, all but the first. For rows of a ragged tensor, which
        are arrays, it is 0.
    row_splits_dtype : dtype-like
        int64 or int32.

    Examples
    --------
    >>> import penstock.compat.tf as tf
    >>> tf.RaggedTensorSpec([None, None], tf.int32)
    RaggedTensorSpec(TensorShape([None, None]), tf.int32, 1, tf.int64)
    """

    value_type = RaggedTensor

    def __init__(
        self,
        shape: Any = None,
        dtype: Any = np.float32,
        ragged_rank: int | None = None,
        row_splits_dtype: Any = np.int64,
    ) -> None:
        self.shape = TensorShape(shape)
        self.dtype = as_dtype(dtype)
        self.row_splits_dtype = as_dtype(row_splits_dtype)
        if ragged_rank is None:
            if self.shape.rank is None:
                raise ValueError("Must specify ragged_rank or a shape with a known rank.")
            ragged_rank = self.shape.rank - 1
        if self.shape.rank is not None and ragged_rank >= self.shape.rank:
            raise ValueError(
                f"Argument `ragged_rank` ({ragged_rank}) must be less than rank "
                f"({self.shape.rank})."
            )
        self.ragged_rank = ragged_rank

    @classmethod
    def from_value(cls, value: Any) -> RaggedTensorSpec:
        """Return the spec of a ragged tensor."""
        return cls(value.shape, value.dtype, value.ragged_rank, value.row_splits.dtype)

    def batched(self, sizes: Any) -> RaggedTensorSpec:
        """Return the spec of batches, or batches of batches, of such tensors."""
        shape = TensorShape(sizes).concatenate(self.shape)
        rank = self.ragged_rank + len(sizes)
        return RaggedTensorSpec(shape, self.dtype, rank, self.row_splits_dtype)

    def _same_kind(self, other: Any) -> bool:
        if self.ragged_rank == 0:
            return isinstance(other, TensorSpec)
        return (
            isinstance(other, RaggedTensorSpec)
            and self.ragged_rank == other.ragged_rank
            and self.row_splits_dtype == other.row_splits_dtype
        )

    def __repr__(self) -> str:
        return (
            f"RaggedTensorSpec({self.shape!r}, {self.dtype!r}, {self.ragged_rank}, "
            f"{self.row_splits_dtype!r})"
        )


class SparseTensorSpec(CompositeSpec):
    """Shape and type of a sparse tensor.

    Parameters
    ----------
    shape : sequence of int or None, optional
        The size of each axis of the equivalent dense array.
    dtype : dtype-like
        The type of the values.

    Examples
    --------
    >>> import penstock.compat.tf as tf
    >>> tf.SparseTensorSpec([None, 3], tf.int64)
    SparseTensorSpec(TensorShape([None, 3]), tf.int64)
    """

    value_type = SparseTensor

    def __init__(self, shape: Any = None, dtype: Any = np.float32) -> None:
        self.shape = TensorShape(shape)
        self.dtype = as_dtype(dtype)

    @classmethod
    def from_value(cls, value: Any) -> SparseTensorSpec:
        """Return the spec of a sparse tensor."""
        return cls(value.shape, value.dtype)

    def batched(self, sizes: Any) -> SparseTensorSpec:
        """Return the spec of batches, or batches of batches, of such tensors."""
        return SparseTensorSpec(TensorShape(sizes).concatenate(self.shape), self.dtype)

    def __repr__(self) -> str:
        return f"SparseTensorSpec({self.shape!r}, {self.dtype!r})"


_SPECS = {RaggedTensor: RaggedTensorSpec, SparseTensor: SparseTensorSpec}


def type_spec_from_value(value: Any) -> Any:
    """Return the spec of a value; specs are returned unchanged.

    Examples
    --------
    >>> import penstock.compat.tf as tf
    >>> tf.type_spec_from_value(tf.constant([1.5]))
    TensorSpec(shape=(1,), dtype=tf.float32, name=None)
    """
    if isinstance(value, (CompositeSpec, PenstockSpec)):
        return value
    if isinstance(value, Composite):
        return _SPECS[type(value)].from_value(value)  # type: ignore[attr-defined]
    return TensorSpec.from_tensor(tensor(value))


def spec_of_leaf(sizes: Any, leaf: Any) -> CompositeSpec:
    """Return the spec of leaves like a given one.

    Parameters
    ----------
    sizes : tuple of int or None, or None
        The shape of the array of leaves in a batch.
    leaf : Variant, or an array of them
        An example.
    """
    batches = 0 if isinstance(leaf, Variant) else leaf.ndim
    first = leaf.flat[0] if batches else leaf
    sizes = sizes if batches and sizes is not None else [None] * batches
    value, shape = first.value, first.sizes
    if isinstance(value, RaggedTensor):
        axes = value.ragged_rank
        # Other tensors may have other sizes, also of axes that are not ragged.
        shape = shape or [None] * (axes + value.flat_values.ndim)
        spec = RaggedTensorSpec(shape, value.dtype, axes, value.row_splits.dtype)
        return spec.batched(sizes)
    if isinstance(value, SparseTensor):
        return SparseTensorSpec(shape or [None] * len(value.shape), value.dtype).batched(sizes)
    return RaggedTensorSpec(shape or [None] * value.ndim, value.dtype, 0).batched(sizes)
