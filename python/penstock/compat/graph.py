"""Values and iterators that a session computes on request, as in TensorFlow 1."""

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

from penstock.compat.composite import Composite
from penstock.compat.composite_specs import type_spec_from_value
from penstock.compat.errors import FailedPreconditionError, InvalidArgumentError
from penstock.compat.ragged import RaggedTensor
from penstock.compat.shape import TensorShape, TensorSpec
from penstock.compat.sparse import SparseTensor, SparseTensorValue
from penstock.compat.tensor import Tensor, tensor
from penstock.compat.values import nested_map, numpy_values
from penstock.structure import is_nested, map_parts, parts_of

_HANDLES: weakref.WeakValueDictionary[bytes, GraphIterator] = weakref.WeakValueDictionary()


class Run:
    """A call of `Session.run`, in which every value is computed once.

    Parameters
    ----------
    feeds : mapping of Placeholder to values
        Values of the placeholders.
    """

    def __init__(self, feeds: dict[Any, Any]) -> None:
        self._known = {id(lazy): lazy.fed(value) for lazy, value in feeds.items()}

    def value(self, nested: Any) -> Any:
        """Return nested values with all lazy values computed."""
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
    Operators, attributes, calls and indexing return further lazy values.
    """

    is_tensor = True  # for isinstance
    used = False  # whether any exists: until then, searches for them are skipped
    _unknown: Exception | None = None  # why the structure of an element is unknown

    def __init__(self, compute: Callable[[Run], Any]) -> None:
        if not Lazy.used:  # writing to a class clears its attribute caches
            Lazy.used = True
        self._compute = compute
        self._static: TensorSpec | None = None  # what is known about the value in advance
        self._spec: Any = None  # what was inferred

    def fed(self, value: Any) -> Any:
        """Return a value fed for this one, as a tensor."""
        return tensor(value)

    def eval(self, feed_dict: Any = None, session: Any = None) -> Any:
        """Return the value: ``Session().run(self)``."""
        return numpy_values_of(Run(dict(feed_dict or {})).value(self))

    def known(self) -> Any:
        """Return the nested spec of the value or, for a dataset, of its elements.

        It is inferred from zeros in place of unknown values. Unknown sizes are tried with two
        sizes.
        """
        if self._static is not None:
            return self._static
        if self._spec is None:
            try:
                self._spec = self._found(0)
            except ValueError:  # a value of unknown rank must have a certain rank
                self._spec = self._found(1)
        return self._spec

    def _found(self, rank: int) -> Any:
        return _both(*(_spec_of(Likeness(size, rank).value(self)) for size in (1, 2)))

    def _attribute(self, name: str, part: Callable[[Any], Any]) -> Any:
        try:
            return nested_map(part, self.known())
        except Exception:  # the actual value is needed
            return Lazy(lambda run: getattr(run.value(self), name))

    @property
    def shape(self) -> Any:
        """The shape of the value, where known."""
        return self._attribute("shape", lambda spec: spec.shape)

    @property
    def dtype(self) -> Any:
        """The type of the value."""
        return self._attribute("dtype", lambda spec: spec.dtype)

    @property
    def output_shapes(self) -> Any:
        """The shapes of the elements, if the value is a dataset."""
        return self._attribute("output_shapes", lambda spec: spec.shape)

    @property
    def output_types(self) -> Any:
        """The types of the elements, if the value is a dataset."""
        return self._attribute("output_types", lambda spec: spec.dtype)

    @property
    def output_classes(self) -> Any:
        """The classes of the elements, if the value is a dataset."""
        return self._attribute("output_classes", class_of)

    @property
    def element_spec(self) -> Any:
        """Types and shapes of the elements, if the value is a dataset."""
        return self._attribute("element_spec", lambda spec: spec)

    @property
    def name(self) -> str:
        """A generated name: lazy values have no names."""
        return "Tensor:0"

    def get_shape(self) -> Any:
        """Return `shape`."""
        return self.shape

    def set_shape(self, shape: Any) -> None:
        """Set the shape; a session does not check it."""
        try:
            known = self.known()
        except Exception:  # the type is unknown, too
            return
        self._static = TensorSpec(known.shape.merge_with(shape), known.dtype)

    def make_one_shot_iterator(self) -> Any:
        """Return an iterator over the dataset, without an initializer."""
        return GraphIterator(self)

    def make_initializable_iterator(self, shared_name: str | None = None) -> Any:
        """Return an iterator over the dataset that its initializer starts."""
        return GraphIterator(self, starts=False)

    def __getattr__(self, name: str) -> Any:
        if name.startswith("_"):
            raise AttributeError(name)
        return Lazy(lambda run: getattr(run.value(self), name))

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        """Call the value once it is computed."""
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
    """Return the number of targets of the unpacking assignment that a frame executes, or None."""
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
    """A value that is passed to `Session.run`.

    Parameters
    ----------
    dtype : dtype-like
        The type of the value.
    shape : sequence of int or None, optional
        The shape of the value.
    default : array_like, optional
        The value to use if none is fed.
    name : str, optional
        The name of the placeholder.
    """

    def __init__(
        self, dtype: Any, shape: Any = None, default: Any = None, name: str | None = None
    ) -> None:
        super().__init__(self._missing if default is None else lambda run: tensor(default))
        self._static = TensorSpec(shape, dtype)
        self._name = f"{name or 'Placeholder'}:0"

    @property
    def name(self) -> str:
        """The name of the placeholder."""
        return self._name

    def fed(self, value: Any) -> Any:
        """Return the fed value, as a tensor of the placeholder's type.

        Raises
        ------
        ValueError
            If the value has another shape.
        """
        made: Any = value if isinstance(value, Composite) else tensor(value, self.dtype)
        if not self.shape.is_compatible_with(made.shape):
            raise ValueError(
                f"Cannot feed value of shape {made.shape} for Tensor {self.name}, which has shape "
                f"{self.shape}"
            )
        return made

    def _missing(self, run: Run) -> Any:
        raise InvalidArgumentError(
            None,
            None,
            f"You must feed a value for placeholder tensor '{self.name}': give it in feed_dict",
        )


class Likeness(Run):
    """A run that replaces unknown values with zeros or ones, to infer types and shapes.

    Parameters
    ----------
    size : int
        Size of axes of unknown size.
    rank : int
        Number of axes of values of unknown rank.
    """

    def __init__(self, size: int, rank: int) -> None:
        super().__init__({})
        self._size = size
        self._rank = rank

    def value(self, nested: Any) -> Any:
        """Return nested values, with zeros for values with a known spec."""
        if isinstance(nested, Lazy) and nested._static is not None:
            return nested_map(self._of_spec, nested._static)
        return super().value(nested)

    def _of_spec(self, spec: Any) -> Any:
        shape = spec.shape if spec.shape.rank is not None else [None] * self._rank
        sizes = [self._size if size is None else size for size in shape]
        if spec.dtype.name == "string":
            return tensor(np.full(sizes, b"", object))
        filled = np.zeros(sizes, spec.dtype.dtype)
        if not filled.ndim and filled.dtype.kind in "iu":
            filled += 1  # the size of a batch
        return tensor(filled)


def _spec_of(value: Any) -> Any:
    """Return the spec of nested values, or of the elements of a dataset."""
    if hasattr(value, "element_spec"):
        return value.element_spec
    return nested_map(type_spec_from_value, value)


def _both(one: Any, other: Any) -> Any:
    """Return the most specific spec that covers two nested specs."""
    if is_nested(one):
        parts = dict(parts_of(other))
        return map_parts(lambda key, part: _both(part, parts[key]), one)
    if not isinstance(one, TensorSpec):
        return one
    return TensorSpec(TensorShape(one.shape).most_specific_compatible_shape(other.shape), one.dtype)


def class_of(spec: Any) -> Any:
    """Return the class of the values that a spec describes."""
    return getattr(spec, "value_type", Tensor)


def contains_lazy(nested: Any) -> bool:
    """Return whether nested values contain a lazy value."""
    if isinstance(nested, (list, tuple)):
        return any(map(contains_lazy, nested))
    if isinstance(nested, dict):
        return any(map(contains_lazy, nested.values()))
    return isinstance(nested, Lazy)


def deferred(function: Callable[..., Any]) -> Any:
    """Return a function that returns a lazy value if any argument is lazy."""

    @functools.wraps(function)
    def call(*args: Any, **kwargs: Any) -> Any:
        if Lazy.used and contains_lazy((args, kwargs)):
            return Lazy(lambda run: run.value(function(*run.value(args), **run.value(kwargs))))
        return function(*args, **kwargs)

    return call


def numpy_values_of(nested: Any) -> Any:
    """Return nested values, including lists, in NumPy's form."""
    if isinstance(nested, list):
        return [numpy_values_of(part) for part in nested]
    return nested_map(_fetched, nested)


def _fetched(value: Any) -> Any:
    if isinstance(value, SparseTensor):
        return SparseTensorValue(*map(numpy_values, value.components()))
    # The arrays of a ragged tensor are already NumPy arrays.
    return value if isinstance(value, RaggedTensor) else numpy_values(value)


class GraphIterator:
    """An iterator that can be restarted; `get_next` returns lazy values for a session.

    Parameters
    ----------
    dataset : Dataset, or a value that stands for one
        The dataset to iterate; None if `make_initializer` will set it.
    starts : bool
        Whether the first run starts without `initializer`.
    structure : nested TensorSpec, optional
        The structure of elements; inferred if not given.
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
        """Create an iterator whose dataset is set by `make_initializer`."""
        return GraphIterator(None, False, _structure(output_types, output_shapes))

    @property
    def initializer(self) -> Any:
        """The operation that a session runs to start a new pass."""
        return self._start(self._dataset)

    def make_initializer(self, dataset: Any, name: str | None = None) -> Any:
        """Return the operation that a session runs to start a pass over `dataset`."""
        return self._start(dataset)

    def _start(self, dataset: Any) -> Lazy:
        def start(run: Run) -> None:
            self._inner = iter(run.value(dataset))

        return Lazy(start)

    @staticmethod
    def from_string_handle(
        string_handle: Any, output_types: Any, output_shapes: Any = None, *args: Any
    ) -> GraphIterator:
        """Create an iterator that delegates to the one whose `string_handle` is fed."""
        iterator = GraphIterator.from_structure(output_types, output_shapes)
        iterator._handle = string_handle
        return iterator

    def string_handle(self, name: str | None = None) -> Lazy:
        """Return a handle that identifies this iterator in a session."""
        handle = f"iterator-{id(self)}"
        _HANDLES[handle.encode()] = self
        return Lazy(lambda run: tensor(handle))

    def get_next(self, name: str | None = None) -> Any:
        """Return the next element, as lazy values.

        Each run of a session that computes a part of it takes one element.
        """
        element = Lazy(self._next)
        try:
            structure = self._spec()
        except Exception as error:  # unknown without data: a single value
            element._unknown = error
            return element
        return _leaves(structure, element)

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
            if isinstance(self._dataset, Lazy):
                self._structure = self._dataset.known()
            else:
                self._structure = self._dataset.element_spec
        return self._structure

    @property
    def output_types(self) -> Any:
        """The type of each leaf."""
        return nested_map(lambda spec: spec.dtype, self._spec())

    @property
    def output_shapes(self) -> Any:
        """The shape of each leaf."""
        return nested_map(lambda spec: spec.shape, self._spec())

    @property
    def output_classes(self) -> Any:
        """The class of each leaf."""
        return nested_map(class_of, self._spec())


def _structure(types: Any, shapes: Any) -> Any:
    """Return nested types and shapes as specs; without shapes, any shape matches."""
    if is_nested(types):
        parts = {} if shapes is None else dict(parts_of(shapes))
        return map_parts(lambda key, part: _structure(part, parts.get(key)), types)
    return TensorSpec(shapes, types)


def _leaves(structure: Any, element: Lazy) -> Any:
    """Return an element in its structure, with a lazy value at each leaf."""
    if is_nested(structure):
        return map_parts(lambda key, part: _leaves(part, element[key]), structure)
    if isinstance(structure, TensorSpec):
        element._static = structure
    return element
