"""tf.TensorArray: a list of tensors of the same type, filled in a loop."""

from __future__ import annotations

from typing import Any

import numpy as np

from penstock.compat.dtypes import DType, as_dtype, zero_of
from penstock.compat.errors import InvalidArgumentError, OutOfRangeError
from penstock.compat.listing import listing
from penstock.compat.shape import TensorShape
from penstock.compat.tensor import array, converted, tensor


class TensorArray:
    """A list of tensors, which are written and read by index.

    Parameters
    ----------
    dtype : dtype-like
        The type of the tensors.
    size : int
        Number of tensors.
    dynamic_size : bool, optional
        Whether writing beyond the end extends the list.
    clear_after_read : bool, optional
        Whether reading a tensor removes it; True by default.
    tensor_array_name, handle, flow, colocate_with_first_write_call : object
        Ignored.
    infer_shape : bool
        Whether all tensors must have the shape of the first one.
    element_shape : sequence of int or None, optional
        The shape of the tensors.
    name : str, optional
        A label without effect.

    Examples
    --------
    >>> import penstock.compat.tf as tf
    >>> squares = tf.TensorArray(tf.int32, size=3)
    >>> for i in range(3):
    ...     squares = squares.write(i, i * i)
    >>> squares.stack()
    <tf.Tensor: shape=(3,), dtype=int32, numpy=array([0, 1, 4], dtype=int32)>
    """

    handle = None

    def __init__(
        self,
        dtype: Any,
        size: Any = None,
        dynamic_size: bool | None = None,
        clear_after_read: bool | None = None,
        tensor_array_name: str | None = None,
        handle: Any = None,
        flow: Any = None,
        infer_shape: bool = True,
        element_shape: Any = None,
        colocate_with_first_write_call: bool = True,
        name: str | None = None,
    ) -> None:
        if size is None:
            raise ValueError("TensorArray: a size was expected, got None")
        self._dtype = as_dtype(dtype)
        self._dynamic = bool(dynamic_size)
        self._clears = clear_after_read is not False
        self._infers = infer_shape
        self._shape = TensorShape(element_shape)
        self._tensors: list[Any] = [None] * int(size)
        self._read: set[int] = set()  # indices of removed tensors

    @property
    def dtype(self) -> DType:
        """The type of the tensors."""
        return self._dtype

    @property
    def dynamic_size(self) -> bool:
        """Whether the list can grow."""
        return self._dynamic

    @property
    def element_shape(self) -> TensorShape:
        """The shape of the tensors, where known."""
        return self._shape

    @property
    def flow(self) -> Any:
        """A tensor without effect."""
        return tensor(0)

    def size(self, name: str | None = None) -> Any:
        """Return the number of tensors."""
        return tensor(len(self._tensors))

    def write(self, index: Any, value: Any, name: str | None = None) -> TensorArray:
        """Write a tensor at an index, and return the array.

        Raises
        ------
        OutOfRangeError
            If the index is out of range.
        InvalidArgumentError
            If the tensor has another type.
        ValueError
            If the tensor has another shape.
        """
        index = int(index)
        if index < 0:
            raise OutOfRangeError(None, None, f"Writing to negative indices ({index})")
        if index >= len(self._tensors):
            if not self._dynamic:
                raise OutOfRangeError(
                    None,
                    None,
                    f"Tried to write to index {index} but array is not resizeable and size is: "
                    f"{len(self._tensors)}",
                )
            self._tensors += [None] * (index + 1 - len(self._tensors))
        try:
            made = converted(value, self._dtype.dtype)
        except TypeError:
            raise InvalidArgumentError(
                None,
                None,
                f"TensorArray dtype is {self._dtype.name} but Op is trying to write dtype "
                f"{as_dtype(tensor(value).dtype).name}",
            ) from None
        if not self._shape.is_compatible_with(made.shape):
            raise ValueError(
                f"Incompatible shape for value ({made.shape}), expected ({self._shape})"
            )
        if self._infers:
            self._shape = self._shape.merge_with(made.shape)
        self._tensors[index] = made
        self._read.discard(index)
        return self

    def read(self, index: Any, name: str | None = None) -> Any:
        """Return the tensor at an index, or zeros if none was written.

        Raises
        ------
        OutOfRangeError
            If the index is out of range.
        InvalidArgumentError
            If the tensor was already read and `clear_after_read` is not False.
        """
        index = int(index)
        if not 0 <= index < len(self._tensors):
            raise OutOfRangeError(
                None, None, f"Tried to read from index {index} of {len(self._tensors)}"
            )
        if index in self._read:
            raise InvalidArgumentError(
                None,
                None,
                f"Could not read index {index} twice because it was cleared after a previous read "
                "(perhaps try setting clear_after_read = false?)",
            )
        value = self._there(index)
        if self._clears:
            self._tensors[index] = None
            self._read.add(index)
        return value

    def _there(self, index: int) -> Any:
        value = self._tensors[index]
        if value is not None:
            return value
        if not self._shape.is_fully_defined():
            raise ValueError(f"TensorArray: the shape of index {index} is not known: {self._shape}")
        empty = zero_of(self._dtype)
        return tensor(np.full(tuple(self._shape), empty, self._dtype.dtype))

    def _all(self, indices: Any = None) -> list[Any]:
        chosen = range(len(self._tensors)) if indices is None else array(indices).tolist()
        return [np.asarray(self._there(int(index))) for index in chosen]

    def stack(self, name: str | None = None) -> Any:
        """Stack all tensors along a new first axis."""
        made = self._all()
        if not made:
            sizes = [size or 0 for size in self._shape] if self._shape.known else []
            return tensor(np.empty((0, *sizes), self._dtype.dtype))
        return tensor(np.stack(made))

    def gather(self, indices: Any, name: str | None = None) -> Any:
        """Stack the tensors at indices along a new first axis."""
        return tensor(np.stack(self._all(indices)))

    def concat(self, name: str | None = None) -> Any:
        """Concatenate all tensors along their first axis."""
        made = self._all()
        if not made:
            raise InvalidArgumentError(None, None, "TensorArray: nothing to concat")
        return tensor(np.concatenate(made))

    def unstack(self, value: Any, name: str | None = None) -> TensorArray:
        """Write the rows of a tensor at the indices from 0 on, and return the array."""
        rows = tensor(value)
        if len(rows) > len(self._tensors) and not self._dynamic:
            raise ValueError(
                f"Cannot unstack {len(rows)} tensors into a TensorArray of static size "
                f"{len(self._tensors)}"
            )
        return self.scatter(range(len(rows)), rows)

    def scatter(self, indices: Any, value: Any, name: str | None = None) -> TensorArray:
        """Write the rows of a tensor at indices, and return the array."""
        for index, row in zip(list(indices), tensor(value), strict=True):
            self.write(index, row)
        return self

    def split(self, value: Any, lengths: Any, name: str | None = None) -> TensorArray:
        """Write parts of a tensor with the given numbers of rows, and return the array."""
        ends = np.cumsum(array(lengths))
        for index, rows in enumerate(np.split(array(value), ends[:-1]) if len(ends) else []):
            self._shape = TensorShape(None)  # the parts differ in length
            self.write(index, tensor(rows))
        return self

    def identity(self) -> TensorArray:
        """Return the array."""
        return self

    def close(self, name: str | None = None) -> None:
        """Remove all tensors."""
        self._tensors = [None] * len(self._tensors)

    def mark_used(self) -> None:
        """Do nothing."""


__dir__ = listing(globals())
