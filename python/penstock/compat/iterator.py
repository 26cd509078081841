"""Iterators whose elements are tensors."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from penstock.compat.composite_specs import type_spec_from_value
from penstock.compat.errors import OutOfRangeError, raise_translated
from penstock.compat.values import nested_map, numpy_values, plain, specs_of, tensors
from penstock.iterator import Iterator as PenstockIterator


class OwnedIterator:
    """An iteration over a dataset; the result of ``iter(dataset)``.

    Examples
    --------
    >>> import penstock.compat.tf as tf
    >>> it = iter(tf.data.Dataset.range(2))
    >>> next(it), it.get_next().numpy()
    (<tf.Tensor: shape=(), dtype=int64, numpy=0>, np.int64(1))
    >>> it.get_next()
    Traceback (most recent call last):
    penstock.compat.errors.OutOfRangeError: End of sequence
    """

    def __init__(self, inner: PenstockIterator, dataset: Any) -> None:
        self._inner = inner
        self._dataset = dataset

    def __iter__(self) -> OwnedIterator:
        return self

    def __next__(self) -> Any:
        try:
            return tensors(next(self._inner))
        except StopIteration:
            raise
        except Exception as error:
            raise_translated(error)

    def next(self) -> Any:
        """Return the next element: ``next(iterator)``."""
        return next(self)

    def get_next(self, name: str | None = None) -> Any:
        """Return the next element.

        Parameters
        ----------
        name : str, optional
            A label without effect.

        Raises
        ------
        OutOfRangeError
            If there are no more elements.
        """
        try:
            return next(self)
        except StopIteration:
            raise OutOfRangeError(None, None, "End of sequence") from None

    def get_next_as_optional(self) -> Optional:
        """Return the next element, if there is one."""
        try:
            return Optional(next(self), True, lambda: self.element_spec)
        except StopIteration:
            return Optional(None, False, lambda: self.element_spec)

    @property
    def element_spec(self) -> Any:
        """Types and shapes of the elements."""
        return specs_of(self._dataset)

    def __getattr__(self, name: str) -> Any:
        if name.startswith("_"):
            raise AttributeError(name)
        return getattr(self._inner, name)


class NumpyIterator(OwnedIterator):
    """An iteration over a dataset that returns NumPy values, and bytes."""

    def __next__(self) -> Any:
        return numpy_values(super().__next__())


class Optional:
    """An element, or no value.

    Parameters
    ----------
    value : nested tensors
        The element.
    there : bool
        Whether there is an element.
    spec : callable
        Returns the types and shapes of the elements.

    Examples
    --------
    >>> import penstock.compat.tf as tf
    >>> it = iter(tf.data.Dataset.range(1))
    >>> it.get_next_as_optional().get_value().numpy()
    np.int64(0)
    >>> bool(it.get_next_as_optional().has_value())
    False
    """

    def __init__(self, value: Any, there: bool, spec: Callable[[], Any]) -> None:
        self._value = value
        self._there = there
        self._spec = spec

    @staticmethod
    def from_value(value: Any) -> Optional:
        """Create an Optional with a value."""
        value = tensors(plain(value))
        return Optional(value, True, lambda: nested_map(type_spec_from_value, value))

    @staticmethod
    def empty(element_spec: Any = None) -> Optional:
        """Create an Optional without a value."""
        return Optional(None, False, lambda: element_spec)

    @property
    def element_spec(self) -> Any:
        """Types and shapes of the element."""
        return self._spec()

    def has_value(self, name: str | None = None) -> Any:
        """Return whether there is a value."""
        return tensors(self._there)

    def get_value(self, name: str | None = None) -> Any:
        """Return the value.

        Raises
        ------
        InvalidArgumentError
            If there is no value.
        """
        if not self._there:
            raise_translated(ValueError("optional: it has no value; ask has_value() first"))
        return self._value
