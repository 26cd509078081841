"""What a workload is: cases, their data, what is counted, and the check that the work was done."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from pathlib import Path
from types import SimpleNamespace
from typing import Any, ClassVar

from bench.machine import processors

Epoch = Callable[[], Iterable[Any]]  # one pass over the pipeline, from its first element


class Task(SimpleNamespace):
    """The parameters of a case, and what every loader is told.

    Attributes
    ----------
    case : str
        Its name.
    folder : Path
        Where the data of the workload lies.
    scratch : Path
        Empty, and removed behind the process.
    workers : int
        Processors: as many threads or processes as a loader may be given.
    n : int
        Elements of one pass; a workload that `grows` is passed over with more and more of them
        until a pass is long enough.
    weight : float
        Units of an element: its bytes, say; 1 where elements are counted.
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
    limit: ClassVar[str]  # what the limit is; empty where there is none
    bound: ClassVar[str] = ""  # what keeps penstock from being quicker, one paragraph
    native: ClassVar[str] = ""  # the program of bench/native that the limit needs
    rate: ClassVar[bool] = True  # shown as units per second; else as seconds per unit
    scale: ClassVar[float] = 1.0  # of the unit shown: 1e6 for millions per second, 1e9 for ns
    cases: ClassVar[Mapping[str, Mapping[str, Any]]]
    tiny: ClassVar[Mapping[str, Any]] = {}  # instead of the same parameters, in tests
    seconds: ClassVar[float] = 0.8  # passes are timed until so long has passed
    skip: ClassVar[int] = 0  # elements at the start of a pass that are not timed
    grows: ClassVar[int] = 0  # the most elements of one pass; 0 where the data has a size
    fresh: ClassVar[bool] = False  # each pass over a pipeline of its own, made untimed, unchecked
    together: ClassVar[bool] = False  # cases of one loader in one process, whose memory is reported
    once: ClassVar[bool] = False  # one round: it is the same each time
    weighed: ClassVar[bool] = True  # the peak memory says something

    def task(self, case: str, folder: Path, scratch: Path, tiny: bool = False) -> Task:
        """Return what a loader is told about a case."""
        parameters: dict[str, Any] = {"weight": 1.0, **self.cases[case]}
        if tiny:
            parameters |= {name: value for name, value in self.tiny.items() if name in parameters}
        return Task(case=case, folder=folder, scratch=scratch, workers=processors(), **parameters)

    def prepare(self, task: Task) -> None:
        """Write the files of a case unless they are there; runs where penstock is installed."""

    def count(self, element: Any, task: Task) -> int:
        """Return how many elements a batch, as the loader gives it, stands for."""
        return len(element)

    def take(self, elements: Iterable[Any], task: Task) -> int:
        """Consume a pass as a training loop does; returns the elements in it."""
        count = self.count
        total = 0
        for element in elements:
            total += count(element, task)
        return total

    def check(self, elements: Iterator[Any], task: Task) -> None:
        """Raise Undone unless one pass of NumPy values is what the case asks for."""
        raise NotImplementedError

    def shown(self, seconds: float) -> float:
        """Return seconds per unit in the unit of the report."""
        return 1 / seconds / self.scale if self.rate else seconds * self.scale


class Undone(Exception):
    """A loader gave something else than the workload asks for."""


def expect(what: str, got: object, wanted: object) -> None:
    """Raise Undone unless both are equal."""
    if got != wanted:
        raise Undone(f"{what}: expected {wanted!r:.80}, got {got!r:.80}")
