"""The result of `tf.shape` for ragged tensors."""

from __future__ import annotations

from typing import Any

import numpy as np

from penstock.compat.shape import TensorShape
from penstock.compat.tensor import tensor


class DynamicRaggedShape:
    """The sizes of the axes of a ragged tensor, and the lengths of its rows.

    Parameters
    ----------
    lengths : list of int or sequences of int
        For each axis, its size or the lengths of its rows.
    dtype : dtype-like
        The type of sizes.
    partitions : int
        The number of ragged axes.

    Examples
    --------
    >>> import penstock.compat.tf as tf
    >>> shape = tf.shape(tf.ragged.constant([[1, 2], [3]]))
    >>> shape, shape[0].numpy()
    (<DynamicRaggedShape lengths=[2, (2, 1)] num_row_partitions=1>, np.int32(2))
    """

    def __init__(self, lengths: list[Any], dtype: Any, partitions: int) -> None:
        self._lengths = lengths
        self._dtype = dtype
        self.num_row_partitions = partitions

    @classmethod
    def from_tensor(cls, t: Any, dtype: Any = None) -> DynamicRaggedShape:
        """Return the shape of a ragged tensor."""
        rows = [tuple(np.asarray(each).tolist()) for each in t.nested_row_lengths()]
        sizes = [known or each for known, each in zip(t.shape[1:], rows, strict=False)]
        lengths = [t.shape[0], *sizes, *t.flat_values.shape[1:]]
        return cls(lengths, dtype or t.row_splits.dtype, t.ragged_rank)

    @property
    def rank(self) -> int:
        """The number of axes."""
        return len(self._lengths)

    @property
    def static_shape(self) -> TensorShape:
        """The sizes, with None for axes whose rows differ in length."""
        return TensorShape([None if isinstance(s, tuple) else s for s in self._lengths])

    def static_lengths(self) -> list[Any]:
        """Return the sizes and row lengths."""
        return list(self._lengths)

    def __getitem__(self, axis: int) -> Any:
        size = self._lengths[axis]
        if isinstance(size, tuple):
            raise ValueError(f"Index {axis} is not uniform")
        return tensor(size, self._dtype)

    def __repr__(self) -> str:
        sizes = ", ".join(map(str, self._lengths))
        return (
            f"<DynamicRaggedShape lengths=[{sizes}] num_row_partitions={self.num_row_partitions}>"
        )
