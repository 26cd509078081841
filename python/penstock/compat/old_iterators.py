"""TensorFlow 1's dataset methods: iterators and types for a session."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from penstock.compat.graph import GraphIterator, class_of
from penstock.compat.values import nested_map


class OldIterators:
    """Mixin with the dataset methods of TensorFlow 1."""

    __slots__ = ()

    if TYPE_CHECKING:
        element_spec: Any

    def make_one_shot_iterator(self) -> GraphIterator:
        """Return an iterator for one pass, whose elements a session computes."""
        return GraphIterator(self)

    def make_initializable_iterator(self, shared_name: str | None = None) -> GraphIterator:
        """Return an iterator whose passes start when a session runs its `initializer`."""
        return GraphIterator(self, starts=False)

    @property
    def output_types(self) -> Any:
        """The type of each leaf; for a window, its spec."""
        return nested_map(lambda spec: getattr(spec, "dtype", spec), self.element_spec)

    @property
    def output_shapes(self) -> Any:
        """The shape of each leaf; for a window, its spec."""
        return nested_map(lambda spec: getattr(spec, "shape", spec), self.element_spec)

    @property
    def output_classes(self) -> Any:
        """The class of each leaf."""
        return nested_map(class_of, self.element_spec)
