"""The engine's model of a pipeline: which threads run which stages, at what cost."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, replace

from penstock import _core
from penstock.profiling.demand import StageProfile

_AHEAD = frozenset(("prefetch",))
_SHARED = frozenset(("parallel_map", "parallel_filter", "parallel_from_indexable"))


@dataclass(frozen=True)
class Section:
    """Threads that run the same stages sequentially; times are per element of the output.

    Attributes
    ----------
    stage : str
        Path of the stage that the threads belong to; "" for the consumer.
    servers : int
        Number of threads, or of concurrent calls.
    cpu, gil, blocked : float
        Seconds on a CPU, the part of them holding the GIL, and seconds asleep.
    serial : float
        Part of `cpu` and `blocked` in seconds that only one thread can run at a time.
    """

    stage: str
    servers: int = 1
    cpu: float = 0.0
    gil: float = 0.0
    blocked: float = 0.0
    serial: float = 0.0

    @property
    def work(self) -> float:
        """Time that a server needs for an element, in seconds."""
        return self.cpu + self.blocked


@dataclass(frozen=True)
class Model:
    """A model that predicts the rate of a pipeline.

    Attributes
    ----------
    sections : tuple of Section
        The sections, the consumer's first.
    of_stage : mapping
        Index of the section that runs each stage, by path.
    scale : float
        Measured rate divided by the predicted rate of the original pipeline.
    processors : float
        Number of CPUs.
    elements : int
        Number of output elements during the observation.
    """

    sections: tuple[Section, ...]
    of_stage: Mapping[str, int]
    processors: float
    elements: int
    scale: float = 1.0

    def rate(self) -> float:
        """Return the predicted elements per second."""
        return self.scale * self.prediction()[0]

    def prediction(self) -> tuple[float, str, int, list[float]]:
        """Return the unscaled rate, the limit, the limiting section, and all utilisations."""
        return _core.predict([_described(section) for section in self.sections], self.processors)

    def calibrated(self, measured: float) -> Model:
        """Return the model scaled to predict the measured rate."""
        found = self.prediction()[0]
        if not (math.isfinite(found) and found > 0 and measured > 0):
            return self
        return replace(self, scale=min(measured / found, 1.5))

    def changed(self, index: int, section: Section) -> Model:
        """Return the model with one section replaced."""
        sections = (*self.sections[:index], section, *self.sections[index + 1 :])
        return replace(self, sections=sections)


def _described(section: Section) -> tuple[int, float, float, float, float]:
    """Return a section as engine arguments, with rounding errors clipped."""
    cpu, blocked = max(section.cpu, 0.0), max(section.blocked, 0.0)
    gil, serial = min(max(section.gil, 0.0), cpu), min(max(section.serial, 0.0), cpu + blocked)
    return section.servers, cpu, gil, blocked, serial


def model_of(
    stages: list[StageProfile], elements: int, step: StageProfile, taken: int, processors: float
) -> Model:
    """Return the model of a profiled pipeline, and set the section of each stage.

    Parameters
    ----------
    stages : list of StageProfile
        The stages, the last one first.
    elements : int
        Number of elements that the pipeline produced.
    step : StageProfile
        The consumer's work outside of the pipeline.
    taken : int
        Number of elements to which that work applies.
    processors : float
        Number of CPUs.
    """
    count = max(elements, 1)
    by_path = {stage.path: stage for stage in stages}
    sections = [_add(Section(""), step, max(taken, 1))]
    of_stage: dict[str, int] = {}
    _assign(stages[0], 0, False, by_path, sections, of_stage, count)
    for stage in stages:
        stage.section = of_stage.get(stage.path, 0)
    return Model(tuple(sections), of_stage, processors, count)


def _assign(
    stage: StageProfile,
    section: int,
    shared: bool,
    by_path: Mapping[str, StageProfile],
    sections: list[Section],
    of_stage: dict[str, int],
    count: int,
) -> None:
    """Assign a stage and its inputs to sections; `shared`: only one thread at a time runs it."""
    todo = [(stage, section, shared)]
    while todo:
        stage, section, shared = todo.pop()
        inner_section, inner_shared = section, shared
        if stage.kind in _SHARED and stage.parallelism > 0:
            sections.append(Section(stage.path, servers=stage.parallelism))
            section = inner_section = len(sections) - 1
            shared, inner_shared = False, True
        of_stage[stage.path] = section
        sections[section] = _add(sections[section], stage, count, shared)
        if stage.kind in _AHEAD:
            sections.append(Section(stage.path))
            inner_section, inner_shared = len(sections) - 1, False
        opened = [path for path in stage.inputs if path.endswith(".*")]
        for path in stage.inputs:
            if path in opened and by_path[path].buffer_limit > 0:  # they have separate threads
                sections.append(Section(stage.path, servers=max(1, by_path[path].parallelism)))
                todo.append((by_path[path], len(sections) - 1, False))
            else:
                todo.append((by_path[path], inner_section, inner_shared))


def _add(section: Section, stage: StageProfile, count: int, shared: bool = False) -> Section:
    work = stage.work_seconds / count
    return replace(
        section,
        cpu=section.cpu + stage.cpu_seconds / count,
        gil=section.gil + min(stage.gil_seconds, stage.cpu_seconds) / count,
        blocked=section.blocked + stage.blocked_seconds / count,
        serial=section.serial + (work if shared else 0.0),
    )
