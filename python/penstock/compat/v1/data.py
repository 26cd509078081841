"""tf.data as in TensorFlow 1."""

from __future__ import annotations

from typing import Any

from penstock.compat.graph import GraphIterator as Iterator
from penstock.compat.listing import listing
from penstock.compat.tf import data as _data

for _name in _data.__all__:
    globals().setdefault(_name, getattr(_data, _name))
globals()["Iterator"] = Iterator


def make_one_shot_iterator(dataset: Any) -> Iterator:
    """Return an iterator for one pass, whose elements a session computes."""
    return dataset.make_one_shot_iterator()  # type: ignore[no-any-return]


def make_initializable_iterator(dataset: Any, shared_name: str | None = None) -> Iterator:
    """Return an iterator whose passes start when a session runs its `initializer`."""
    return dataset.make_initializable_iterator()  # type: ignore[no-any-return]


def get_output_types(dataset_or_iterator: Any) -> Any:
    """Return the type of each leaf."""
    return dataset_or_iterator.output_types


def get_output_shapes(dataset_or_iterator: Any) -> Any:
    """Return the shape of each leaf."""
    return dataset_or_iterator.output_shapes


__all__ = [
    *_data.__all__,
    "Iterator",
    "get_output_shapes",
    "get_output_types",
    "make_initializable_iterator",
    "make_one_shot_iterator",
]

__dir__ = listing(globals())
