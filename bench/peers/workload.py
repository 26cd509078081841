"""The interface of a workload: cases, their data, the unit of work, and the check of a pass."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from pathlib import Path
from types import SimpleNamespace
from typing import Any, ClassVar

from bench.machine import processors

Epoch = Callable[[], Iterable[Any]]  # one pass over the pipeline, from its first element


class Task(SimpleNamespace):
    """The parameters of a case, for every loader.

    Attributes
    ----------
    case : str
        Its name.
    folder : Path
        The folder of the workload's data.
    scratch : Path
        An empty folder, removed after the process ends.
    workers : int
        The number of CPUs: the maximum number of threads or processes for a loader.
    n : int
        Elements of one pass; if a workload `grows`, it increases until a pass takes long enough.
    weight : float
        Units per element, for example its bytes; 1 if elements are counted.
    """

    case: str
    folder: Path
    scratch: Path
    workers: int
    n: int
    weight: float


class Workload:
    """A kind of pipeline that is measured on every loader that offers it."""

    title: ClassVar[str]
    summary: ClassVar[str]  # one paragraph for the report
    unit: ClassVar[str]
    limit: ClassVar[str]  # description of the limit; empty if there is none
    bound: ClassVar[str] = ""  # the bottleneck of penstock, one paragraph
    native: ClassVar[str] = ""  # the bench/native program that measures the limit
    rate: ClassVar[bool] = True  # shown as units per second; else as seconds per unit
    scale: ClassVar[float] = 1.0  # of the unit shown: 1e6 for millions per second, 1e9 for ns
    cases: ClassVar[Mapping[str, Mapping[str, Any]]]
    tiny: ClassVar[Mapping[str, Any]] = {}  # overrides of the parameters in tests
    seconds: ClassVar[float] = 0.8  # minimum duration of the timed passes
    skip: ClassVar[int] = 0  # untimed elements at the start of a pass
    grows: ClassVar[int] = 0  # maximum elements of one pass; 0 if the data has a fixed size
    fresh: ClassVar[bool] = False  # a new pipeline for each pass, built untimed and unchecked
    together: ClassVar[bool] = False  # all cases of a loader in one process; its memory counts
    once: ClassVar[bool] = False  # one round: the result is deterministic
    weighed: ClassVar[bool] = True  # whether the peak memory is meaningful

    def task(self, case: str, folder: Path, scratch: Path, tiny: bool = False) -> Task:
        """Return the `Task` of a case."""
        parameters: dict[str, Any] = {"weight": 1.0, **self.cases[case]}
        if tiny:
            parameters |= {name: value for name, value in self.tiny.items() if name in parameters}
        return Task(case=case, folder=folder, scratch=scratch, workers=processors(), **parameters)

    def prepare(self, task: Task) -> None:
        """Write the files of a case unless they exist; runs in an environment with penstock."""

    def count(self, element: Any, task: Task) -> int:
        """Return the number of elements in a batch, in the form that the loader returns."""
        return len(element)

    def take(self, elements: Iterable[Any], task: Task) -> int:
        """Consume a pass like a training loop; return the number of elements."""
        count = self.count
        total = 0
        for element in elements:
            total += count(element, task)
        return total

    def check(self, elements: Iterator[Any], task: Task) -> None:
        """Raise `Undone` unless one pass of NumPy values matches the case."""
        raise NotImplementedError

    def shown(self, seconds: float) -> float:
        """Return seconds per unit in the unit of the report."""
        return 1 / seconds / self.scale if self.rate else seconds * self.scale


class Undone(Exception):
    """A loader's output differs from what the workload requires."""


def expect(what: str, got: object, wanted: object) -> None:
    """Raise `Undone` unless both are equal."""
    if got != wanted:
        raise Undone(f"{what}: expected {wanted!r:.80}, got {got!r:.80}")
