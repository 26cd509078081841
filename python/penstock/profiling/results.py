"""The measurements of a run, and the conclusions from them."""

from __future__ import annotations

import importlib
import math
import os
from collections.abc import Callable, Mapping
from dataclasses import asdict, replace
from typing import Any

from penstock.arguments import checks
from penstock.profiling.advice import Advice, advise, with_calls
from penstock.profiling.bottleneck import Bottleneck, Evidence, find
from penstock.profiling.demand import StageProfile, stages_of, step_of
from penstock.profiling.sections import Model, model_of
from penstock.profiling.verdict import headspace_of, verdict_of

__all__ = ["Profile"]

_VERSION = 1  # format version of to_dict
_calls = checks.whole(1, checks.MOST_THREADS)
# Names that select a stage, the most specific kind first.
_NAMES: tuple[Callable[[StageProfile], tuple[str | None, ...]], ...] = (
    lambda stage: (stage.path,),
    lambda stage: (stage.name,),
    lambda stage: (stage.function,),
    lambda stage: (str(stage),),
    lambda stage: (stage.kind, stage.main_kind),
)
# Stages that can make concurrent calls, directly or after a change that `advise` suggests.
_CALLING = frozenset(
    ("map", "filter", "interleave", "flat_map", "from_generator", "from_indexable")
)
_COLUMNS = ("elements/s", "busy", "cpu", "gil", "blocked", "waits in", "waits out", "p50", "p99")


class Profile:
    """What slows a pipeline down: the result of `Dataset.profile` and `penstock.profile`.

    Attributes
    ----------
    seconds : float
        Duration of the observation.
    elements : int
        Number of elements that the consumer took.
    rate : float
        Elements per second that the consumer took.
    input_bound : float
        Share of the time in which the consumer waited for the pipeline, or for the GIL that the
        pipeline held: 0 to 1.
    headspace : float
        How many times as fast the loop would be with an infinitely fast loader; infinity if the
        loop only takes elements.
    processors : float
        Number of CPUs that this process may use.
    cpu_share, gil_share : float
        Share of all CPUs that this process and its workers used, and share of the time in which the
        GIL was held.
    stages : list of StageProfile
        The stages, the last one first.
    bottleneck : Bottleneck
        The limiting stage, and the kind of limit.
    advice : list of Advice
        Changes that would help, the best one first, with the predicted speed.
    verdict : str
        A summary in one paragraph.

    Notes
    -----
    All times are estimates from sampling the threads. After five seconds, they are accurate to a
    few percent. Predictions are based on operational analysis of the CPU time, GIL time and waiting
    time per element (cpp/runtime/model.cc).
    """

    def __init__(
        self,
        seen: dict[str, Any],
        arguments: dict[str, dict[str, Any]],
        processors: float,
        taken: int | None = None,
    ) -> None:
        self._seen = seen
        self.seconds: float = seen["seconds"]
        self.processors = processors
        looks = seen["lock_looks"]
        self.gil_share: float = seen["lock_held"] / looks if looks else 0.0
        self.stages: list[StageProfile] = stages_of(seen, self.gil_share)
        workers = sum(stage["workers_cpu"] for stage in seen["stages"])
        used = (seen["process_cpu"] + workers) / max(self.seconds * processors, 1e-9)
        self.cpu_share: float = min(used, 1.0)
        # The consumer may have taken only part of the elements produced in advance.
        made = self.stages[0].elements if self.stages else 0
        self.elements: int = made if taken is None else taken
        if not self.stages or self.elements == 0:
            raise ValueError("profile: nothing was taken from the iterator while it was watched")
        self.rate: float = self.elements / self.seconds if self.seconds > 0 else 0.0
        step = step_of(seen, self.gil_share)
        self._gil_bound = step.gil_wait_seconds / self.seconds
        self.input_bound: float = min(self._inside() + self._gil_bound, 1.0)
        self.headspace: float = headspace_of(self.input_bound)
        self._model: Model = model_of(
            self.stages, made or self.elements, step, self.elements, processors
        ).calibrated(self.rate)
        evidence = Evidence(
            stages=self.stages,
            model=self._model,
            seconds=self.seconds,
            input_bound=self.input_bound,
            gil_bound=self._gil_bound,
            cpu_share=self.cpu_share,
            gil_share=self.gil_share,
        )
        self.bottleneck: Bottleneck = find(evidence)
        self.advice: list[Advice] = advise(
            self.bottleneck, self.stages, self._model, arguments, self._without_jitter()
        )
        self.verdict: str = verdict_of(self.bottleneck, evidence, self.rate, self.advice)

    def what_if(
        self,
        *,
        num_parallel_calls: Mapping[str, int] | None = None,
        cpus: float | None = None,
    ) -> float:
        """Predict the rate of the loop after a change.

        Parameters
        ----------
        num_parallel_calls : dict, optional
            Number of concurrent calls for a stage. The key is the stage's path, its name, the name
            of its function, its label in the table, or its kind.
        cpus : float, optional
            Number of CPUs.

        Returns
        -------
        float
            Elements per second predicted by the model.

        Raises
        ------
        ValueError
            If no stage or several stages match a key, or the stage makes no calls.

        Examples
        --------
        >>> import time
        >>> def load(x):
        ...     time.sleep(0.001)
        ...     return x
        >>> profile = ps.Dataset.range(10000).map(load).profile(seconds=0.5)
        >>> profile.what_if(num_parallel_calls={"load": 4}) > 2 * profile.rate
        True
        """
        model = self._model
        if num_parallel_calls is None:
            num_parallel_calls = {}
        if not isinstance(num_parallel_calls, Mapping):
            raise TypeError(
                "what_if: num_parallel_calls must be a dict of stages and their calls, such as "
                f"{{'load': 4}}, got {num_parallel_calls!r:.200}"
            )
        for named, calls in num_parallel_calls.items():
            if not isinstance(named, str):
                raise TypeError(
                    f"what_if: stages in num_parallel_calls are named by a str, got {named!r:.200}"
                )
            _calls(f"what_if: num_parallel_calls of {named!r}", calls)
            model = with_calls(model, self.stages, self._called(named), int(calls))
        if cpus is not None:
            checks.number("what_if: cpus", cpus)
            if not cpus > 0:
                raise ValueError(f"what_if: cpus must be above 0, got {cpus}")
            model = replace(model, processors=float(cpus))
        return model.rate()

    def to_dict(self) -> dict[str, Any]:
        """Return all results as a dict that can be saved as JSON.

        Returns
        -------
        dict
            The attributes by name. Also ``threads``, with the activities of each thread, and
            ``history``: rate, waiting and buffers for each 50 ms.
        """
        history = self._seen["history"]
        order = [stage["path"] for stage in self._seen["stages"]]
        seconds = history["seconds"]
        steps = zip(
            [0.0, *seconds], seconds, [0, *history["elements"]], history["elements"], strict=False
        )
        buffers = {
            path: [each[i] if i < len(each) else 0 for each in history["buffers"]]
            for i, path in enumerate(order)
            if self._by_path(path).buffer_limit > 0
        }
        kind = self.bottleneck._asdict()
        data = {
            "version": _VERSION,
            "seconds": self.seconds,
            "elements": self.elements,
            "rate": self.rate,
            "input_bound": self.input_bound,
            "headspace": self.headspace,
            "processors": self.processors,
            "cpu_share": self.cpu_share,
            "gil_share": self.gil_share,
            "verdict": self.verdict,
            "bottleneck": kind,
            "advice": [each._asdict() for each in self.advice],
            "stages": [asdict(stage) for stage in self.stages],
            "threads": self._threads(),
            "history": {
                "seconds": seconds,
                "rate": [(b - a) / (t - s) if t > s else 0.0 for s, t, a, b in steps],
                "waiting": history["waiting"],
                "buffers": buffers,
            },
        }
        return {key: _finite(value) for key, value in data.items()}

    def to_dataframe(self) -> Any:
        """Return the stages as a pandas DataFrame, with one row per stage.

        Raises
        ------
        ModuleNotFoundError
            If pandas is not installed.
        """
        try:
            pandas = importlib.import_module("pandas")
        except ModuleNotFoundError:
            raise ModuleNotFoundError(
                "Profile.to_dataframe: pandas is not installed; pip install pandas", name="pandas"
            ) from None
        return pandas.DataFrame([asdict(stage) for stage in self.stages])

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the profile to a file, in a format selected by the file extension.

        Parameters
        ----------
        path : str or os.PathLike
            ``.html``: a page with the verdict, advice, the pipeline, a timeline and all figures, in
            a single file that needs no network. ``.json``: a trace with the names of threads,
            stages and elements, for https://ui.perfetto.dev. ``.png``: a picture of the timeline;
            requires Matplotlib. An existing file is replaced.

        Raises
        ------
        ValueError
            If `path` has another extension.
        ModuleNotFoundError
            If Matplotlib is required but not installed.

        Examples
        --------
        >>> profile = ps.Dataset.range(10000).map(lambda x: x + 1).profile(seconds=0.2)
        >>> profile.save("report.html")
        """
        from penstock.profiling.page import save  # needs many standard modules

        save(self.to_dict(), path)

    def __str__(self) -> str:
        lines = [self.verdict, "", self._table()]
        if self.advice:
            lines += ["", *(f"- {each}" for each in self.advice)]
        return "\n".join(lines)

    def __repr__(self) -> str:
        found = self.bottleneck
        stage = found.function or found.name or found.kind_of_stage
        return (
            f"<Profile of {self.elements} elements in {self.seconds:.2f} s: "
            f"{self.bottleneck.kind} ({stage}), the loop waits {self.input_bound:.0%}>"
        )

    def _repr_html_(self) -> str:
        import html  # imported late, because it would take a tenth of the package's import time

        rows = [("stage", *_COLUMNS), *self._rows()]
        cells = "".join(
            "<tr>" + "".join(f"<td>{html.escape(cell)}</td>" for cell in row) + "</tr>"
            for row in rows
        )
        advice = "".join(f"<li>{html.escape(str(each))}</li>" for each in self.advice)
        return (
            f"<div><p>{html.escape(self.verdict)}</p><table>{cells}</table><ul>{advice}</ul></div>"
        )

    def _table(self) -> str:
        rows = [("stage", *_COLUMNS), *self._rows()]
        widths = [max(len(row[i]) for row in rows) for i in range(len(rows[0]))]
        return "\n".join(
            "  ".join(
                cell.ljust(width) if i == 0 else cell.rjust(width)
                for i, (cell, width) in enumerate(zip(row, widths, strict=True))
            ).rstrip()
            for row in rows
        )

    def _rows(self) -> list[tuple[str, ...]]:
        def share(seconds: float) -> str:
            return f"{seconds / self.seconds:.0%}"

        return [
            (
                "  " * stage.path.count(".") + str(stage),
                f"{stage.rate:,.4g}",
                share(stage.busy_seconds),
                share(stage.cpu_seconds),
                share(stage.gil_seconds),
                share(stage.blocked_seconds),
                share(stage.wait_input_seconds),
                share(stage.wait_room_seconds),
                _time(stage.call_p50),
                _time(stage.call_p99),
            )
            for stage in self.stages
        ]

    def _by_path(self, path: str) -> StageProfile:
        return next(stage for stage in self.stages if stage.path == path)

    def _called(self, named: str) -> StageProfile:
        """Return the stage or, if it opens datasets, the inputs that run in its calls."""
        inputs = {each.path: each for each in self.stages if each.path.endswith(".*")}
        stages = [each for each in self.stages if each.path not in inputs]
        for names_of in _NAMES:
            found = [each for each in stages if named in names_of(each)]
            if len(found) == 1:
                return self._with_calls(found[0], inputs.get(f"{found[0].path}.*"))
            if found:
                paths = ", ".join(f"{each.path} ({each})" for each in found)
                raise ValueError(
                    f"what_if: several stages are {named!r}; use the path of one: {paths}"
                )
        known = ", ".join(f"{each.path} ({each})" for each in stages)
        raise ValueError(f"what_if: no stage is {named!r}; there are {known}")

    def _with_calls(self, stage: StageProfile, inputs: StageProfile | None) -> StageProfile:
        if inputs is None and stage.main_kind == stage.kind and stage.kind not in _CALLING:
            raise ValueError(
                f"what_if: {stage} makes no calls at the same time; where it has "
                "num_parallel_calls, profile it with that"
            )
        return inputs or stage

    def _inside(self) -> float:
        """Return the share of the consumer's time spent inside the pipeline."""
        spans = [
            span
            for thread in self._seen["threads"]
            if thread["consumer"]
            for span in thread["spans"]
        ]
        inside = sum(end - start for start, end, path, _, _ in spans if path is not None)
        every = sum(end - start for start, end, _, _, _ in spans)
        return inside / every if every > 0 else 0.0

    def _without_jitter(self) -> float:
        """Return the predicted rate with large enough buffers."""
        found = self._model.prediction()[0]
        return found if math.isfinite(found) else self.rate

    def _threads(self) -> list[dict[str, Any]]:
        return [
            {
                "name": thread["name"] or ("consumer" if thread["consumer"] else "thread"),
                "spans": [
                    [*span, None if element < 0 else element] for *span, element in thread["spans"]
                ],
            }
            for thread in self._seen["threads"]
        ]


def _time(seconds: float | None) -> str:
    if seconds is None:
        return ""
    for unit, size in (("s", 1.0), ("ms", 1e-3), ("us", 1e-6)):
        if seconds >= size:
            return f"{seconds / size:.3g} {unit}"
    return f"{seconds / 1e-9:.3g} ns"


def _finite(value: Any) -> Any:
    """Return the value with None for numbers that JSON cannot represent."""
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    if isinstance(value, dict):
        return {key: _finite(each) for key, each in value.items()}
    if isinstance(value, (list, tuple)):
        return [_finite(each) for each in value]
    return value
