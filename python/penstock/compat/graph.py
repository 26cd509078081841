"""Values that are computed when a session is asked for them, as in TensorFlow 1."""

from __future__ import annotations

import functools
import operator
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from penstock.closing import Closing
from penstock.compat.dtypes import as_dtype
from penstock.compat.shape import TensorShape
from penstock.compat.tensor import tensor
from penstock.compat.values import numpy_values


class Run:
    """One call of `Session.run`: every value is computed once in it.

    Parameters
    ----------
    feeds : mapping of Placeholder to values
        What placeholders stand for.
    """

    def __init__(self, feeds: dict[Any, Any]) -> None:
        self._known = {id(lazy): tensor(value) for lazy, value in feeds.items()}

    def value(self, nested: Any) -> Any:
        """Return nested values, those that are to be computed computed."""
        if isinstance(nested, Lazy):
            if id(nested) not in self._known:
                self._known[id(nested)] = nested._compute(self)
            return self._known[id(nested)]
        if isinstance(nested, (list, tuple)) and not isinstance(nested, TensorShape):
            parts = [self.value(part) for part in nested]
            return type(nested)(*parts) if hasattr(nested, "_fields") else type(nested)(parts)
        if isinstance(nested, dict):
            return {key: self.value(part) for key, part in nested.items()}
        return nested


class Lazy:
    """A value that `Session.run` computes.

    Parameters
    ----------
    compute : callable
        Takes the `Run`, returns the value.

    Notes
    -----
    Operators, attributes, calls and indexing make further ones.
    """

    used = False  # whether there is one at all: until then nobody looks for them

    def __init__(self, compute: Callable[[Run], Any]) -> None:
        Lazy.used = True
        self._compute = compute

    def eval(self, feed_dict: Any = None, session: Any = None) -> Any:
        """Return the value: ``Session().run(self)``."""
        return Session().run(self, feed_dict)

    def set_shape(self, shape: Any) -> None:
        """Do nothing: shapes are known when values are."""

    def make_one_shot_iterator(self) -> Any:
        """Return an iterator over the dataset that this stands for."""
        from penstock.compat.old_iterators import GraphIterator

        return GraphIterator(self)

    def make_initializable_iterator(self, shared_name: str | None = None) -> Any:
        """Return an iterator over the dataset that this stands for, begun by its initializer."""
        from penstock.compat.old_iterators import GraphIterator

        return GraphIterator(self, starts=False)

    def __getattr__(self, name: str) -> Any:
        if name.startswith("_"):
            raise AttributeError(name)
        return Lazy(lambda run: getattr(run.value(self), name))

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """Call what it stands for, when that is known."""
        return Lazy(lambda run: run.value(self)(*run.value(args), **run.value(kwargs)))

    def __getitem__(self, key: Any) -> Any:
        return Lazy(lambda run: run.value(self)[run.value(key)])

    def __iter__(self) -> Iterator[Any]:
        raise TypeError("a value that Session.run computes cannot be iterated before")

    def __bool__(self) -> bool:
        raise TypeError("a value that Session.run computes is neither True nor False before")


def _operator(name: str) -> Callable[..., Any]:
    function = getattr(operator, name)

    def method(self: Lazy, *others: Any) -> Any:
        return Lazy(lambda run: function(run.value(self), *run.value(others)))

    return method


def _reflected(name: str) -> Callable[..., Any]:
    function = getattr(operator, name)

    def method(self: Lazy, other: Any) -> Any:
        return Lazy(lambda run: function(run.value(other), run.value(self)))

    return method


for _name in ("add", "sub", "mul", "truediv", "floordiv", "mod", "pow", "matmul"):
    setattr(Lazy, f"__{_name}__", _operator(f"__{_name}__"))
    setattr(Lazy, f"__r{_name}__", _reflected(f"__{_name}__"))
for _name in ("neg", "abs", "lt", "le", "gt", "ge"):
    setattr(Lazy, f"__{_name}__", _operator(f"__{_name}__"))


class Placeholder(Lazy):
    """A value that is given to `Session.run`.

    Parameters
    ----------
    dtype : dtype-like
        Its type.
    shape : sequence of int or None, optional
        Its shape.
    """

    def __init__(self, dtype: Any, shape: Any = None) -> None:
        super().__init__(self._missing)
        self.dtype = as_dtype(dtype)
        self.shape = TensorShape(shape)

    def _missing(self, run: Run) -> Any:
        raise ValueError("Session.run: a placeholder has no value; give it in feed_dict")

    def likeness(self) -> Any:
        """Return a value of this type and shape, with one row where their number is open."""
        filled = np.zeros([1 if size is None else size for size in self.shape], self.dtype.dtype)
        return tensor(np.full(filled.shape, b"", object) if self.dtype.name == "string" else filled)


class Likeness(Run):
    """A run in which placeholders stand for zeros: to find out how elements are nested."""

    def __init__(self) -> None:
        super().__init__({})

    def value(self, nested: Any) -> Any:
        """Return nested values, placeholders as zeros."""
        return nested.likeness() if isinstance(nested, Placeholder) else super().value(nested)


def contains_lazy(nested: Any) -> bool:
    """Return whether there is a value to compute among nested ones."""
    if isinstance(nested, (list, tuple)):
        return any(map(contains_lazy, nested))
    if isinstance(nested, dict):
        return any(map(contains_lazy, nested.values()))
    return isinstance(nested, Lazy)


def deferred(function: Callable[..., Any]) -> Any:
    """Return a function that waits for the session where one of its arguments does."""

    @functools.wraps(function)
    def call(*args: Any, **kwargs: Any) -> Any:
        if Lazy.used and contains_lazy((args, kwargs)):
            return Lazy(lambda run: function(*run.value(args), **run.value(kwargs)))
        return function(*args, **kwargs)

    return call


class Session(Closing):
    """Computes values.

    Examples
    --------
    >>> import penstock.compat.v1 as tf
    >>> next_element = tf.data.Dataset.range(2).make_one_shot_iterator().get_next()
    >>> with tf.Session() as sess:
    ...     print(sess.run(next_element), sess.run(next_element + 10))
    ...     sess.run(next_element)
    Traceback (most recent call last):
    penstock.compat.errors.OutOfRangeError: End of sequence
    """

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        self._ended = False

    def run(self, fetches: Any, feed_dict: Any = None, **ignored: Any) -> Any:
        """Compute nested values, each once.

        Parameters
        ----------
        fetches : nested values
            What is asked for.
        feed_dict : mapping of placeholders to values, optional
            What they stand for.

        Returns
        -------
        nested arrays
            NumPy values.

        Raises
        ------
        OutOfRangeError
            If an iterator has no more elements.
        """
        try:
            return numpy_values_of(Run(dict(feed_dict or {})).value(fetches))
        except Exception:
            self._ended = True
            raise

    def should_stop(self) -> bool:
        """Return whether a run has failed, as it does at the end of the data."""
        return self._ended

    def close(self) -> None:
        """Do nothing."""


def numpy_values_of(nested: Any) -> Any:
    """Return nested values, lists as well, as NumPy has them."""
    if isinstance(nested, list):
        return [numpy_values_of(part) for part in nested]
    return numpy_values(nested)
