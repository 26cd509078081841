"""TensorFlow 1's iterators: values for a session."""

from __future__ import annotations

import weakref
from typing import TYPE_CHECKING, Any

from penstock.compat.errors import FailedPreconditionError
from penstock.compat.graph import Lazy, Likeness, Run
from penstock.compat.shape import TensorSpec
from penstock.compat.tensor import tensor
from penstock.compat.values import nested_map

_HANDLES: weakref.WeakValueDictionary[bytes, GraphIterator] = weakref.WeakValueDictionary()


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
        except Exception:  # without its data the dataset cannot tell: the element is one value
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


class OldIterators:
    """Mixin: what datasets of TensorFlow 1 could do."""

    __slots__ = ()

    if TYPE_CHECKING:
        element_spec: Any

    def make_one_shot_iterator(self) -> GraphIterator:
        """Return an iterator for one pass, whose elements a session computes."""
        return GraphIterator(self)

    def make_initializable_iterator(self, shared_name: str | None = None) -> GraphIterator:
        """Return an iterator whose passes begin with its `initializer`, run by a session."""
        return GraphIterator(self, starts=False)

    @property
    def output_types(self) -> Any:
        """The type of each leaf."""
        return nested_map(lambda spec: spec.dtype, self.element_spec)

    @property
    def output_shapes(self) -> Any:
        """The shape of each leaf."""
        return nested_map(lambda spec: spec.shape, self.element_spec)
