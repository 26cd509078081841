"""A pipeline as rules look at it: stages with those before and after them."""

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

_SAMPLE = 16  # elements whose sizes are compared
_SAMPLE_SECONDS = 1.0  # after this time no more of them are computed
_FUNCTIONS = ("map_func", "predicate", "scan_func", "reduce_func", "key_func")
# Sources over which a shuffle holds positions.
_OF_POSITIONS = frozenset(
    ("from_tensor_slices", "from_list", "range", "numpy_rows", "permutation", "indexed_records")
)
_BATCHES = frozenset(("batch", "padded_batch", "ragged_batch", "bucket_by_sequence_length"))
# Their elements are not those of their input one by one.
_REGROUPS = _BATCHES | {"group_by_window", "pack", "rebatch", "unbatch", "window"}


class StageView:
    """A stage of a pipeline.

    Parameters
    ----------
    stage : Dataset
        The dataset whose last stage it is.
    consumer : StageView, optional
        The stage that takes its elements; None for the last one.
    probes : bool
        Whether an element may be computed to find out what elements are.
    collector : str
        The call of the program that takes all elements of the last stage at once, if there is one.

    Attributes
    ----------
    kind : str
        Of the stage; that of the sequential form where there are several.
    args : dict
        What it was made with.
    parallel : bool
        Whether it has calls in progress at the same time.
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
        """Those before it."""
        return [StageView(each, self, self._probes) for each in self._stage._inputs]

    @property
    def dataset(self) -> Any:
        """The dataset whose last stage it is."""
        return self._stage

    @property
    def count(self) -> float:
        """How many elements it gives: infinity, or NaN where that is unknown."""
        known = self._stage._node.cardinality
        return math.inf if known == -1 else math.nan if known < 0 else float(known)

    @property
    def batches(self) -> bool:
        """Whether its elements are batches of those that it takes."""
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
        """Whether it opens the files whose names it takes."""
        function = self.function
        opens = function is not None and function.opens_datasets
        return isinstance(self.args.get("map_func"), Reader) or opens

    @property
    def works(self) -> bool:
        """Whether it reads files or calls a function: all others take next to no time."""
        reads = bool(traits_of(self.kind).reads) or self.opens_files
        return reads or (self.function is not None and "part_of" not in self.args)

    @property
    def in_processes(self) -> bool:
        """Whether worker processes call its function, or may come to do so."""
        values = self.args.values()
        own = [each.executor for each in values if isinstance(each, ExecutedFunction)]
        executor = next(filter(None, own), None) or self._options.executor
        return executor in ("process", "auto")

    @property
    def memory_limit(self) -> float:
        """The bytes that the stages of a run may hold."""
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
        """Whether a shuffle holds elements, and not the positions of a source's rows."""
        return self.inputs[0].kind not in _OF_POSITIONS

    @functools.cached_property
    def function(self) -> FunctionView | None:
        """The function that it calls, native or not; None: it calls none."""
        for name in _FUNCTIONS:
            function = self.args.get(name)
            if callable(function) and not isinstance(function, Reader):
                return FunctionView(function)
        return None

    @property
    def python_function(self) -> FunctionView | None:
        """The function that it calls, if it calls one that is no native one."""
        native = any(isinstance(self.args.get(name), NativeFunction) for name in _FUNCTIONS)
        return None if native else self.function

    @property
    def rows_function(self) -> FunctionView | None:
        """The method that fetches a row of the object of a `from_indexable`."""
        rows = getattr(self.args.get("obj"), "rows", None)
        method = getattr(rows, "__getitem__", None)
        return FunctionView(method) if callable(method) else None

    @functools.cached_property
    def element_bytes(self) -> float:
        """The bytes of its elements, those of the first one where they differ; NaN: unknown."""
        leaves = self._leaves
        if leaves and not any(_is_open(*leaf) for leaf in leaves):
            return float(sum(_size(*leaf) for leaf in leaves))
        if not (leaves and self._probes):
            return math.nan
        try:
            first = first_of(self._stage)
        except Exception:  # of a function of the user's, or there is none
            return math.nan
        return float(sum(getattr(leaf, "nbytes", None) or _length(leaf) for leaf in flatten(first)))

    @property
    def has_open_sizes(self) -> bool:
        """Whether its elements are arrays whose sizes, or number of axes, are not known."""
        return any(shape is None or None in shape for shape, _ in self._leaves)

    @functools.cached_property
    def different_shapes(self) -> tuple[Any, Any] | None:
        """Two different shapes of one leaf among the first elements, or None if all are equal."""
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
        except Exception:  # of a user's function: the run will raise it
            return None
        return None

    @property
    def sized_by(self) -> StageView:
        """The stage that determines the sizes of its elements: itself, or one before it."""
        node = self
        while traits_of(node.kind).keeps_sizes and node.kind != "enumerate":
            node = node.inputs[0]
        return node

    @functools.cached_property
    def _leaves(self) -> list[tuple[tuple[int | None, ...] | None, Any]]:
        """The shapes and types of its elements; none where they are not known."""
        node = self._stage._node
        leaves: list[tuple[tuple[int | None, ...] | None, Any]] = []
        if node.first_unknown() is None or (self._probes and self._is_found()):
            node.spec(lambda shape, dtype: leaves.append((shape, dtype)))
        return leaves

    def _is_found(self) -> bool:
        try:
            return find_spec(self._stage)
        except Exception:  # of a user's function: the run will raise it
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
        """Yield the stages before it whose elements are its elements one by one, nearest first."""
        for node in self.before:
            if node.kind in _REGROUPS:
                return
            yield node


def stages_of(last: StageView) -> Iterator[StageView]:
    """Yield all stages of a pipeline, from the last one on."""
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
    """Return the bytes of memory that a process can have, infinity where that is unknown."""
    return float(_core.memory_info()["available"] or math.inf)
