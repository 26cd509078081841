"""Find the stage that slows a pipeline down, and the reason."""

from __future__ import annotations

from typing import NamedTuple

from penstock.profiling.demand import StageProfile
from penstock.profiling.sections import Model

WAITS = 0.05  # share of its time: below it, waiting does not slow a consumer down
_OFTEN = 0.15  # share of the time: above it, waiting is significant
_NOTHING_ELSE = 0.9  # share of its time: a consumer that waits more would empty any buffer
MOST_OF_THEM = 0.85  # share of the CPUs: more is hardly achievable
# Share of the potential CPU time spent ready to run: above it, there are too few CPUs.
_SHORT = 0.3
HELD = 0.65  # share of samples holding the GIL: above it, the GIL limits waiting threads


class Bottleneck(NamedTuple):
    """What slows a pipeline down.

    Attributes
    ----------
    stage : str
        Path of the stage, as in `Iterator.stats`; "" for the consumer.
    kind_of_stage, name, function : str
        Kind, name and function of the stage; the last two may be None.
    kind : str
        ``"cpu"``: all CPUs are busy, with this program or others. ``"gil"``: its calls compete for
        the GIL. ``"io"``: it waits for files, or sleeps. ``"serial"``: it computes, with only one
        call (or its maximum number of calls) running, while CPUs are idle. ``"buffer"``: it is fast
        enough on average, but its buffer is too small for the variation of its speed. ``"memory"``:
        the memory budget stops it. ``"lock"``: its calls wait for each other. ``"consumer"``:
        nothing, because the loop is slower.
    share : float
        Share of the time, or of the CPUs, that the reason accounts for.
    """

    stage: str
    kind_of_stage: str
    name: str | None
    function: str | None
    kind: str
    share: float


class Evidence(NamedTuple):
    """Measurements from which a bottleneck is derived.

    Attributes
    ----------
    stages : list of StageProfile
        The stages.
    model : Model
        The model of the current pipeline.
    seconds : float
        Duration of the observation.
    input_bound : float
        Share of that time in which the consumer waited.
    gil_bound : float
        Share of that time in which the consumer waited for the GIL outside of the pipeline.
    cpu_share : float
        Share of all CPUs that this process and its workers used.
    gil_share : float
        Share of the time in which the GIL was held.
    """

    stages: list[StageProfile]
    model: Model
    seconds: float
    input_bound: float
    gil_bound: float
    cpu_share: float
    gil_share: float


def is_short(ready: float, computes: float, seconds: float) -> bool:
    """Return whether threads lack CPUs, given `ready` seconds of waiting for one."""
    return ready > max(_SHORT * (computes + ready), _OFTEN * seconds)


def find(seen: Evidence) -> Bottleneck:
    """Return the bottleneck of a profiled pipeline."""
    if seen.input_bound < WAITS:
        return Bottleneck("", "consumer", None, None, "consumer", 1 - seen.input_bound)
    for look in (_memory, _gil, _cpu, _buffer, _lock):
        if (found := look(seen)) is not None:
            return found
    return _section(seen)


def _at(stage: StageProfile, kind: str, share: float) -> Bottleneck:
    named = (stage.path, stage.kind, stage.name, stage.function)
    return Bottleneck(*named, kind, min(max(share, 0.0), 1.0))


def _memory(seen: Evidence) -> Bottleneck | None:
    """Find the first stage that the budget stops; later stages consume its elements."""
    for stage in reversed(seen.stages):
        # A single thread waits on behalf of all threads of a stage.
        share = stage.wait_memory_seconds / seen.seconds
        if share > _OFTEN:
            return _at(stage, "memory", share)
    return None


def _buffer(seen: Evidence) -> Bottleneck | None:
    """Find a stage whose buffer is alternately full and empty."""
    if seen.input_bound > _NOTHING_ELSE:
        return None
    for stage in seen.stages:
        full = stage.wait_room_seconds / seen.seconds / max(stage.parallelism, 1)
        empty = stage.waited_seconds / seen.seconds
        if stage.buffer_limit > 0 and full > _OFTEN and min(full, empty) > seen.input_bound / 2:
            return _at(stage, "buffer", seen.input_bound)
    return None


def _lock(seen: Evidence) -> Bottleneck | None:
    stage = max(seen.stages, key=lambda each: each.lock_seconds)
    share = stage.lock_seconds / seen.seconds / max(stage.parallelism, 1)
    return _at(stage, "lock", share) if share > _OFTEN and stage.parallelism > 1 else None


def _gil(seen: Evidence) -> Bottleneck | None:
    waits = sum(stage.gil_wait_seconds for stage in seen.stages) / seen.seconds + seen.gil_bound
    if seen.gil_share < HELD or waits < _OFTEN:
        return None
    return _at(max(seen.stages, key=lambda each: each.gil_seconds), "gil", seen.gil_share)


def _cpu(seen: Evidence) -> Bottleneck | None:
    computes = sum(stage.cpu_seconds for stage in seen.stages)
    ready = sum(stage.ready_seconds for stage in seen.stages)
    short = is_short(ready, computes, seen.seconds)
    stage = max(seen.stages, key=lambda each: each.cpu_seconds + each.ready_seconds)
    # Work that mostly sleeps would hardly be faster with a free CPU.
    sleeps = stage.blocked_seconds > stage.cpu_seconds + stage.ready_seconds
    if seen.cpu_share < MOST_OF_THEM and (sleeps or not short):
        return None
    return _at(max(seen.stages, key=lambda each: each.cpu_seconds), "cpu", seen.cpu_share)


def _section(seen: Evidence) -> Bottleneck:
    """Return the most expensive stage of the busiest threads."""
    of_section: dict[int, list[StageProfile]] = {}
    for stage in seen.stages:
        of_section.setdefault(stage.section, []).append(stage)

    def busy(section: int) -> float:
        own = sum(stage.busy_seconds for stage in of_section[section])
        # If the consumer waits for its own work, it is also busy with its step.
        if section == 0 and own > seen.input_bound * seen.seconds / 2:
            own += (1 - seen.input_bound) * seen.seconds
        return own / seen.model.sections[section].servers

    last = max(of_section, key=busy)
    stage = max(of_section[last], key=lambda each: each.busy_seconds)
    kind = "io" if stage.blocked_seconds > stage.busy_seconds / 2 else "serial"
    share = stage.busy_seconds / seen.seconds / seen.model.sections[last].servers
    return _at(stage, kind, share)
