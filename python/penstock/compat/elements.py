"""Dataset methods for elements that contain ragged and sparse tensors.

In most stages, such a tensor is an ordinary leaf. For stages that inspect leaves, and for files, it
is first converted to rows or arrays.
"""

from __future__ import annotations

import functools
import glob
from collections.abc import Callable
from typing import Any, NamedTuple

from penstock.compat.composite import (
    Composite,
    Variant,
    apart,
    is_composite,
    joined,
    may_hold_composites,
    rows_of,
)
from penstock.compat.ragged import RaggedTensor
from penstock.compat.sparse import SparseTensor
from penstock.dataset import Dataset
from penstock.structure import is_nested, map_leaves, map_parts


class StoredRagged(NamedTuple):
    """A ragged tensor as stored in files: its values, and the splits of each axis."""

    components: tuple[Any, ...]


class StoredSparse(NamedTuple):
    """A sparse tensor as stored in files: indices, values, shape."""

    components: tuple[Any, ...]


_STORED: dict[type[Composite], Any] = {RaggedTensor: StoredRagged, SparseTensor: StoredSparse}
_KINDS = {stored: kind for kind, stored in _STORED.items()}


def _stored(leaf: Any) -> Any:
    whole = joined(leaf)
    components = whole.value.components() if isinstance(whole.value, Composite) else (whole.value,)
    return _STORED[whole.kind](tuple(components))


def _restored(value: Any) -> Any:
    """Return an element with leaves in place of stored tensors."""
    kind = _KINDS.get(type(value))
    if kind is not None:
        return Variant(kind, kind.of_components(*value.components))
    return map_parts(lambda key, part: _restored(part), value) if is_nested(value) else value


def _of_composites(function: Callable[[Any], Any], element: Any) -> Any:
    def leaf(value: Any) -> Any:
        return function(value) if is_composite(value) else value

    return map_leaves(leaf, element)


def _mapped(dataset: Dataset, function: Callable[[Any], Any]) -> Dataset:
    # Wrapped in another tuple, an element that is a tuple is passed as one argument.
    return Dataset.zip((dataset,)).map(function)


def _changed(dataset: Dataset, function: Callable[[Any], Any]) -> Dataset:
    """Return a dataset with a function applied to ragged and sparse tensors."""
    if holds_composites(dataset) is False:
        return dataset
    return _mapped(dataset, functools.partial(_of_composites, function))


def holds_composites(dataset: Dataset) -> bool | None:
    """Return whether some leaves are composite; None if an element must be computed to know."""
    if dataset._node.first_unknown() is not None:
        return None
    return may_hold_composites(dataset.element_spec)


def _computed_holds_composites(dataset: Dataset) -> bool:
    """Return whether some leaves are composite, computing the first element if necessary."""
    try:
        return may_hold_composites(dataset.element_spec)
    except Exception:  # the stage itself will raise the error when it runs
        return False


def _as(name: str) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """Give a function the signature of a method."""

    def decorated(function: Callable[..., Any]) -> Callable[..., Any]:
        method = getattr(Dataset, name)

        @functools.wraps(method)
        def call(*args: Any, **kwargs: Any) -> Any:
            return function(method, *args, **kwargs)

        return call

    return decorated


@_as("from_tensor_slices")
def from_tensor_slices(make: Any, tensors: Any, *args: Any, **kwargs: Any) -> Dataset:
    """Create a dataset of the rows of arrays, ragged tensors and sparse tensors."""

    def rows(leaf: Any) -> Any:
        return rows_of(leaf) if type(leaf) is Variant else leaf

    return make(map_leaves(rows, tensors), *args, **kwargs)  # type: ignore[no-any-return]


@_as("list_files")
def list_files(
    make: Any, file_pattern: Any, shuffle: Any = None, *args: Any, **kwargs: Any
) -> Dataset:
    """List the files that match patterns, sorted as a whole unless they are shuffled."""
    if isinstance(file_pattern, list) and shuffle is not None and not shuffle:
        names = sorted(name for each in file_pattern for name in make(each, False))
        file_pattern = list(map(glob.escape, names)) or file_pattern
    return make(file_pattern, shuffle, *args, **kwargs)  # type: ignore[no-any-return]


@_as("from_tensors")
def from_tensors(make: Any, tensors: Any, *args: Any, **kwargs: Any) -> Dataset:
    """Create a dataset with one element."""

    def known(leaf: Any) -> Any:
        return Variant(leaf.kind, leaf.value, leaf.value.shape) if type(leaf) is Variant else leaf

    return make(map_leaves(known, tensors), *args, **kwargs)  # type: ignore[no-any-return]


@_as("load")
def load(make: Any, *args: Any, **kwargs: Any) -> Dataset:
    """Create a dataset from the files written by `save`."""
    dataset = make(*args, **kwargs)
    found: list[Any] = []

    def look(spec: Any) -> None:
        if type(spec) in _KINDS:
            found.append(spec)
        elif is_nested(spec):
            map_parts(lambda key, part: look(part), spec)

    look(dataset.element_spec)
    return _mapped(dataset, _restored) if found else dataset


@_as("padded_batch")
def padded_batch(method: Any, dataset: Dataset, *args: Any, **kwargs: Any) -> Dataset:
    """Combine consecutive elements of different sizes to padded batches."""
    if holds_composites(dataset):
        raise TypeError(
            "`padded_batch` is only supported for datasets that produce tensor elements, and here "
            "are ragged or sparse ones; use `batch`, or make them tensors in a map first"
        )
    return method(dataset, *args, **kwargs)  # type: ignore[no-any-return]


def _of_rows(name: str) -> Callable[..., Any]:
    @_as(name)
    def call(method: Any, dataset: Dataset, *args: Any, **kwargs: Any) -> Dataset:
        return method(_changed(dataset, apart), *args, **kwargs)  # type: ignore[no-any-return]

    return call


unbatch = _of_rows("unbatch")
rebatch = _of_rows("rebatch")


@_as("cache")
def cache(method: Any, dataset: Dataset, filename: Any = "", *args: Any, **kwargs: Any) -> Dataset:
    """Cache the elements in memory or in a file."""
    if filename in ("", b"", None):
        return method(dataset, filename, *args, **kwargs)  # type: ignore[no-any-return]
    return _kept(method, dataset, filename, *args, **kwargs)


def _kept(method: Any, dataset: Dataset, *args: Any, **kwargs: Any) -> Dataset:
    if not _computed_holds_composites(dataset):
        return method(dataset, *args, **kwargs)  # type: ignore[no-any-return]
    return _mapped(method(_changed(dataset, _stored), *args, **kwargs), _restored)


snapshot = _as("snapshot")(_kept)


@_as("save")
def save(method: Any, dataset: Dataset, *args: Any, **kwargs: Any) -> Any:
    """Write the elements to files."""
    if _computed_holds_composites(dataset):
        dataset = _changed(dataset, _stored)
    return method(dataset, *args, **kwargs)
