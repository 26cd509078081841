"""RaggedTensor: rows of different lengths, possibly nested."""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Sequence
from typing import Any, Self

import numpy as np

from penstock.compat.composite import Composite
from penstock.compat.dtypes import zero_of
from penstock.compat.errors import InvalidArgumentError
from penstock.compat.ragged import index
from penstock.compat.ragged.splits import (
    Rows,
    as_splits,
    axis_number,
    count_rows,
    is_ragged,
    row_ids,
    splits_of,
)
from penstock.compat.shape import TensorShape
from penstock.compat.sparse import SparseTensor
from penstock.compat.tensor import Tensor, tensor


class RaggedTensor(Rows):
    """Rows of different lengths, stored as concatenated values and row splits.

    Programs create ragged tensors with `from_row_splits` and similar methods, or with
    `tf.ragged.constant`.

    Parameters
    ----------
    values : Tensor or RaggedTensor, shape ``(n, ...)``
        The concatenated rows. If the values are ragged, rows are nested.
    row_splits : array of int64 or int32, shape ``(rows + 1,)``
        Row i is ``values[row_splits[i]:row_splits[i + 1]]``.
    uniform_row_length : int, optional
        The length of all rows, if it is known to be uniform.

    Examples
    --------
    >>> import penstock.compat.tf as tf
    >>> words = tf.strings.split(["a b", "c"])
    >>> words
    <tf.RaggedTensor [[b'a', b'b'], [b'c']]>
    >>> words.to_tensor("-").numpy().tolist()
    [[b'a', b'b'], [b'c', b'-']]
    >>> tf.ragged.constant([[1, 2], [], [3]])[:, -1:] * 10
    <tf.RaggedTensor [[20], [], [30]]>
    """

    __slots__ = ("_row_splits", "_values", "uniform")
    __hash__ = None  # type: ignore[assignment]

    def __init__(self, values: Any, row_splits: Any, uniform_row_length: int | None = None) -> None:
        if not Composite.made:  # writing to a class clears its attribute caches
            Composite.made = True
        self._values = values if isinstance(values, RaggedTensor) else tensor(values)
        self._row_splits = as_splits(row_splits)
        self.uniform = uniform_row_length

    # Creation.

    @classmethod
    def from_row_splits(
        cls, values: Any, row_splits: Any, name: str | None = None, validate: bool = True
    ) -> RaggedTensor:
        """Create a ragged tensor from values and row splits.

        Raises
        ------
        InvalidArgumentError
            If the splits do not start with 0, decrease, or do not end with the number of values.
        """
        made = cls(values, row_splits)
        splits = made._row_splits
        if not validate:
            return made
        if splits.ndim != 1 or not len(splits) or splits[0] or (np.diff(splits) < 0).any():
            raise InvalidArgumentError(
                None, None, f"from_row_splits: row_splits must rise from 0, got {splits}"
            )
        if splits[-1] != count_rows(made._values):
            raise InvalidArgumentError(
                None,
                None,
                f"from_row_splits: the rows end at {splits[-1]}, and there are "
                f"{count_rows(made._values)} values",
            )
        return made

    @classmethod
    def from_row_lengths(
        cls, values: Any, row_lengths: Any, name: str | None = None, validate: bool = True
    ) -> RaggedTensor:
        """Create a ragged tensor from values and the length of each row."""
        return cls.from_row_splits(values, splits_of(row_lengths), name, validate)

    @classmethod
    def from_row_starts(
        cls, values: Any, row_starts: Any, name: str | None = None, validate: bool = True
    ) -> RaggedTensor:
        """Create a ragged tensor from values and the start of each row."""
        values = values if isinstance(values, RaggedTensor) else tensor(values)
        splits = np.append(as_splits(row_starts), as_splits(count_rows(values)))
        return cls.from_row_splits(values, splits, name, validate)

    @classmethod
    def from_row_limits(
        cls, values: Any, row_limits: Any, name: str | None = None, validate: bool = True
    ) -> RaggedTensor:
        """Create a ragged tensor from values and the end of each row."""
        limits = as_splits(row_limits)
        return cls.from_row_splits(values, np.append(limits[:0].sum(), limits), name, validate)

    @classmethod
    def from_value_rowids(
        cls,
        values: Any,
        value_rowids: Any,
        nrows: Any = None,
        name: str | None = None,
        validate: bool = True,
    ) -> RaggedTensor:
        """Create a ragged tensor from values and the row of each; row numbers must not decrease."""
        numbers = as_splits(value_rowids)
        rows = int(numbers[-1]) + 1 if len(numbers) else 0
        if nrows is not None and validate and rows > int(nrows):
            raise ValueError(f"from_value_rowids: row {rows - 1} is beyond the {int(nrows)} rows")
        if validate and (np.diff(numbers) < 0).any():
            raise InvalidArgumentError(None, None, "from_value_rowids: value_rowids must not fall")
        counts = np.bincount(numbers, minlength=rows if nrows is None else int(nrows))
        return cls.from_row_splits(values, splits_of(counts, numbers.dtype), name, validate)

    @classmethod
    def from_uniform_row_length(
        cls,
        values: Any,
        uniform_row_length: Any,
        nrows: Any = None,
        validate: bool = True,
        name: str | None = None,
    ) -> RaggedTensor:
        """Create a ragged tensor with rows of uniform length, which its shape includes."""
        values = values if isinstance(values, RaggedTensor) else tensor(values)
        length = int(uniform_row_length)
        if nrows is None:
            nrows = count_rows(values) // length if length else 0
        splits = np.arange(int(nrows) + 1, dtype=np.int64) * length
        if validate and splits[-1] != count_rows(values):
            raise ValueError(
                f"from_uniform_row_length: {count_rows(values)} values do not make up "
                f"{int(nrows)} rows of {length}"
            )
        return cls(values, splits, length)

    @classmethod
    def from_nested_row_splits(
        cls,
        flat_values: Any,
        nested_row_splits: Sequence[Any],
        name: str | None = None,
        validate: bool = True,
    ) -> Any:
        """Create a ragged tensor from the innermost values and the splits of each ragged axis."""
        made = flat_values
        for splits in reversed(list(nested_row_splits)):
            made = cls.from_row_splits(made, splits, name, validate)
        return made if isinstance(made, RaggedTensor) else tensor(made)

    @classmethod
    def from_nested_row_lengths(
        cls,
        flat_values: Any,
        nested_row_lengths: Sequence[Any],
        name: str | None = None,
        validate: bool = True,
    ) -> Any:
        """Create a ragged tensor from the innermost values and the row lengths of each axis."""
        splits = [splits_of(lengths) for lengths in nested_row_lengths]
        return cls.from_nested_row_splits(flat_values, splits, name, validate)

    @classmethod
    def from_nested_value_rowids(
        cls,
        flat_values: Any,
        nested_value_rowids: Sequence[Any],
        nested_nrows: Sequence[Any] | None = None,
        name: str | None = None,
        validate: bool = True,
    ) -> Any:
        """Create a ragged tensor from the innermost values and the row numbers of each axis."""
        made = flat_values
        counts = nested_nrows or [None] * len(nested_value_rowids)
        for numbers, nrows in reversed(list(zip(nested_value_rowids, counts, strict=True))):
            made = cls.from_value_rowids(made, numbers, nrows, name, validate)
        return made

    @classmethod
    def from_tensor(
        cls,
        tensor: Any,
        lengths: Any = None,
        padding: Any = None,
        ragged_rank: int = 1,
        name: str | None = None,
        row_splits_dtype: Any = np.int64,
    ) -> RaggedTensor:
        """Create a ragged tensor from an array, whose rows may be shortened.

        Parameters
        ----------
        tensor : array_like
            An array with at least two axes.
        lengths : sequence of int, or a tuple of sequences, optional
            The row lengths, for one or several ragged axes.
        padding : scalar, optional
            Values equal to this are dropped at the ends of rows.
        ragged_rank : int
            The number of ragged axes of the result.
        name : str, optional
            A label without effect.
        row_splits_dtype : dtype-like
            int64 or int32.

        Returns
        -------
        RaggedTensor
            A ragged tensor with the same number of rows.

        Raises
        ------
        ValueError
            If there are too few axes, or both `lengths` and `padding` are passed.
        """
        array = _tensor(tensor)
        if lengths is not None and padding is not None:
            raise ValueError("Specify argument `lengths` or `padding`, but not both.")
        if ragged_rank <= 0 or array.ndim <= ragged_rank:
            raise ValueError(
                f"from_tensor: ragged_rank must be from 1 to {array.ndim - 1} for an array of "
                f"{array.ndim} axes, got {ragged_rank}"
            )
        if lengths is not None and np.ndim(lengths[0] if len(lengths) else 0):
            counts = [as_splits(each, row_splits_dtype) for each in lengths]
            whole = cls.from_nested_row_lengths(np.ones(int(counts[-1].sum()), bool), counts)
            return cls.from_nested_row_lengths(array[tuple(whole.coordinates())], counts)  # type: ignore[no-any-return]
        if ragged_rank > 1:
            flat = array.reshape(-1, *array.shape[ragged_rank:])
            made = cls.from_tensor(flat, lengths, padding, 1, name, row_splits_dtype)
            for axis in range(ragged_rank - 1, 0, -1):
                rows = int(np.prod(array.shape[:axis]))
                made = cls.from_uniform_row_length(made, array.shape[axis], rows)
            return made.with_row_splits_dtype(row_splits_dtype)
        width = array.shape[1]
        if padding is not None:
            inside: Any = np.asarray(array != _tensor(padding, array.dtype))
            inside = inside.reshape(*array.shape[:2], -1).any(axis=2) if array.size else inside
            lengths = (inside * np.arange(1, width + 1)).max(axis=1, initial=0)
        if lengths is None:
            values = array.reshape(array.shape[0] * width, *array.shape[2:])
            made = cls.from_uniform_row_length(values, width, array.shape[0])
            return made.with_row_splits_dtype(row_splits_dtype)
        counts = np.clip(as_splits(lengths, row_splits_dtype), 0, width)
        return cls.from_row_lengths(array[np.arange(width) < counts[:, None]], counts)

    @classmethod
    def from_sparse(
        cls, st_input: Any, name: str | None = None, row_splits_dtype: Any = np.int64
    ) -> RaggedTensor:
        """Create a ragged tensor from a sparse tensor with two axes, whose rows start at column 0.

        Raises
        ------
        ValueError
            If rows do not start at column 0 or have gaps, or there are more axes.
        """
        indices = np.asarray(st_input.indices)
        if indices.shape[1] != 2:
            raise ValueError("rank(st_input) must be 2.")
        made = cls.from_value_rowids(
            st_input.values,
            as_splits(indices[:, 0], row_splits_dtype),
            int(st_input.dense_shape[0]),
        )
        if not np.array_equal(np.stack(made.coordinates(), axis=1), indices):
            raise InvalidArgumentError(None, None, "SparseTensor is not right-ragged")
        return made

    # Parts.

    @property
    def values(self) -> Any:
        """The concatenated rows: an array or a ragged tensor."""
        return self._values

    @property
    def flat_values(self) -> Any:
        """The values of the innermost rows."""
        return self._values.flat_values if is_ragged(self._values) else self._values

    @property
    def row_splits(self) -> Tensor:
        """The start of each row, and the end of the last one."""
        return self._row_splits.view(Tensor)

    @property
    def nested_row_splits(self) -> tuple[Tensor, ...]:
        """The `row_splits` of each ragged axis, from the first."""
        return (self.row_splits, *(self._values.nested_row_splits if self.ragged_rank > 1 else ()))

    @property
    def uniform_row_length(self) -> Any:
        """The length of all rows if it is uniform by construction, else None."""
        return None if self.uniform is None else self._sizes(self.uniform)

    @property
    def ragged_rank(self) -> int:
        """The number of ragged axes."""
        return 1 + (self._values.ragged_rank if is_ragged(self._values) else 0)

    @property
    def dtype(self) -> Any:
        """The type of the values."""
        return self.flat_values.dtype

    @property
    def shape(self) -> TensorShape:
        """The size of each axis; None where rows differ in length."""
        inner = self._values.shape[1:]
        return TensorShape([self._count, self.uniform, *inner])

    def get_shape(self) -> TensorShape:
        """Return `shape`."""
        return self.shape

    @property
    def _count(self) -> int:
        return len(self._row_splits) - 1

    def _sizes(self, value: Any, out_type: Any = None) -> Any:
        return tensor(np.asarray(value), self._row_splits.dtype if out_type is None else out_type)

    def nrows(self, out_type: Any = None, name: str | None = None) -> Any:
        """Return the number of rows."""
        return self._sizes(self._count, out_type)

    def row_starts(self, name: str | None = None) -> Any:
        """Return the start of each row."""
        return self.row_splits[:-1]

    def row_limits(self, name: str | None = None) -> Any:
        """Return the end of each row."""
        return self.row_splits[1:]

    def row_lengths(self, axis: int = 1, name: str | None = None) -> Any:
        """Return the lengths of the rows along an axis."""
        axis = self.axis_of(axis)
        if axis == 0:
            return self.nrows()
        if axis == 1:
            return self._sizes(np.diff(self._row_splits))
        if is_ragged(self._values):
            return self.with_values(self._values.row_lengths(axis - 1))
        shape = self._values.shape
        return self.with_values(self._sizes(np.full(shape[: axis - 1], shape[axis - 1])))

    def nested_row_lengths(self, name: str | None = None) -> tuple[Any, ...]:
        """Return the lengths of the rows of each ragged axis."""
        return tuple(self._sizes(np.diff(np.asarray(s))) for s in self.nested_row_splits)

    def value_rowids(self, name: str | None = None) -> Any:
        """Return the row of each value."""
        return self._sizes(row_ids(self._row_splits))

    def nested_value_rowids(self, name: str | None = None) -> tuple[Any, ...]:
        """Return `value_rowids` of each ragged axis."""
        return tuple(self._sizes(row_ids(np.asarray(s))) for s in self.nested_row_splits)

    def bounding_shape(
        self, axis: Any = None, name: str | None = None, out_type: Any = None
    ) -> Any:
        """Return the shape of the smallest array that can hold all rows."""
        lengths = [each.max(initial=0) for each in self.nested_row_lengths()]
        sizes = self._sizes([self._count, *lengths, *self.flat_values.shape[1:]], out_type)
        return sizes if axis is None else sizes[axis]

    def starts_and_lengths(self) -> tuple[np.ndarray[Any, Any], np.ndarray[Any, Any]]:
        """Return the start and length of each row, as arrays."""
        return self._row_splits[:-1], np.diff(self._row_splits)

    def coordinates(self) -> list[np.ndarray[Any, Any]]:
        """Return the index along each axis of each of the innermost values."""
        found: list[np.ndarray[Any, Any]] = []
        numbers = np.arange(count_rows(self.flat_values))
        for splits in reversed(self.nested_row_splits):
            rows = row_ids(np.asarray(splits))[numbers]
            found.insert(0, numbers - np.asarray(splits)[rows])
            numbers = rows
        return [numbers, *found]

    def axis_of(self, axis: Any) -> int:
        """Return the number of an axis from the first on."""
        return axis_number(axis, len(self.shape))

    # Other values in the same rows.

    def with_partition(
        self, values: Any, row_splits: Any, uniform_row_length: int | None = None
    ) -> Self:
        """Return a ragged tensor with other values and rows, keeping the type of the splits."""
        splits = as_splits(row_splits, self._row_splits.dtype)
        return type(self)(values, splits, uniform_row_length)

    def with_values(self, new_values: Any) -> Self:
        """Return a ragged tensor with the same rows and other values."""
        values = new_values if is_ragged(new_values) else _tensor(new_values)
        if (not is_ragged(values) and values.ndim == 0) or count_rows(values) != count_rows(
            self._values
        ):
            raise ValueError(
                f"with_values: {count_rows(self._values)} values were expected, got shape "
                f"{values.shape}"
            )
        return type(self)(values, self._row_splits, self.uniform)

    def with_flat_values(self, new_values: Any) -> Self:
        """Return a ragged tensor with the same rows on all axes and other innermost values."""
        inner = self._values.with_flat_values(new_values) if self.ragged_rank > 1 else new_values
        return self.with_values(inner)

    def with_row_splits_dtype(self, dtype: Any) -> Self:
        """Return a ragged tensor with row splits of type int32 or int64."""
        inner = self._values
        if is_ragged(inner):
            inner = inner.with_row_splits_dtype(dtype)
        return type(self)(inner, as_splits(self._row_splits, dtype), self.uniform)

    def merge_dims(self, outer_axis: int, inner_axis: int) -> Any:
        """Merge a range of axes into one.

        Raises
        ------
        ValueError
            If an axis does not exist, or the first is after the last.
        """
        outer, inner = self.axis_of(outer_axis), self.axis_of(inner_axis)
        if outer > inner:
            raise ValueError(
                f"Expected outer_axis ({outer}) to be less than or equal to inner_axis ({inner})."
            )
        return _merged(self, outer, inner)

    # Conversions.

    def to_tensor(
        self, default_value: Any = None, name: str | None = None, shape: Any = None
    ) -> Any:
        """Return the rows as one array, with shorter rows padded.

        Parameters
        ----------
        default_value : scalar, optional
            The padding value; 0 or an empty string by default.
        name : str, optional
            A label without effect.
        shape : sequence of int or None, optional
            The size along each axis to which the result is padded or cut; None for the maximum
            size.

        Returns
        -------
        Tensor
            The array.
        """
        flat = np.asarray(self.flat_values)
        if default_value is None:
            default_value = zero_of(flat.dtype)
        sizes = [int(size) for size in self.bounding_shape()]
        if shape is not None and (wanted := TensorShape(shape)).known:
            sizes = [s if w is None else w for s, w in zip(sizes, wanted, strict=True)]
        filled = np.full(sizes, _tensor(default_value, self.dtype).numpy(), flat.dtype)
        indices = self.coordinates()
        inside = np.ones(len(flat), bool)
        for numbers, size in zip(indices, sizes, strict=False):
            inside &= numbers < size
        within: Any = [slice(size) for size in flat.shape[1:]]
        filled[(*(numbers[inside] for numbers in indices), *within)] = flat[inside]
        return tensor(filled)

    def to_sparse(self, name: str | None = None) -> SparseTensor:
        """Return the values and their indices, as a `SparseTensor`."""
        flat = np.asarray(self.flat_values)
        each = np.indices(flat.shape).reshape(flat.ndim, -1)
        outer = [numbers[each[0]] for numbers in self.coordinates()]
        indices = np.stack([*outer, *each[1:]], axis=1)
        return SparseTensor(indices, flat.reshape(-1), self.bounding_shape())

    def to_list(self) -> list[Any]:
        """Return the rows as lists."""
        rows: list[Any] = self.flat_values.tolist()
        for splits in reversed(self.nested_row_splits):
            limits = splits.tolist()
            rows = [rows[a:b] for a, b in itertools.pairwise(limits)]
        return rows

    def numpy(self) -> Any:
        """Return an array of the rows, which are arrays themselves if they differ in length."""
        values = self._values.numpy()
        splits = self._row_splits.tolist()
        rows = [values[a:b] for a, b in itertools.pairwise(splits)]
        if not rows:
            return np.zeros((0, 0, *values.shape[1:]), values.dtype)
        if len({len(row) for row in rows}) == 1:
            return np.array(rows, values.dtype if values.dtype.kind == "O" else None)
        made = np.empty(len(rows), object)
        made[:] = rows
        return made

    # Use as elements of datasets.

    def rows(self) -> list[Any]:
        """Return the rows: arrays, or ragged tensors."""
        limits = itertools.pairwise(self._row_splits.tolist())
        if is_ragged(self._values):
            return [index.part(self._values, a, b) for a, b in limits]
        array = np.asarray(self._values)
        return [array[a:b].view(Tensor) for a, b in limits]

    @classmethod
    def stacked(cls, values: Sequence[Any]) -> Self:
        """Return a ragged tensor with these rows."""
        return cls(concatenated(values), splits_of([count_rows(value) for value in values]))

    def components(self) -> tuple[Any, ...]:
        """Return the innermost values, and the row splits of each axis."""
        return (self.flat_values, *self.nested_row_splits)

    @classmethod
    def of_components(cls, *components: Any) -> Any:
        """Return the tensor with these components; values alone are a row."""
        return cls.from_nested_row_splits(components[0], components[1:], validate=False)

    def __getitem__(self, key: Any) -> Any:
        return index.item(self, key)

    def __iter__(self) -> Iterator[Any]:
        return map(self.__getitem__, range(self._count))

    def __bool__(self) -> bool:
        raise TypeError("RaggedTensor may not be used as a boolean.")

    def __repr__(self) -> str:
        with np.printoptions(formatter={"all": _text}):
            return f"<tf.RaggedTensor {_text(self.numpy())}>"


_tensor = tensor  # for from_tensor, which has an argument of the same name


def _text(value: Any) -> str:
    if not isinstance(value, np.ndarray):
        return str(value)
    # NumPy would print [] for any empty array.
    return np.array2string(value, separator=", ") if value.size else repr(value.tolist())


def concatenated(values: Sequence[Any]) -> Any:
    """Concatenate arrays, or ragged tensors with the same ragged axes."""
    if not is_ragged(values[0]):
        return tensor(np.concatenate([np.asarray(tensor(value)) for value in values]))
    lengths = np.concatenate([value.starts_and_lengths()[1] for value in values])
    uniform = {value.uniform for value in values}
    return values[0].with_partition(
        concatenated([value.values for value in values]),
        splits_of(lengths),
        uniform.pop() if len(uniform) == 1 else None,
    )


def _merged(value: Any, outer: int, inner: int) -> Any:
    if outer == inner:
        return value
    if not is_ragged(value):
        return value.reshape(*value.shape[:outer], -1, *value.shape[inner + 1 :])
    if outer == 0:
        return _merged(value.values, 0, inner - 1)
    if outer > 1:
        return value.with_values(_merged(value.values, outer - 1, inner - 1))
    below, splits = value.values, np.asarray(value.row_splits)
    for axis in range(1, inner):
        if not is_ragged(below):
            count = int(np.prod(below.shape[1 : inner - axis + 1]))
            flat = below.reshape(-1, *below.shape[inner - axis + 1 :])
            return value.with_partition(flat, splits * count)
        splits = np.asarray(below.row_splits)[splits]
        below = below.values
    return value.with_partition(below, splits)
