"""Types and shapes of elements that are found by computing one of them."""

from __future__ import annotations

import warnings
from collections.abc import Iterator as Elements
from collections.abc import Sequence
from typing import Any

import numpy as np

from penstock import _core
from penstock.iterator import Iterator
from penstock.on_error import MAX_ERRORS
from penstock.ops.known_shapes import Sizes
from penstock.ops.native import NativeFunction
from penstock.ops.noticed import unnoticed
from penstock.ops.tracing import Traced
from penstock.structure import TensorSpec
from penstock.traits import main_form, traits_of


def find_spec(dataset: Any) -> bool:
    """Find the unknown types of a plan's elements; return False if there are no elements."""
    while (unknown := dataset._node.first_unknown()) is not None:
        probe = object.__new__(type(dataset))
        probe._node = unknown
        probe._options = dataset._options
        # Not counted, so that later runs, for example of a shuffle, are not affected.
        with Iterator(probe, dataset._options._for_engine(counted=False)) as it:
            first = first_good(it) or _likeness(dataset, unknown)
        if not first:
            return False
        unknown.set_first(_core.Value(first[0], False), _known_shapes(dataset, unknown, first[0]))
    return True


def first_spec(dataset: Any) -> Any:
    """Return ``dataset.element_spec`` with unknown sizes replaced by those of the first element.

    Callers must check that each element has these sizes.
    """
    dataset.element_spec  # noqa: B018 - computes unknown types
    return dataset._node.first_spec(TensorSpec)


def first_of(dataset: Any) -> Any:
    """Return the first element, or a similar one: stages that only reorder are skipped."""
    return next(first_ones(dataset))


def first_ones(dataset: Any) -> Elements[Any]:
    """Yield elements similar to a dataset's: stages that only reorder are skipped."""
    while traits_of(dataset._kind).keeps_sizes and main_form(dataset._kind) != "enumerate":
        dataset = dataset._inputs[0]
    with dataset._uncounted() as it:
        yield from it


def first_good(it: Elements[Any]) -> tuple[Any, ...]:
    """Return the first element that does not fail, as a tuple of one, or () if there is none.

    If too many fail, the first error is raised.
    """
    errors: list[Exception] = []
    while len(errors) < MAX_ERRORS:
        try:
            return (next(it),)
        except StopIteration:
            break
        except Exception as error:
            errors.append(error)
    if errors:
        raise errors[0]
    return ()


def _likeness(dataset: Any, node: _core.Node) -> tuple[Any, ...]:
    """Return the result of a map without elements for zeros and texts "0", as a tuple of one.

    () for other stages, if the function fails, or if the call could be noticed.
    """
    stage = _stage_of(dataset, node)
    if stage is None or main_form(stage._kind) != "map" or not unnoticed(stage._args["map_func"]):
        return ()
    element = stage._inputs[0]._node.spec(_zeros)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return (stage._args["map_func"](*(element if type(element) is tuple else (element,))),)
    except Exception:  # the function may not support such values
        return ()


def _zeros(shape: Sizes | None, dtype: Any) -> Any:
    sizes = tuple(size or 0 for size in shape or ())
    if dtype in (str, bytes):
        return np.full(sizes, "0" if dtype is str else b"0", object)[()]
    return np.zeros(sizes, dtype)[()]


def traceable(dataset: Any) -> Traced | None:
    """Trace the plain function of a dataset's last stage.

    None if there is no such function, it cannot be traced, or the call could be noticed. The types
    of its input must be known.
    """
    function = dataset._args.get("map_func", dataset._args.get("predicate"))
    if function is None or not unnoticed(function):
        return None
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return Traced(dataset._kind, function, [dataset._inputs[0]._node])
    except Exception:  # code may raise anything for symbols
        return None


def _known_shapes(dataset: Any, node: _core.Node, first: Any) -> Sequence[Sizes | None]:
    """Return the shapes that tracing finds for all elements of a stage, for each leaf."""
    stage = _stage_of(dataset, node)
    if stage is None or main_form(stage._kind) != "map":
        return []
    if isinstance(stage._args["map_func"], NativeFunction):
        traced = next(iter(set(stage._traced) - set(stage._inputs[0]._traced)), None)
    else:
        traced = traceable(stage)
    if traced is None:
        return []
    leaves: list[Sizes | None] = []
    stage._inputs[0]._node.spec(lambda shape, dtype: leaves.append(shape))
    recording = traced.first
    shapes = recording.known_shapes(leaves)
    if not _core.same_nesting(recording.result, first):
        return []
    parts = zip(shapes, _core.flatten(first), strict=True)
    return [shape if _fits(shape, getattr(leaf, "shape", ())) else None for shape, leaf in parts]


def _fits(shape: Sizes | None, first: tuple[int, ...]) -> bool:
    """Return whether the first element has a shape; effects invisible to tracing may change it."""
    if shape is None or len(shape) != len(first):
        return False
    return all(size in (None, its) for size, its in zip(shape, first, strict=True))


def _stage_of(dataset: Any, node: _core.Node) -> Any:
    """Return the dataset upstream with a node as its last stage, or None if it is nested."""
    waiting, seen = [dataset], set()
    while waiting:
        stage = waiting.pop()
        if id(stage) in seen:
            continue
        seen.add(id(stage))
        if stage._node.is_of(node):
            return stage
        waiting += stage._inputs
    return None
