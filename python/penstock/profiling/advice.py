"""Changes of a pipeline, and how fast the model says that it would be with them."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import replace
from typing import Any, NamedTuple

from penstock.labels import function_name
from penstock.profiling.bottleneck import Bottleneck
from penstock.profiling.demand import StageProfile
from penstock.profiling.sections import Model, Section

_MOST_CALLS = 64
_ENOUGH = 0.97  # of the best rate: fewer calls are better than the last few percent
_WORTH = 1.05  # less is not worth a change
_HAND_OVER = 20e-6  # seconds of a call in another process, beyond the function


class Advice(NamedTuple):
    """A change, and what it would bring.

    Attributes
    ----------
    stage : str
        The path of the stage to change; "" for the end of the pipeline.
    change : str
        The new call.
    rate : float
        Elements per second that the training loop would get.
    gain : float
        How many times as many that is.
    why : str
        The reason.
    """

    stage: str
    change: str
    rate: float
    gain: float
    why: str

    def __str__(self) -> str:
        return f"{self.change}: {self.rate:,.4g} elements/s ({self.gain:.2f}x); {self.why}"


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
    stages : list of StageProfile
    model : Model
        Of the pipeline as it was, calibrated.
    arguments : dict
        Of each stage by its path, as it was written.
    jitter_free : float
        Elements per second with buffers that are large enough.
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
    if bottleneck.kind in ("io", "serial", "gil"):
        yield from _parallel(stage, model, arguments.get(stage.path, {}))


def _ahead(model: Model, stages: list[StageProfile]) -> Model:
    """Return the model with the consumer's stages on a thread of their own."""
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


def with_calls(model: Model, stage: StageProfile, calls: int, processes: bool = False) -> Model:
    """Return the model with this many calls of a stage at a time.

    Parameters
    ----------
    model : Model
    stage : StageProfile
        One that calls a function.
    calls : int
    processes : bool
        Whether worker processes make them.
    """
    index = model.of_stage[stage.path]
    section = model.sections[index]
    count = model.elements
    cpu, blocked = stage.cpu_seconds / count, stage.blocked_seconds / count
    gil = min(stage.gil_seconds / count, cpu)
    if section.stage == stage.path and stage.kind.startswith("parallel_"):  # it has its own calls
        own = replace(section, servers=calls)
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
    own = Section(stage.path, calls, cpu + more, 0.0 if processes else gil, blocked)
    changed = model.changed(index, left)
    return replace(changed, sections=(*changed.sections, own))


def _parallel(
    stage: StageProfile, model: Model, arguments: dict[str, Any]
) -> Iterator[tuple[str, str, float, str]]:
    kind = stage.kind.removeprefix("parallel_")
    argument = "map_func" if "map_func" in arguments else "predicate"
    if kind not in ("map", "filter") or argument not in arguments:
        return
    function = function_name(arguments[argument])
    for processes in (False, True):
        options = [2**i for i in range(1, 7) if 2**i <= _MOST_CALLS]
        rates = {n: with_calls(model, stage, n, processes).rate() for n in options}
        best = max(rates.values())
        calls = next(n for n in options if rates[n] >= _ENOUGH * best)
        how = ', executor="process"' if processes else ""
        if processes and stage.gil_seconds < stage.cpu_seconds / 2:
            return
        why = (
            "its calls wait at the same time"
            if stage.blocked_seconds > stage.cpu_seconds
            else (
                "each process has a GIL of its own" if processes else "it may use more processors"
            )
        )
        yield stage.path, f"{kind}({function}, num_parallel_calls={calls}{how})", rates[calls], why
