"""Rows of different lengths, and values with places: what TensorFlow has tensor classes for."""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np

from penstock.compat.tensor import tensor


@dataclass(eq=False, repr=False)
class RaggedTensor:
    """Rows of different lengths: all their values, and where each row begins.

    Parameters
    ----------
    values : array, shape ``(n, ...)``
        The rows one behind the other.
    row_splits : array, shape ``(rows + 1,)``
        Row i is ``values[row_splits[i]:row_splits[i + 1]]``.

    Examples
    --------
    >>> import penstock.compat.tf as tf
    >>> words = tf.strings.split(["a b", "c"])
    >>> words
    <tf.RaggedTensor [[b'a', b'b'], [b'c']]>
    >>> words.to_tensor("-").numpy().tolist()
    [[b'a', b'b'], [b'c', b'-']]
    """

    values: Any
    row_splits: Any

    @property
    def flat_values(self) -> Any:
        """`values`."""
        return self.values

    @property
    def dtype(self) -> Any:
        """The type of the values."""
        return self.values.dtype

    def nrows(self) -> int:
        """Return the number of rows."""
        return len(self.row_splits) - 1

    def row_lengths(self) -> Any:
        """Return the length of each row."""
        return tensor(np.diff(self.row_splits))

    def to_list(self) -> list[Any]:
        """Return the rows as lists."""
        rows = self.values.to_list() if isinstance(self.values, RaggedTensor) else None
        if rows is None:
            return [row.tolist() for row in self]
        splits = [int(place) for place in self.row_splits]
        return [rows[a:b] for a, b in itertools.pairwise(splits)]

    def to_tensor(self, default_value: Any = None, shape: Any = None) -> Any:
        """Return the rows in one array, the shorter ones filled up.

        Parameters
        ----------
        default_value : scalar, optional
            What is filled in: 0 or an empty string by default.
        shape : sequence of int or None, optional
            Rows, and length of each, to which the result is filled up or cut; None is what is
            there.

        Returns
        -------
        Tensor
            Shape ``(rows, length, ...)``.
        """
        wanted = [None, None] if shape is None else list(shape)
        lengths = np.diff(self.row_splits)
        rows = len(lengths) if wanted[0] is None else wanted[0]
        width = int(lengths.max(initial=0)) if wanted[1] is None else wanted[1]
        values = np.asarray(self.values)
        if default_value is None:
            default_value = b"" if values.dtype.kind == "O" else 0
        sizes = (rows, width, *values.shape[1:])
        filled = np.full(sizes, tensor(default_value).numpy(), dtype=values.dtype)
        for i, row in enumerate(self):
            if i < rows:
                filled[i, : len(row)] = row[:width]
        return tensor(filled)

    def __len__(self) -> int:
        return self.nrows()

    def __getitem__(self, row: int) -> Any:
        if not -self.nrows() <= row < self.nrows():
            raise IndexError(f"ragged: row {row} of {self.nrows()} was asked for")
        row %= self.nrows()
        return tensor(self.values)[int(self.row_splits[row]) : int(self.row_splits[row + 1])]

    def __iter__(self) -> Iterator[Any]:
        return (self[i] for i in range(self.nrows()))

    def __repr__(self) -> str:
        if not isinstance(self.values, np.ndarray):  # of a spec
            return f"RaggedTensor(values={self.values}, row_splits={self.row_splits})"
        return f"<tf.RaggedTensor {self.to_list()}>"

    @classmethod
    def from_row_splits(cls, values: Any, row_splits: Any) -> RaggedTensor:
        """Make one of its two parts."""
        return cls(tensor(values), tensor(np.asarray(row_splits, np.int64)))

    @classmethod
    def from_row_lengths(cls, values: Any, row_lengths: Any) -> RaggedTensor:
        """Make one of all values, and how many are in each row."""
        return cls.from_row_splits(values, np.concatenate([[0], np.cumsum(row_lengths)]))

    @classmethod
    def from_pairs(cls, structure: Any, element: Any) -> Any:
        """Return an element, with ragged tensors for the pairs at leaves of `structure`."""
        if isinstance(structure, dict):
            return {key: cls.from_pairs(part, element[key]) for key, part in structure.items()}
        if isinstance(structure, tuple):
            parts = map(cls.from_pairs, structure, element)
            return type(structure)(*parts) if hasattr(structure, "_fields") else tuple(parts)
        if not isinstance(element, tuple):
            return element
        values, row_splits = element
        return cls(cls.from_pairs(structure, values), row_splits)


def constant(pylist: Any, dtype: Any = None) -> RaggedTensor:
    """Make a ragged tensor of a list of lists.

    Parameters
    ----------
    pylist : list of lists
        The rows.
    dtype : dtype-like, optional
        The type of the values.

    Returns
    -------
    RaggedTensor
        The rows.

    Examples
    --------
    >>> import penstock.compat.tf as tf
    >>> tf.ragged.constant([[1, 2], [3]]).values
    <tf.Tensor: shape=(3,), dtype=int32, numpy=array([1, 2, 3], dtype=int32)>
    """
    rows = [list(row) for row in pylist]
    values = tensor([value for row in rows for value in row], dtype)
    return RaggedTensor.from_row_lengths(values, [len(row) for row in rows])


@dataclass(eq=False)
class SparseTensor:
    """Values, and the places where they lie in an array that is otherwise empty.

    Parameters
    ----------
    indices : array, shape ``(n, axes)``
        The places, int64.
    values : array, shape ``(n,)``
        What lies there.
    dense_shape : array, shape ``(axes,)``
        The shape of the array, int64.
    """

    indices: Any
    values: Any
    dense_shape: Any

    @classmethod
    def of_rows(cls, values: Any, row_splits: Any = None) -> SparseTensor:
        """Make one of one row of values, or of rows as in `RaggedTensor`."""
        if row_splits is None:
            n = len(values)
            return cls(tensor(np.arange(n)[:, None]), values, tensor(np.array([n])))
        lengths: Any = np.diff(np.asarray(row_splits, np.int64))
        rows = np.repeat(np.arange(len(lengths)), lengths)
        columns = np.arange(len(values)) - np.repeat(np.asarray(row_splits)[:-1], lengths)
        shape = np.array([len(lengths), lengths.max(initial=0)], np.int64)
        return cls(tensor(np.stack([rows, columns], axis=1)), values, tensor(shape))


def to_dense(sp_input: SparseTensor, default_value: Any = None) -> Any:
    """Return the array that a sparse tensor stands for.

    Parameters
    ----------
    sp_input : SparseTensor
        The values and their places.
    default_value : scalar, optional
        What lies elsewhere: 0 or an empty string by default.

    Returns
    -------
    Tensor
        Of shape ``dense_shape``.
    """
    values = np.asarray(tensor(sp_input.values))
    if default_value is None:
        default_value = b"" if values.dtype.kind == "O" else 0
    shape = tuple(int(size) for size in sp_input.dense_shape)
    dense = np.full(shape, tensor(default_value).numpy(), dtype=values.dtype)
    dense[tuple(np.asarray(sp_input.indices).T)] = values
    return tensor(dense)
