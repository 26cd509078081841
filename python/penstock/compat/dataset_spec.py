"""Specs of windows, that is of elements that are datasets."""

from __future__ import annotations

from typing import Any

from penstock.compat.shape import TensorShape, TypeSpec


@TypeSpec.register
class DatasetSpec:
    """The spec of a dataset that is an element of another dataset.

    Parameters
    ----------
    element_spec : nested TensorSpec and the like
        Types and shapes of the inner dataset's elements.
    dataset_shape : sequence of int or None
        The shape of an array of such datasets; ``()`` for a single one.

    Examples
    --------
    >>> import penstock.compat.tf as tf
    >>> tf.data.Dataset.range(4).window(2).element_spec
    DatasetSpec(TensorSpec(shape=(), dtype=tf.int64, name=None), TensorShape([]))
    """

    def __init__(self, element_spec: Any, dataset_shape: Any = ()) -> None:
        self._element_spec = element_spec
        self._dataset_shape = TensorShape(dataset_shape)

    @classmethod
    def from_value(cls, value: Any) -> DatasetSpec:
        """Return the spec of a dataset."""
        return cls(value.element_spec)

    @property
    def element_spec(self) -> Any:
        """Types and shapes of the elements of the dataset."""
        return self._element_spec

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, DatasetSpec):
            return NotImplemented
        return (self._element_spec, self._dataset_shape) == (
            other._element_spec,
            other._dataset_shape,
        )

    def __hash__(self) -> int:
        return hash((DatasetSpec, self._dataset_shape))

    def __repr__(self) -> str:
        return f"DatasetSpec({self._element_spec!r}, {self._dataset_shape!r})"
