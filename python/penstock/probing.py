"""What the elements of a dataset are, found out by computing one."""

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
    """Find out what a plan does not know of its elements; False if there are none."""
    while (unknown := dataset._node.first_unknown()) is not None:
        probe = object.__new__(type(dataset))
        probe._node = unknown
        probe._options = dataset._options
        # Not counted: a shuffle in front is as if it had not been looked through.
        with Iterator(probe, dataset._options._for_engine(counted=False)) as it:
            first = first_good(it) or _likeness(dataset, unknown)
        if not first:
            return False
        unknown.set_first(_core.Value(first[0], False), _known_shapes(dataset, unknown, first[0]))
    return True


def first_spec(dataset: Any) -> Any:
    """Return ``dataset.element_spec`` with the first element's sizes where others are not known.

    For those who need sizes: they must look whether each element has them.
    """
    dataset.element_spec  # noqa: B018 - finds out what the plan does not know
    return dataset._node.first_spec(TensorSpec)


def first_of(dataset: Any) -> Any:
    """Return the first element, or one like it: a stage that only reorders is skipped."""
    return next(first_ones(dataset))


def first_ones(dataset: Any) -> Elements[Any]:
    """Yield elements like those of a dataset: stages that only reorder are skipped."""
    while traits_of(dataset._kind).keeps_sizes and main_form(dataset._kind) != "enumerate":
        dataset = dataset._inputs[0]
    with dataset._uncounted() as it:
        yield from it


def first_good(it: Elements[Any]) -> tuple[Any, ...]:
    """Return the first element that does not fail, as a tuple of one; () when there is none.

    When many fail the first error is raised.
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
    """Return what a map without elements would give for zeros and texts "0", as a tuple.

    () where the stage is another one, its function fails, or its call could be noticed.
    """
    stage = _stage_of(dataset, node)
    if stage is None or main_form(stage._kind) != "map" or not unnoticed(stage._args["map_func"]):
        return ()
    element = stage._inputs[0]._node.spec(_zeros)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return (stage._args["map_func"](*(element if type(element) is tuple else (element,))),)
    except Exception:  # of values that may be far from those it is for
        return ()


def _zeros(shape: Sizes | None, dtype: Any) -> Any:
    sizes = tuple(size or 0 for size in shape or ())
    if dtype in (str, bytes):
        return np.full(sizes, "0" if dtype is str else b"0", object)[()]
    return np.zeros(sizes, dtype)[()]


def traceable(dataset: Any) -> Traced | None:
    """Return what a plain function does with symbols that the last stage of a dataset calls.

    None where there is no such function, it cannot be traced, or its call could be noticed. The
    elements that it takes must be known.
    """
    function = dataset._args.get("map_func", dataset._args.get("predicate"))
    if function is None or not unnoticed(function):
        return None
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return Traced(dataset._kind, function, [dataset._inputs[0]._node])
    except Exception:  # whatever it does with symbols that it does not do with values
        return None


def _known_shapes(dataset: Any, node: _core.Node, first: Any) -> Sequence[Sizes | None]:
    """Return what tracing tells of the shapes of all elements of a stage: leaf by leaf."""
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
    """Return whether the first element has a shape; what tracing cannot see may make another."""
    if shape is None or len(shape) != len(first):
        return False
    return all(size in (None, its) for size, its in zip(shape, first, strict=True))


def _stage_of(dataset: Any, node: _core.Node) -> Any:
    """Return the dataset upstream whose last stage a node is; None for a stage inside another."""
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
