"""SparseTensor: values with their indices in an otherwise empty array."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple, Self

import numpy as np

from penstock.compat.composite import Composite
from penstock.compat.dtypes import zero_of
from penstock.compat.shape import TensorShape
from penstock.compat.tensor import Tensor, in_one_type, tensor


class SparseTensorValue(NamedTuple):
    """A sparse tensor as returned by `Session.run`."""

    indices: Any
    values: Any
    dense_shape: Any


class SparseTensor(Composite):
    """Values with their indices in an otherwise empty array.

    Parameters
    ----------
    indices : array_like, shape ``(n, axes)``
        The index of each value along each axis, int64.
    values : array_like, shape ``(n,)``
        The values.
    dense_shape : array_like, shape ``(axes,)``
        The shape of the array, int64.

    Examples
    --------
    >>> import penstock.compat.tf as tf
    >>> sparse = tf.sparse.SparseTensor([[0, 1], [2, 0]], [5, 6], [3, 2])
    >>> sparse.shape, tf.sparse.to_dense(sparse).numpy().tolist()
    (TensorShape([3, 2]), [[0, 5], [0, 0], [6, 0]])
    """

    __slots__ = ("_dense_shape", "_indices", "_values")

    def __init__(self, indices: Any, values: Any, dense_shape: Any) -> None:
        if not Composite.made:  # writing to a class clears its attribute caches
            Composite.made = True
        self._values: Any = tensor(values)
        sizes = np.asarray(dense_shape, np.int64)
        found = np.asarray(indices, np.int64)
        if found.ndim != 2 or found.shape != (len(self._values), len(sizes)):
            raise ValueError(
                f"SparseTensor: indices of shape {(len(self._values), len(sizes))} were expected, "
                f"got {found.shape}"
            )
        self._indices = found.view(Tensor)
        self._dense_shape = sizes.view(Tensor)

    @property
    def indices(self) -> Any:
        """The indices of the values: int64, one row for each value."""
        return self._indices

    @property
    def values(self) -> Any:
        """The values."""
        return self._values

    @property
    def dense_shape(self) -> Any:
        """The shape of the array, as int64."""
        return self._dense_shape

    @property
    def shape(self) -> TensorShape:
        """The shape of the array."""
        return TensorShape(self._dense_shape.tolist())

    def get_shape(self) -> TensorShape:
        """Return `shape`."""
        return self.shape

    @property
    def dtype(self) -> Any:
        """The type of the values."""
        return self._values.dtype

    def with_values(self, new_values: Any) -> Self:
        """Return a sparse tensor with the same indices and other values."""
        return type(self)(self._indices, new_values, self._dense_shape)

    def flat_indices(self) -> Any:
        """Return the indices of the values in the flattened array."""
        if not len(self._values):
            return np.zeros(0, np.int64)
        return np.ravel_multi_index(tuple(np.asarray(self._indices).T), self.shape)

    def dense(self, default_value: Any = None) -> Any:
        """Return the dense array."""
        values = np.asarray(self._values)
        if default_value is None:
            default_value = zero_of(values.dtype)
        filled = np.full(self._dense_shape, tensor(default_value).numpy(), values.dtype)
        filled[tuple(np.asarray(self._indices).T)] = values
        return tensor(filled)

    def numpy(self) -> Any:
        """Return the dense array in NumPy's form."""
        return self.dense().numpy()

    def __mul__(self, other: Any) -> SparseTensor:
        return self._with_dense("__mul__", other)

    __rmul__ = __mul__

    def __truediv__(self, other: Any) -> SparseTensor:
        return self._with_dense("__truediv__", other)

    def _with_dense(self, operator: str, other: Any) -> SparseTensor:
        """Combine each value with the element of an array at the same index."""
        _, dense = in_one_type([self._values, other])
        there = np.broadcast_to(np.asarray(dense), self.shape)[tuple(np.asarray(self._indices).T)]
        return self.with_values(getattr(self._values, operator)(there.view(Tensor)))

    def __repr__(self) -> str:
        return (
            f"SparseTensor(indices={self._indices!s}, values={self._values!s}, "
            f"dense_shape={self._dense_shape!s})"
        )

    # Use as elements of datasets.

    def rows(self) -> list[Any]:
        """Return the elements along the first axis, as sparse tensors."""
        numbers = np.asarray(self._indices)[:, 0]
        order = np.argsort(numbers, kind="stable")
        limits = np.searchsorted(numbers[order], np.arange(self._dense_shape[0] + 1))
        return [
            type(self)(self._indices[chosen, 1:], self._values[chosen], self._dense_shape[1:])
            for chosen in (order[a:b] for a, b in itertools.pairwise(limits))
        ]

    @classmethod
    def stacked(cls, values: Sequence[Any]) -> Self:
        """Stack sparse tensors along a new first axis, with the maximum size of the others."""
        return cls(
            np.concatenate([np.insert(v.indices, 0, i, axis=1) for i, v in enumerate(values)]),
            np.concatenate([v.values for v in values]),
            [len(values), *np.max([v.dense_shape for v in values], axis=0)],
        )

    def components(self) -> tuple[Any, ...]:
        """Return indices, values and shape."""
        return self._indices, self._values, self._dense_shape

    @classmethod
    def of_components(cls, *components: Any) -> Self:
        """Return the tensor with these components."""
        return cls(*components)


def map_values(op: Callable[..., Any], *args: Any, **kwargs: Any) -> Any:
    """Call a function with the values of sparse tensors.

    Parameters
    ----------
    op : callable
        Returns as many values as it receives.
    *args, **kwargs
        The arguments; sparse ones must have the same indices.

    Returns
    -------
    SparseTensor
        The results, with these indices.

    Raises
    ------
    ValueError
        If no argument is sparse, or the indices differ.
    """
    found: list[SparseTensor] = []

    def values(given: Any) -> Any:
        if isinstance(given, SparseTensor):
            found.append(given)
            return given.values
        return given

    made = op(*map(values, args), **{name: values(each) for name, each in kwargs.items()})
    if not found:
        raise ValueError("No SparseTensor in argument list of map_values")
    first = found[0]
    if any(not np.array_equal(first.indices, other.indices) for other in found[1:]):
        raise ValueError("map_values: the values must be in the same positions")
    return first.with_values(made)
