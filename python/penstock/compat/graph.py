"""Values and iterators that are computed when a session is asked for them, as in TensorFlow 1."""

from __future__ import annotations

import dis
import functools
import operator
import sys
import types
import weakref
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np

from penstock.closing import Closing
from penstock.compat.dtypes import as_dtype
from penstock.compat.errors import FailedPreconditionError
from penstock.compat.ragged import RaggedTensor
from penstock.compat.shape import TensorShape, TensorSpec
from penstock.compat.sparse import SparseTensor, SparseTensorValue
from penstock.compat.tensor import tensor
from penstock.compat.values import nested_map, numpy_values

_HANDLES: weakref.WeakValueDictionary[bytes, GraphIterator] = weakref.WeakValueDictionary()


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

    used = False  # whether there is one at all: until then none is looked for
    _unknown: Exception | None = None  # why it is not known how an element is nested

    def __init__(self, compute: Callable[[Run], Any]) -> None:
        if not Lazy.used:  # writing to a class empties the caches of its attributes
            Lazy.used = True
        self._compute = compute

    def eval(self, feed_dict: Any = None, session: Any = None) -> Any:
        """Return the value: ``Session().run(self)``."""
        return Session().run(self, feed_dict)

    def set_shape(self, shape: Any) -> None:
        """Do nothing: shapes are known when values are."""

    def make_one_shot_iterator(self) -> Any:
        """Return an iterator over the dataset that this stands for."""
        return GraphIterator(self)

    def make_initializable_iterator(self, shared_name: str | None = None) -> Any:
        """Return an iterator over the dataset that this stands for, begun by its initializer."""
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
        count = _targets(sys._getframe(1))
        if count is None:
            message = "a value that Session.run computes cannot be iterated before"
            raise TypeError(message) from self._unknown
        return iter([Lazy(functools.partial(self._of_parts, i, count)) for i in range(count)])

    def _of_parts(self, i: int, count: int, run: Run) -> Any:
        parts = run.value(self)
        if len(parts) != count:
            raise ValueError(f"{count} values to unpack were expected, got {len(parts)}")
        return parts[i]

    def __bool__(self) -> bool:
        raise TypeError("a value that Session.run computes is neither True nor False before")


def _targets(frame: types.FrameType) -> int | None:
    """Return into how many variables an assignment unpacks, if this is what a frame does now."""
    for step in dis.get_instructions(frame.f_code):
        if step.offset == frame.f_lasti:
            return step.arg if step.opname == "UNPACK_SEQUENCE" else None
    return None


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
    default : array_like, optional
        What it stands for where it is not given.
    """

    def __init__(self, dtype: Any, shape: Any = None, default: Any = None) -> None:
        super().__init__(self._missing if default is None else lambda run: tensor(default))
        self.dtype = as_dtype(dtype)
        self.shape = TensorShape(shape)

    def _missing(self, run: Run) -> Any:
        raise ValueError("Session.run: a placeholder has no value; give it in feed_dict")

    def likeness(self) -> Any:
        """Return a value of this type and shape, with one row where their number is open."""
        filled = np.zeros([1 if size is None else size for size in self.shape], self.dtype.dtype)
        if not filled.ndim and filled.dtype.kind in "iu":
            filled += 1  # the size of a batch
        return tensor(np.full(filled.shape, b"", object) if self.dtype.name == "string" else filled)


class Likeness(Run):
    """A run in which placeholders stand for zeros or ones: to find out how elements are nested."""

    def __init__(self) -> None:
        super().__init__({})

    def value(self, nested: Any) -> Any:
        """Return nested values, placeholders as zeros, or as one."""
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
    return nested_map(_fetched, nested)


def _fetched(value: Any) -> Any:
    if isinstance(value, SparseTensor):
        return SparseTensorValue(*map(numpy_values, value.components()))
    # The arrays of a ragged tensor are NumPy's already.
    return value if isinstance(value, RaggedTensor) else numpy_values(value)


class GraphIterator:
    """One run of a dataset after the other; `get_next` gives values for a session.

    Parameters
    ----------
    dataset : Dataset, or a value that stands for one
        What is iterated; None waits for `make_initializer`.
    starts : bool
        Whether the first run begins without `initializer`.
    structure : nested TensorSpec, optional
        How elements are nested; found out where it is not given.
    """

    def __init__(self, dataset: Any, starts: bool = True, structure: Any = None) -> None:
        self._dataset = dataset
        self._starts = starts
        self._structure = structure
        self._inner: Any = None
        self._handle: Any = None

    @staticmethod
    def from_structure(
        output_types: Any, output_shapes: Any = None, *args: Any, **kwargs: Any
    ) -> GraphIterator:
        """Make an iterator that `make_initializer` gives its dataset."""
        structure = nested_map(lambda dtype: TensorSpec(None, dtype), output_types)
        return GraphIterator(None, False, structure)

    @property
    def initializer(self) -> Any:
        """What a session runs to begin a new pass."""
        return self._start(self._dataset)

    def make_initializer(self, dataset: Any, name: str | None = None) -> Any:
        """Return what a session runs to begin a pass over `dataset`."""
        return self._start(dataset)

    def _start(self, dataset: Any) -> Lazy:
        def start(run: Run) -> None:
            self._inner = iter(run.value(dataset))

        return Lazy(start)

    @staticmethod
    def from_string_handle(
        string_handle: Any, output_types: Any, output_shapes: Any = None, *args: Any
    ) -> GraphIterator:
        """Make an iterator that is the one whose `string_handle` a session is given."""
        iterator = GraphIterator.from_structure(output_types)
        iterator._handle = string_handle
        return iterator

    def string_handle(self, name: str | None = None) -> Lazy:
        """Return what tells a session which iterator is meant."""
        handle = f"iterator-{id(self)}"
        _HANDLES[handle.encode()] = self
        return Lazy(lambda run: tensor(handle))

    def get_next(self, name: str | None = None) -> Any:
        """Return the next element, to be computed by a session.

        Each run of a session that asks for a part of it takes one element.
        """
        element = Lazy(self._next)
        try:
            structure = self._spec()
        except Exception as error:  # without its data the dataset cannot tell: it is one value
            element._unknown = error
            return element
        return nested_map(lambda path: _part(element, path), _paths(structure))

    def _next(self, run: Run) -> Any:
        if self._handle is not None:
            return _HANDLES[run.value(self._handle).item()]._next(run)
        if self._inner is None:
            if not self._starts:
                raise FailedPreconditionError(
                    None, None, "GetNext: run the iterator's initializer first"
                )
            self._inner = iter(run.value(self._dataset))
        return self._inner.get_next()

    def _spec(self) -> Any:
        if self._structure is None:
            self._structure = Likeness().value(self._dataset).element_spec
        return self._structure

    @property
    def output_types(self) -> Any:
        """The type of each leaf."""
        return nested_map(lambda spec: spec.dtype, self._spec())

    @property
    def output_shapes(self) -> Any:
        """The shape of each leaf."""
        return nested_map(lambda spec: spec.shape, self._spec())


class _Path(list[Any]):
    """Where a leaf is: keys, indices and names of fields."""


def _paths(structure: Any, path: tuple[Any, ...] = ()) -> Any:
    if isinstance(structure, dict):
        return {key: _paths(part, (*path, key)) for key, part in structure.items()}
    if isinstance(structure, tuple):
        parts = [_paths(part, (*path, i)) for i, part in enumerate(structure)]
        return type(structure)(*parts) if hasattr(structure, "_fields") else tuple(parts)
    return _Path(path)


def _part(element: Lazy, path: _Path) -> Any:
    for key in path:
        element = element[key]
    return element
