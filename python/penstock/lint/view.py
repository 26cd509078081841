"""A pipeline as seen by rules: stages with their inputs and consumers."""

from __future__ import annotations

import functools
import itertools
import math
import time
from collections.abc import Iterator
from typing import Any

from penstock import _core
from penstock._core import flatten
from penstock.encode import Reader
from penstock.executors import ExecutedFunction
from penstock.lint.function import FunctionView
from penstock.ops.native import NativeFunction
from penstock.probing import find_spec, first_of, first_ones
from penstock.traits import main_form, traits_of

_SAMPLE = 16  # maximum number of elements whose sizes are compared
_SAMPLE_SECONDS = 1.0  # maximum time to compute them
_FUNCTIONS = ("map_func", "predicate", "scan_func", "reduce_func", "key_func")
# Sources whose positions, not elements, a shuffle holds.
_OF_POSITIONS = frozenset(
    ("from_tensor_slices", "from_list", "range", "numpy_rows", "permutation", "indexed_records")
)
_BATCHES = frozenset(("batch", "padded_batch", "ragged_batch", "bucket_by_sequence_length"))
# Stages whose elements do not correspond one-to-one to those of their input.
_REGROUPS = _BATCHES | {"group_by_window", "pack", "rebatch", "unbatch", "window"}


class StageView:
    """A stage of a pipeline.

    Parameters
    ----------
    stage : Dataset
        The dataset that ends with the stage.
    consumer : StageView, optional
        The stage that consumes its elements; None for the last one.
    probes : bool
        Whether elements may be computed to determine their types and sizes.
    collector : str
        The call in the program that collects all elements of the last stage, or "".

    Attributes
    ----------
    kind : str
        Kind of the stage; parallel variants have the kind of the sequential one.
    args : dict
        Arguments of the stage.
    parallel : bool
        Whether it can make concurrent calls.
    """

    def __init__(
        self, stage: Any, consumer: StageView | None, probes: bool, collector: str = ""
    ) -> None:
        self.collector = collector
        self._stage = stage
        self._probes = probes
        self.consumer = consumer
        self.kind: str = main_form(stage._kind)
        self.args: dict[str, Any] = stage._args
        calls = self.args.get("num_parallel_calls")
        self.parallel = calls is not None and calls != 1

    def __str__(self) -> str:
        return str(self._stage._node.label)

    @functools.cached_property
    def inputs(self) -> list[StageView]:
        """The stages before it."""
        return [StageView(each, self, self._probes) for each in self._stage._inputs]

    @property
    def dataset(self) -> Any:
        """The dataset that ends with this stage."""
        return self._stage

    @property
    def count(self) -> float:
        """Number of elements it yields: infinity if infinite, NaN if unknown."""
        known = self._stage._node.cardinality
        return math.inf if known == -1 else math.nan if known < 0 else float(known)

    @property
    def batches(self) -> bool:
        """Whether it combines the elements of its input into batches."""
        return self.kind in _BATCHES

    @property
    def may_end_with_a_smaller_batch(self) -> bool:
        """Whether its last batch may have fewer elements than the others."""
        if self.args.get("drop_remainder"):
            return False
        size, count = self.args.get("batch_size"), self.inputs[0].count
        return not isinstance(size, int) or math.isnan(count) or (count % size != 0)

    @property
    def opens_files(self) -> bool:
        """Whether it opens the files whose names it receives."""
        function = self.function
        opens = function is not None and function.opens_datasets
        return isinstance(self.args.get("map_func"), Reader) or opens

    @property
    def works(self) -> bool:
        """Whether it reads files or calls a function; other stages take almost no time."""
        reads = bool(traits_of(self.kind).reads) or self.opens_files
        return reads or (self.function is not None and "part_of" not in self.args)

    @property
    def in_processes(self) -> bool:
        """Whether worker processes call its function, or may do so later."""
        values = self.args.values()
        own = [each.executor for each in values if isinstance(each, ExecutedFunction)]
        executor = next(filter(None, own), None) or self._options.executor
        return executor in ("process", "auto")

    @property
    def memory_limit(self) -> float:
        """Maximum number of bytes that the stages of a run may hold."""
        return float(self._options.memory_limit or max(available_memory() / 4, 64 * 2**20))

    @property
    def _options(self) -> Any:
        """The options of a run of the pipeline."""
        last = self
        while last.consumer is not None:
            last = last.consumer
        return last._stage._options

    @property
    def holds_elements(self) -> bool:
        """Whether a shuffle holds elements, rather than the positions of a source's rows."""
        return self.inputs[0].kind not in _OF_POSITIONS

    @functools.cached_property
    def function(self) -> FunctionView | None:
        """The function that it calls, native or not; None if there is none."""
        for name in _FUNCTIONS:
            function = self.args.get(name)
            if callable(function) and not isinstance(function, Reader):
                return FunctionView(function)
        return None

    @property
    def python_function(self) -> FunctionView | None:
        """The function that it calls, unless it is native; None if there is none."""
        native = any(isinstance(self.args.get(name), NativeFunction) for name in _FUNCTIONS)
        return None if native else self.function

    @property
    def rows_function(self) -> FunctionView | None:
        """The method that fetches a row of the object of `from_indexable`."""
        rows = getattr(self.args.get("obj"), "rows", None)
        method = getattr(rows, "__getitem__", None)
        return FunctionView(method) if callable(method) else None

    @functools.cached_property
    def element_bytes(self) -> float:
        """Size of an element in bytes, or of the first one if sizes vary; NaN if unknown."""
        leaves = self._leaves
        if leaves and not any(_is_open(*leaf) for leaf in leaves):
            return float(sum(_size(*leaf) for leaf in leaves))
        if not (leaves and self._probes):
            return math.nan
        try:
            first = first_of(self._stage)
        except Exception:  # raised by a user's function, or there is no element
            return math.nan
        return float(sum(getattr(leaf, "nbytes", None) or _length(leaf) for leaf in flatten(first)))

    @property
    def has_open_sizes(self) -> bool:
        """Whether its elements are arrays of unknown sizes or ranks."""
        return any(shape is None or None in shape for shape, _ in self._leaves)

    @functools.cached_property
    def different_shapes(self) -> tuple[Any, Any] | None:
        """Two different shapes of the same leaf among the first elements, or None."""
        if not self._probes:
            return None
        first: list[Any] = []
        end = time.monotonic() + _SAMPLE_SECONDS
        try:
            for element in itertools.islice(first_ones(self._stage), _SAMPLE):
                shapes = [getattr(leaf, "shape", ()) for leaf in flatten(element)]
                for one, other in zip(first, shapes, strict=False):
                    if one != other:
                        return one, other
                first = first or shapes
                if time.monotonic() > end:
                    break
        except Exception:  # raised by a user's function: the run will raise it, too
            return None
        return None

    @property
    def sized_by(self) -> StageView:
        """The stage that determines the sizes of its elements: itself, or an earlier one."""
        node = self
        while traits_of(node.kind).keeps_sizes and node.kind != "enumerate":
            node = node.inputs[0]
        return node

    @functools.cached_property
    def _leaves(self) -> list[tuple[tuple[int | None, ...] | None, Any]]:
        """Shapes and types of its elements; empty if unknown."""
        node = self._stage._node
        leaves: list[tuple[tuple[int | None, ...] | None, Any]] = []
        if node.first_unknown() is None or (self._probes and self._is_found()):
            node.spec(lambda shape, dtype: leaves.append((shape, dtype)))
        return leaves

    def _is_found(self) -> bool:
        try:
            return find_spec(self._stage)
        except Exception:  # raised by a user's function: the run will raise it, too
            return False

    @property
    def before(self) -> Iterator[StageView]:
        """The stages before it, nearest first, along their first inputs."""
        node = self
        while node.inputs:
            node = node.inputs[0]
            yield node

    @property
    def after(self) -> Iterator[StageView]:
        """The stages after it, nearest first."""
        node = self.consumer
        while node is not None:
            yield node
            node = node.consumer

    def same_elements_before(self) -> Iterator[StageView]:
        """Yield the earlier stages with one element for each of its own, nearest first."""
        for node in self.before:
            if node.kind in _REGROUPS:
                return
            yield node


def stages_of(last: StageView) -> Iterator[StageView]:
    """Yield all stages of a pipeline, starting with the last one."""
    waiting = [last]
    while waiting:
        node = waiting.pop()
        yield node
        waiting += reversed(node.inputs)


def _is_open(shape: tuple[int | None, ...] | None, dtype: Any) -> bool:
    return shape is None or None in shape or dtype in (str, bytes, object)


def _size(shape: tuple[int | None, ...] | None, dtype: Any) -> int:
    return int(dtype.itemsize * math.prod(size or 0 for size in shape or ()))


def _length(leaf: Any) -> int:
    return len(leaf) if isinstance(leaf, (str, bytes)) else 0


def available_memory() -> float:
    """Return the memory available to a process in bytes; infinity if unknown."""
    return float(_core.memory_info()["available"] or math.inf)
