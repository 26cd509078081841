"""tf.data's Dataset: wraps penstock's, with functions that take and return tensors."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable
from typing import Any

import numpy as np

from penstock.compat import elements
from penstock.compat.calling import argument, ported
from penstock.compat.composite import Variant
from penstock.compat.composite_specs import CompositeSpec
from penstock.compat.graph import Lazy, contains_lazy
from penstock.compat.iterator import NumpyIterator, OwnedIterator
from penstock.compat.old_iterators import OldIterators
from penstock.compat.ragged import RaggedTensor
from penstock.compat.shape import TensorShape
from penstock.compat.shown import shown
from penstock.compat.sparse import SparseTensor
from penstock.compat.tensor import tensor
from penstock.compat.values import nested_map, numpy_values, plain, register, specs_of, tensors
from penstock.dataset import Dataset as PenstockDataset
from penstock.sources import files
from penstock.structure import is_nested, map_parts, parts_of


class Dataset(OldIterators):
    """A sequence of elements, described but not yet computed.

    It has every method of penstock's Dataset, under the same name. Functions passed to these
    methods are called with tensors, and their results are converted by TensorFlow's rules.

    Examples
    --------
    >>> import penstock.compat.tf as tf
    >>> ds = tf.data.Dataset.from_tensor_slices([1, 2, 3]).map(lambda x: x * 2).batch(2)
    >>> for batch in ds:
    ...     print(batch)
    tf.Tensor([2 4], shape=(2,), dtype=int32)
    tf.Tensor([6], shape=(1,), dtype=int32)
    """

    __slots__ = ("__dict__", "_inner")  # programs store class names and other attributes on them

    _inner: PenstockDataset

    @staticmethod
    def _wrap(inner: PenstockDataset) -> Dataset:
        # Not with __new__: programs define subclasses that are really functions.
        dataset = object.__new__(Dataset)
        dataset._inner = inner
        return dataset

    @staticmethod
    def from_generator(
        generator: Callable[..., Any],
        output_types: Any = None,
        output_shapes: Any = None,
        args: Any = None,
        output_signature: Any = None,
        name: str | None = None,
    ) -> Dataset:
        """Create a dataset of the values that `generator` yields.

        Parameters
        ----------
        generator : callable
            Called again for each iterator; returns an iterable.
        output_types, output_shapes : nested types and shapes, optional
            The older form of `output_signature`.
        args : sequence, optional
            Arguments of `generator`, passed as NumPy values.
        output_signature : nested TensorSpec, optional
            The specs to which values are converted.
        name : str, optional
            A label without effect.

        Returns
        -------
        Dataset
            A dataset of unknown length.
        """
        made = PenstockDataset.from_generator(
            functools.partial(_yields, generator, output_signature)
            if callable(generator)
            else generator,
            argument(output_types),
            argument(output_shapes),
            [numpy_values(tensor(value)) for value in args or ()],
            argument(output_signature),
        )
        return Dataset._wrap(made)

    @staticmethod
    def from_tensor_slices(tensors: Any, name: str | None = None) -> Dataset:
        """Create a dataset of the rows of arrays, ragged tensors and sparse tensors.

        Parameters
        ----------
        tensors : nested arrays, RaggedTensor and SparseTensor
            Values with the same number of rows.
        name : str, optional
            A label without effect.

        Returns
        -------
        Dataset
            A dataset with one element per row.
        """
        return _slices(tensors, name)  # type: ignore[no-any-return]

    def apply(self, transformation_func: Callable[[Dataset], Dataset]) -> Dataset:
        """Return ``transformation_func(self)``.

        Parameters
        ----------
        transformation_func : callable
            Takes this dataset and returns another one.

        Raises
        ------
        TypeError
            If it returns anything but a Dataset.
        """
        made = transformation_func(self)
        if not isinstance(made, Dataset):
            raise TypeError(f"apply: transformation_func must return a Dataset, got {made!r}")
        return made

    def ragged_batch(self, *args: Any, **kwargs: Any) -> Dataset:
        """Combine consecutive elements of different sizes to batches with `RaggedTensor` leaves.

        Parameters
        ----------
        *args, **kwargs
            See penstock's `Dataset.ragged_batch`.

        Returns
        -------
        Dataset
            A dataset of batches.
        """
        pairs = self._inner.ragged_batch(*argument(args), **argument(kwargs))
        return Dataset._wrap(pairs.map(argument(functools.partial(_ragged, self.element_spec))))

    def sparse_batch(self, batch_size: Any, row_shape: Any, name: str | None = None) -> Dataset:
        """Combine consecutive elements of different sizes to `SparseTensor` batches.

        Parameters
        ----------
        batch_size : int
            Number of elements in a batch.
        row_shape : sequence of int or None
            The size of each axis of all rows; None for the maximum in each batch.
        name : str, optional
            A label without effect.

        Returns
        -------
        Dataset
            A dataset of sparse tensors with one more axis.
        """
        rows = argument(functools.partial(_sparse_row, TensorShape(row_shape)))
        return Dataset._wrap(self._inner.map(rows).batch(argument(batch_size), name=name))

    def cardinality(self) -> Any:
        """Return the number of elements, INFINITE_CARDINALITY or UNKNOWN_CARDINALITY, as int64."""
        return tensor(self._inner.cardinality(), "int64")

    def as_numpy_iterator(self) -> NumpyIterator:
        """Return an iterator over the elements in NumPy's form."""
        return NumpyIterator(iter(self._inner), self._inner)

    @property
    def element_spec(self) -> Any:
        """Types and shapes of the elements, in their structure."""
        return specs_of(self._inner)

    def __iter__(self) -> OwnedIterator:
        return OwnedIterator(iter(self._inner), self._inner)

    def __len__(self) -> int:
        try:
            return len(self._inner)
        except TypeError as error:
            message = str(error).replace("ps.experimental", "tf.data.experimental")
            raise TypeError(message) from None

    def __bool__(self) -> bool:
        return True

    def __repr__(self) -> str:
        return shown(self._inner)


def _ragged(structure: Any, *element: Any) -> Any:
    # A tuple is passed as several arguments, and so is the pair of a single ragged leaf.
    whole = element if type(structure) is tuple or len(element) > 1 else element[0]
    return _of_pairs(structure, whole)


def _of_pairs(structure: Any, element: Any) -> Any:
    """Return an element with ragged tensors in place of the pairs at leaves of a structure."""
    if is_nested(structure):
        parts = dict(parts_of(element))
        return map_parts(lambda key, part: _of_pairs(part, parts[key]), structure)
    if not isinstance(element, tuple):
        return element
    shape = TensorShape(structure.shape)
    return Variant(
        RaggedTensor, _of_pair(element), (None, *shape) if shape.rank is not None else None
    )


def _of_pair(pair: Any) -> Any:
    if not isinstance(pair, tuple):
        return pair
    values, row_splits = pair
    return RaggedTensor(_of_pair(values), row_splits)


def _sparse_row(shape: TensorShape, row: Any) -> Variant:
    wide = len(shape) == row.ndim
    if not wide or any(s is not None and s < n for s, n in zip(shape, row.shape, strict=True)):
        raise ValueError(f"sparse_batch: a row of shape {row.shape} does not fit into {shape}")
    indices = np.indices(row.shape).reshape(row.ndim, -1).T
    sizes = [n if s is None else s for s, n in zip(shape, row.shape, strict=True)]
    return Variant(SparseTensor, SparseTensor(indices, row.reshape(-1), sizes), shape)


def _yields(generator: Callable[..., Any], signature: Any, *args: Any) -> Any:
    """Yield the values of a generator in penstock's form."""
    ragged: list[bool] = []
    nested_map(lambda spec: ragged.append(isinstance(spec, CompositeSpec)), signature)
    if not any(ragged):
        return map(plain, generator(*args))
    return (plain(_declared(signature, value)) for value in generator(*args))


def _declared(signature: Any, value: Any) -> Any:
    """Return a value with a leaf for each ragged or sparse tensor of a signature."""
    if isinstance(signature, CompositeSpec):
        return signature.leaf(value)
    if is_nested(signature):
        parts = dict(parts_of(value)) if is_nested(value) else dict(enumerate(value))
        return map_parts(lambda key, part: _declared(part, parts[key]), signature)
    return value


register(PenstockDataset, Dataset)
_slices = ported(elements.from_tensor_slices)


def _method(function: Callable[..., Any]) -> Callable[..., Any]:
    call = ported(function)

    @functools.wraps(function)
    def method(self: Any, *args: Any, **kwargs: Any) -> Any:
        return call(self, *args, **kwargs)

    return method


for _name in dir(PenstockDataset):
    if _name.startswith("_"):
        continue
    _found = next(vars(c)[_name] for c in PenstockDataset.__mro__ if _name in vars(c))
    if isinstance(_found, classmethod):
        _made = getattr(elements, _name, getattr(PenstockDataset, _name))
        _member: Any = staticmethod(ported(_made))
    elif callable(_found):
        _member = _method(getattr(elements, _name, _found))
    else:
        _member = property(lambda self, name=_name: tensors(getattr(self._inner, name)))  # type: ignore[misc]
    if _name not in vars(Dataset):
        setattr(Dataset, _name, _member)


def source_class(source: type[PenstockDataset], module: str = __name__) -> type[Dataset]:
    """Return a class with TensorFlow's name that creates datasets with a penstock class."""
    make = ported(source, lambda made: made)

    def new(cls: Any, *args: Any, **kwargs: Any) -> Any:
        if Lazy.used and contains_lazy((args, kwargs)):
            return Lazy(lambda run: cls(*run.value(args), **run.value(kwargs)))
        return object.__new__(cls)

    def begin(self: Any, *args: Any, **kwargs: Any) -> None:
        self._inner = make(*args, **kwargs)

    begin.__signature__ = inspect.signature(source.__init__)  # type: ignore[attr-defined]
    members = {"__slots__": (), "__new__": new, "__init__": begin, "_native": source}
    return type(
        source.__name__, (Dataset,), {**members, "__doc__": source.__doc__, "__module__": module}
    )


FixedLengthRecordDataset = source_class(files.FixedLengthRecordDataset)
TFRecordDataset = source_class(files.TFRecordDataset)
TextLineDataset = source_class(files.TextLineDataset)
