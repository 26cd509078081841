"""Suggested changes of a pipeline, with the speed that the model predicts for them."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Any, NamedTuple

from penstock.encode import Reader
from penstock.labels import function_name, is_internal
from penstock.profiling.bottleneck import MOST_OF_THEM, Bottleneck
from penstock.profiling.demand import StageProfile
from penstock.profiling.sections import Model, Section

_MOST_CALLS = 64
_MOST_COROUTINES = 1024
_ENOUGH = 0.97  # share of the best rate: fewer calls are better than the last few percent
_WORTH = 1.05  # a smaller gain is not worth a change
_INPUTS = ".*"  # suffix of the path of datasets that a stage opens
# Sources based on `from_indexable` that have an argument for parallel reads.
_PARALLEL_SOURCES = ("ArrayRecordDataset", "HDF5Dataset", "from_zarr")
GENERATOR_NAMES = "the generator only says what to load, and calls of load run at the same time"
_HAND_OVER = 20e-6  # overhead of a call in another process, in seconds


class Advice(NamedTuple):
    """A suggested change and its predicted gain.

    Attributes
    ----------
    stage : str
        Path of the stage to change; "" for the end of the pipeline.
    change : str
        The new call.
    rate : float
        Predicted elements per second of the training loop; NaN if not predicted.
    gain : float
        Predicted rate divided by the current one; NaN if not predicted.
    why : str
        The reason.
    """

    stage: str
    change: str
    rate: float
    gain: float
    why: str

    def __str__(self) -> str:
        return self.text("elements")

    def text(self, unit: str) -> str:
        """Return the suggestion as a line of text, with the unit of the rate."""
        if math.isnan(self.rate):
            return f"{self.change}: {self.why}"
        return f"{self.change}: {self.rate:,.4g} {unit}/s ({self.gain:.2f}x); {self.why}"


def advise(
    bottleneck: Bottleneck,
    stages: list[StageProfile],
    model: Model,
    arguments: dict[str, dict[str, Any]],
    jitter_free: float,
) -> list[Advice]:
    """Return the changes that would help, the best one first.

    Parameters
    ----------
    bottleneck : Bottleneck
        The bottleneck.
    stages : list of StageProfile
        All stages.
    model : Model
        The calibrated model of the current pipeline.
    arguments : dict
        The arguments of each stage, by path.
    jitter_free : float
        Elements per second with large enough buffers.
    """
    now = model.rate()
    found = [
        Advice(stage, change, rate, rate / now, why)
        for stage, change, rate, why in _changes(bottleneck, stages, model, arguments, jitter_free)
        if math.isfinite(rate) and now > 0 and rate > _WORTH * now
    ]
    return sorted(found, key=lambda each: -each.rate)


def _changes(
    bottleneck: Bottleneck,
    stages: list[StageProfile],
    model: Model,
    arguments: dict[str, dict[str, Any]],
    jitter_free: float,
) -> Iterator[tuple[str, str, float, str]]:
    by_path = {stage.path: stage for stage in stages}
    stage = by_path.get(bottleneck.stage)
    ended = stages[0].kind == "prefetch"
    if not ended and bottleneck.kind != "consumer":
        ahead = _ahead(model, stages)
        yield "", "prefetch(2)", ahead.rate(), "batches are made while the loop computes"
    if stage is None:
        return
    if bottleneck.kind == "buffer":
        size = max(4 * stage.buffer_limit, 8)
        call = f"prefetch({size})"
        yield "" if not ended else stages[0].path, call, jitter_free, "it is fast enough on average"
        return
    if bottleneck.kind == "memory":
        why = "the elements that it may hold now are too few for its threads"
        yield stage.path, "Options.memory_limit = twice as much", jitter_free, why
        return
    # With more workers, the program gets a larger share of CPUs that others also use.
    shared = bottleneck.kind == "cpu" and bottleneck.share < MOST_OF_THEM
    if bottleneck.kind in ("io", "serial", "gil") or (shared and stage.parallelism < 2):
        yield from _parallel(stage, stages, model, arguments)


def _ahead(model: Model, stages: list[StageProfile]) -> Model:
    """Return the model with the consumer's stages in a separate thread."""
    first, inner = model.sections[0], replace(model.sections[0], stage=stages[0].path)
    own = [stage for stage in stages if stage.section == 0]
    elements = model.elements
    cpu = min(sum(stage.cpu_seconds for stage in own) / elements, first.cpu)
    gil = min(sum(stage.gil_seconds for stage in own) / elements, first.gil, cpu)
    blocked = min(sum(stage.blocked_seconds for stage in own) / elements, first.blocked)
    inner = Section(stages[0].path, 1, cpu, gil, blocked, min(first.serial, cpu + blocked))
    outer = Section("", 1, first.cpu - cpu, first.gil - gil, first.blocked - blocked)
    changed = model.changed(0, outer)
    return replace(changed, sections=(*changed.sections, inner))


def with_calls(
    model: Model,
    stages: Sequence[StageProfile],
    stage: StageProfile,
    calls: int,
    processes: bool = False,
) -> Model:
    """Return the model with this number of concurrent calls of a stage.

    Parameters
    ----------
    model : Model
        The model to change.
    stages : sequence of StageProfile
        All stages of the pipeline.
    stage : StageProfile
        A stage that calls a function, or the inputs of a stage that opens datasets. In the latter
        case, that many inputs are read concurrently.
    calls : int
        Number of concurrent calls.
    processes : bool
        Whether worker processes make the calls.
    """
    index = model.of_stage[stage.path]
    section = model.sections[index]
    count = model.elements
    inner = stage.path + "." if stage.path.endswith(_INPUTS) else None
    moved = [each for each in stages if inner and each.path.startswith(inner)]
    moved = [stage] + [each for each in moved if model.of_stage[each.path] == index]
    cpu = sum(each.cpu_seconds for each in moved) / count
    blocked = sum(each.blocked_seconds for each in moved) / count
    gil = min(sum(each.gil_seconds for each in moved) / count, cpu)
    owner = stage.path.removesuffix(_INPUTS)
    if section.stage == owner and (inner or stage.kind.startswith("parallel_")):
        own = replace(section, servers=calls)  # it already makes its calls in separate threads
        if processes:
            more = _HAND_OVER * stage.elements / count
            own = replace(own, cpu=own.cpu + more, gil=max(own.gil - gil, 0.0))
        return model.changed(index, own)
    left = replace(
        section,
        cpu=max(section.cpu - cpu, 0.0),
        gil=max(section.gil - gil, 0.0),
        blocked=max(section.blocked - blocked, 0.0),
        serial=max(section.serial - cpu - blocked, 0.0) if section.serial else 0.0,
    )
    more = _HAND_OVER * stage.elements / count if processes else 0.0
    own = Section(owner, calls, cpu + more, 0.0 if processes else gil, blocked)
    changed = model.changed(index, left)
    return replace(changed, sections=(*changed.sections, own))


def _parallel(
    stage: StageProfile,
    stages: list[StageProfile],
    model: Model,
    arguments: dict[str, dict[str, Any]],
) -> Iterator[tuple[str, str, float, str]]:
    path = stage.path.removesuffix(_INPUTS)
    given = arguments.get(path, {})
    takes_turns = stage.gil_seconds >= stage.cpu_seconds / 2
    ways: list[bool] = []  # ways to make calls: True for worker processes
    if stage.in_processes:
        ways.append(True)
    else:
        # The GIL time is measured inside calls. Threads that compete for the GIL lose additional
        # time, so more threads hardly speed up functions that hold it.
        if not takes_turns or stage.blocked_seconds >= stage.cpu_seconds:
            ways.append(False)
        if takes_turns and not stage.ongoing_seconds:
            ways.append(True)
    best = 0.0
    for processes in ways:
        calls, rate = _enough_calls(model, stages, stage, processes)
        call = _call(stage, given, calls, processes)
        if call is not None and rate > best:
            best = rate
            yield path, call, rate, _why(stage, processes)


def _call(stage: StageProfile, given: dict[str, Any], calls: int, processes: bool) -> str | None:
    """Return the call with this parallelism; None if the stage has no such argument."""
    kind = stage.main_kind.removesuffix(" inputs")
    argument = "map_func" if "map_func" in given else "predicate"
    parallel = f"num_parallel_calls={calls}"
    named = f", name={stage.name!r}" if stage.name else ""
    if kind in ("map", "filter") and argument in given:
        executor = ', executor="process"' if processes else ""
        return f"{kind}({function_name(given[argument])}, {parallel}{executor}{named})"
    if kind in ("from_generator", "prefetch") and "generator" in given:
        generator = given["generator"]
        function = "generator" if is_internal(generator) else function_name(generator)
        executor = ', executor="process"' if processes else ""
        return f"from_generator({function}).map(load, {parallel}{executor})"
    source = given.get("part_of") or kind
    if source in _PARALLEL_SOURCES and not processes:
        return f"{source}(..., {parallel}{named})"
    if source == "from_indexable":
        if not processes:
            return f"from_indexable(obj, {parallel}{named})"
        rows = f'map(obj.__getitem__, {parallel}, executor="process"{named})'
        return f"Dataset.range(len(obj)).{rows} instead of from_indexable(obj)"
    if processes:
        return None
    if kind in ("interleave", "flat_map") and argument in given:
        function = given[argument]
        if isinstance(function, Reader):
            return f"num_parallel_reads={calls} where the files are read ({function!r})"
        width = max(calls, given.get("cycle_length") or 0)
        return f"interleave({function_name(function)}, cycle_length={width}, {parallel}{named})"
    return None


def _why(stage: StageProfile, processes: bool) -> str:
    if stage.kind in ("from_generator", "prefetch") and not processes:
        return GENERATOR_NAMES
    if stage.blocked_seconds > stage.cpu_seconds:
        what = "inputs are read" if stage.path.endswith(_INPUTS) else "calls wait"
        return f"its {what} at the same time"
    if processes and not stage.in_processes:
        return "each process has a GIL of its own"
    return "it may use more processors"


def _enough_calls(
    model: Model, stages: list[StageProfile], stage: StageProfile, processes: bool
) -> tuple[int, float]:
    """Return the sufficient number of concurrent calls, and the predicted rate."""
    most = _MOST_COROUTINES if stage.ongoing_seconds else _MOST_CALLS
    if processes:  # each takes memory, and more processes than CPUs only compete for them
        most = max(math.floor(model.processors), 1)
    options = sorted({min(2**i, most) for i in range(1, most.bit_length() + 1)})
    moved = processes and not stage.in_processes
    rates = {n: with_calls(model, stages, stage, n, moved).rate() for n in options}
    best = max(rates.values())
    calls = next(n for n in options if rates[n] >= _ENOUGH * best)
    return calls, rates[calls]
