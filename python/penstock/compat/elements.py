"""Methods of datasets whose elements hold ragged and sparse tensors.

In most stages such a tensor is one leaf like any other. Those that look into leaves, and files,
get something else first: rows, or arrays.
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
    """A ragged tensor as files hold it: its values, and the splits of each axis."""

    components: tuple[Any, ...]


class StoredSparse(NamedTuple):
    """A sparse tensor as files hold it: indices, values, shape."""

    components: tuple[Any, ...]


_STORED: dict[type[Composite], Any] = {RaggedTensor: StoredRagged, SparseTensor: StoredSparse}
_KINDS = {stored: kind for kind, stored in _STORED.items()}


def _stored(leaf: Any) -> Any:
    whole = joined(leaf)
    components = whole.value.components() if isinstance(whole.value, Composite) else (whole.value,)
    return _STORED[whole.kind](tuple(components))


def _restored(value: Any) -> Any:
    """Return an element with a leaf for each tensor that was stored."""
    kind = _KINDS.get(type(value))
    if kind is not None:
        return Variant(kind, kind.of_components(*value.components))
    return map_parts(lambda key, part: _restored(part), value) if is_nested(value) else value


def _of_composites(function: Callable[[Any], Any], element: Any) -> Any:
    def leaf(value: Any) -> Any:
        return function(value) if is_composite(value) else value

    return map_leaves(leaf, element)


def _mapped(dataset: Dataset, function: Callable[[Any], Any]) -> Dataset:
    # In a tuple of its own, an element that is a tuple is one argument all the same.
    return Dataset.zip((dataset,)).map(function)


def _changed(dataset: Dataset, function: Callable[[Any], Any]) -> Dataset:
    """Return a dataset in which a function has been applied to ragged and sparse tensors."""
    if holds_composites(dataset) is False:
        return dataset
    return _mapped(dataset, functools.partial(_of_composites, function))


def holds_composites(dataset: Dataset) -> bool | None:
    """Return whether there are leaves that no array is of; None where one must look first."""
    if dataset._node.first_unknown() is not None:
        return None
    return may_hold_composites(dataset.element_spec)


def _computed_holds_composites(dataset: Dataset) -> bool:
    """Return whether there are such leaves, by the first element if need be."""
    try:
        return may_hold_composites(dataset.element_spec)
    except Exception:  # the stage itself tells what is wrong, when it runs
        return False


def _as(name: str) -> Callable[[Callable[..., Any]], Callable[..., Any]]:
    """Have a function take the arguments of a method."""

    def decorated(function: Callable[..., Any]) -> Callable[..., Any]:
        method = getattr(Dataset, name)

        @functools.wraps(method)
        def call(*args: Any, **kwargs: Any) -> Any:
            return function(method, *args, **kwargs)

        return call

    return decorated


@_as("from_tensor_slices")
def from_tensor_slices(make: Any, tensors: Any, *args: Any, **kwargs: Any) -> Dataset:
    """Make a dataset of the rows of arrays, ragged and sparse tensors."""

    def rows(leaf: Any) -> Any:
        return rows_of(leaf) if type(leaf) is Variant else leaf

    return make(map_leaves(rows, tensors), *args, **kwargs)  # type: ignore[no-any-return]


@_as("list_files")
def list_files(
    make: Any, file_pattern: Any, shuffle: Any = None, *args: Any, **kwargs: Any
) -> Dataset:
    """List the files that match patterns: sorted all together, unless they are shuffled."""
    if isinstance(file_pattern, list) and shuffle is not None and not shuffle:
        names = sorted(name for each in file_pattern for name in make(each, False))
        file_pattern = list(map(glob.escape, names)) or file_pattern
    return make(file_pattern, shuffle, *args, **kwargs)  # type: ignore[no-any-return]


@_as("from_tensors")
def from_tensors(make: Any, tensors: Any, *args: Any, **kwargs: Any) -> Dataset:
    """Make a dataset of one element."""

    def known(leaf: Any) -> Any:
        return Variant(leaf.kind, leaf.value, leaf.value.shape) if type(leaf) is Variant else leaf

    return make(map_leaves(known, tensors), *args, **kwargs)  # type: ignore[no-any-return]


@_as("load")
def load(make: Any, *args: Any, **kwargs: Any) -> Dataset:
    """Make a dataset of what `save` has written."""
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
    """Join consecutive elements of different sizes, filled up."""
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
    """Keep the elements: in memory, or in a file."""
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
