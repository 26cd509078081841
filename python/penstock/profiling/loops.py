"""Profile a loop over any loader: how long it waits, and which settings would help."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any

from penstock.loaders import LoaderView, has_accelerator
from penstock.profiling.advice import GENERATOR_NAMES, Advice
from penstock.profiling.bottleneck import HELD, MOST_OF_THEM, WAITS, Bottleneck, is_short
from penstock.profiling.sections import Model, Section
from penstock.profiling.verdict import consumer_verdict, headspace_of, waiting

__all__ = ["LoopProfile"]

_VERSION = 1  # format version of to_dict
_MOST_THREADS = 64
_ENOUGH = 0.97  # share of the best rate: fewer workers are better than the last few percent
_WORTH = 1.05  # a smaller gain is not worth a change
_DROP_IN = "penstock.DataLoader"
_LONG_START = 0.05  # share of the time spent on starting workers
_MOST_PLACES = 5
_BUFFERED = 0.15  # share of the time: a loop that waits less may have used buffered batches


@dataclass
class Seen:
    """Measurements of a loop; times in seconds.

    Attributes
    ----------
    passes, batches : int
        Number of passes begun, and of batches yielded.
    seconds : float
        Duration of the block.
    wait, wait_cpu : float
        Time inside ``next``, and the part of it on a CPU.
    gil_wait : float
        Time outside of ``next``, waiting for the GIL that worker threads held.
    first : float
        Time until the first batch of each pass, including the start of the pass.
    loop_cpu : float
        CPU time of the loop's thread.
    ready : float
        Time for which that thread was ready to run without a CPU.
    process_cpu : float
        CPU time of this process.
    workers_cpu, workers_gil, workers_blocked, workers_ready : float
        Times of the workers. CPU time; the part of it in which they held the GIL of this process;
        time asleep or waiting for files (NaN if not measured); time ready to run without a CPU.
    gil : float
        Share of the time in which the GIL was held.
    places : dict
        Places in ``next`` at which samples found the loop's thread, with their counts.
    """

    passes: int = 0
    batches: int = 0
    seconds: float = 0.0
    wait: float = 0.0
    wait_cpu: float = 0.0
    gil_wait: float = 0.0
    first: float = 0.0
    loop_cpu: float = 0.0
    ready: float = 0.0
    process_cpu: float = 0.0
    workers_cpu: float = 0.0
    workers_gil: float = 0.0
    workers_blocked: float = math.nan
    workers_ready: float = 0.0
    gil: float = 0.0
    places: Counter[str] | None = None


class LoopProfile:
    """The result of `penstock.profile` for any loader: whether the loop waits, and why.

    Attributes
    ----------
    seconds : float
        Duration of the observation.
    elements : int
        Number of batches, or other items, that the loop took.
    rate : float
        Items per second.
    input_bound : float
        Share of the time in which the loop waited for the next item, or for the GIL that worker
        threads held: 0 to 1.
    headspace : float
        How many times as fast the loop would be with an infinitely fast loader.
    first_seconds : float
        Time spent waiting for the first batch of each pass, in seconds.
    processors : float
        Number of CPUs that this process may use.
    cpu_share, gil_share : float
        Share of all CPUs that this process and its workers used, and share of the time in which
        the GIL was held.
    places : list of (str, float)
        Functions in which the loop waited, each with its share of the waiting; empty if workers
        load the data.
    bottleneck : Bottleneck
        The reason why the loop waits.
    advice : list of Advice
        Changes that would help, the best one first. Without a predicted speed, `rate` and `gain`
        are NaN.
    verdict : str
        A summary in one paragraph.

    Notes
    -----
    Predictions are based on the CPU time, GIL time and waiting time of a batch, as in `Profile`.
    """

    def __init__(
        self,
        seen: Seen,
        loader: LoaderView | None,
        name: str,
        cpus: float,
        indexable: bool = False,
    ) -> None:
        if seen.batches == 0:
            raise ValueError(
                "profile: nothing was taken from it while it was watched; iterate over the "
                "profile: `with penstock.profile(loader) as p:`, then `for batch in p:`"
            )
        self.seconds = seen.seconds
        self.elements = seen.batches
        self.rate = seen.batches / max(seen.seconds, 1e-9)
        self.processors = cpus
        self.gil_share = seen.gil
        in_processes = loader is not None and loader.processes
        self._cpu = seen.process_cpu + (seen.workers_cpu if in_processes else 0.0)
        self.cpu_share = min(self._cpu / max(seen.seconds * cpus, 1e-9), 1.0)
        self.input_bound = min((seen.wait + seen.gil_wait) / max(seen.seconds, 1e-9), 1.0)
        self.headspace = headspace_of(self.input_bound)
        self.first_seconds = seen.first
        looks = sum((seen.places or {}).values())
        self.places = [
            (place, count / looks) for place, count in (seen.places or Counter()).most_common()
        ][:_MOST_PLACES]
        self._seen = seen
        self._loader = loader
        self._indexable = indexable
        self._name = name if loader is None else str(loader)
        self._inline = loader is None or loader.num_workers == 0
        self._work = self._work_of_a_batch()
        self._model = self._modelled()
        kind, share = self._kind()
        self.bottleneck = Bottleneck("", self._name, None, None, kind, share)
        now = self._model.rate()
        found = [
            Advice("", change, rate, rate / now, why)
            for change, rate, why in self._changes()
            if math.isfinite(rate) and rate > _WORTH * now
        ]
        found.sort(key=lambda each: -each.rate)
        self.advice = found + [
            Advice("", change, math.nan, math.nan, why) for change, why in self._settings(found)
        ]
        self.verdict = self._verdict(found)

    def _work_of_a_batch(self) -> Section:
        """Return the work of loading a batch; `servers` is the current number of workers."""
        seen, count = self._seen, self._seen.batches
        ready = seen.ready * self._share_of_ready()
        if self._inline:
            cpu, servers = seen.wait_cpu, 1
            blocked = max(seen.wait - cpu - ready, 0.0)
            gil = cpu * self._held()
        else:
            assert self._loader is not None
            servers, cpu, gil = self._loader.num_workers, seen.workers_cpu, seen.workers_gil
            blocked = seen.workers_blocked
            if math.isnan(blocked):
                # If no batch is ever ready in advance, the workers are always busy.
                always = self.input_bound > _BUFFERED
                took = servers * (seen.seconds - seen.first) if always else 0.0
                blocked = max(took - cpu - seen.workers_ready, 0.0)
        return Section("loader", servers, cpu / count, gil / count, blocked / count)

    def _held(self) -> float:
        """Return the share of this process's CPU time in which it held the GIL."""
        return min(1.0, self.gil_share * self._seen.seconds / max(self._seen.process_cpu, 1e-9))

    def _share_of_ready(self) -> float:
        """Return the share of the loop thread's time off the CPU that was inside ``next``."""
        seen = self._seen
        inside = max(seen.wait - seen.wait_cpu, 0.0)
        outside = max(seen.seconds - seen.wait - (seen.loop_cpu - seen.wait_cpu), 0.0)
        return inside / (inside + outside) if inside + outside > 0 else 0.0

    def _modelled(self) -> Model:
        seen, work = self._seen, self._work
        cpu = max(seen.loop_cpu - seen.wait_cpu, 0.0) / seen.batches
        step = max(seen.seconds - seen.wait - seen.gil_wait, 0.0) / seen.batches
        loop = Section("", 1, cpu, cpu * self._held(), max(step - cpu, 0.0))
        if self._inline:
            own = replace(
                loop,
                cpu=loop.cpu + work.cpu,
                gil=loop.gil + work.gil,
                blocked=loop.blocked + work.blocked,
            )
            sections: tuple[Section, ...] = (own,)
        else:
            sections = (loop, work)
        self._loop = loop
        model = Model(sections, {}, self.processors, seen.batches)
        return model.calibrated(self.rate)

    def _with(self, workers: int, processes: bool) -> float:
        """Return the predicted rate with this number of workers."""
        gil = 0.0 if processes else self._work.gil
        work = replace(self._work, servers=workers, gil=gil)
        return replace(self._model, sections=(self._loop, work)).rate()

    def _best(self, processes: bool) -> tuple[int, float]:
        """Return the sufficient number of workers, and the predicted rate."""
        most = max(math.floor(self.processors), 1)
        if not processes and self._work.blocked > self._work.cpu:
            most = _MOST_THREADS
        options = sorted({min(2**i, most) for i in range(most.bit_length() + 1)})
        rates = {n: self._with(n, processes) for n in options}
        best = max(rates.values())
        workers = next(n for n in options if rates[n] >= _ENOUGH * best)
        return workers, rates[workers]

    def _is_starved(self) -> bool:
        """Return whether the CPUs are busy, with this program or others."""
        seen, work = self._seen, self._work
        ready = seen.ready * self._share_of_ready() if self._inline else seen.workers_ready
        # Work that mostly sleeps would hardly be faster with a free CPU.
        if work.blocked * seen.batches > work.cpu * seen.batches + ready:
            return False
        return self.cpu_share > MOST_OF_THEM or is_short(ready, self._cpu, seen.seconds)

    def _kind(self) -> tuple[str, float]:
        if self.input_bound < WAITS:
            return "consumer", 1 - self.input_bound
        work = self._work
        # The GIL is the limit if the workers together spend less time on anything else.
        takes_turns = work.cpu + work.blocked < work.gil * work.servers
        if self.gil_share > HELD and takes_turns and not self._inline:
            return "gil", self.gil_share
        if self._is_starved():
            return "cpu", self.cpu_share
        if work.blocked > work.cpu:
            return "io", self.input_bound
        return "serial", self.input_bound

    def _changes(self) -> Iterator[tuple[str, float, str]]:
        """Yield changes with the rate that the model predicts."""
        if self.bottleneck.kind == "consumer" or (
            self.bottleneck.kind == "cpu" and not self._inline
        ):
            return
        work, loader = self._work, self._loader
        holds = work.gil > work.cpu / 2 and work.blocked <= work.cpu
        if loader is None:
            rate = self._with(1, processes=holds)
            executor = ', executor="process"' if holds else ""
            why = "the next item is made while the loop computes"
            yield f"penstock.prefetch({self._name}{executor})", rate, why
            workers, rate = self._best(processes=holds)
            if self._indexable:
                method = ', worker_method="process"' if holds else ""
                change = f"{_DROP_IN}({self._name}, num_workers={workers}{method})"
                yield change, rate, "several items are loaded at the same time"
                return
            calls = f"num_parallel_calls={workers}{executor}"
            change = f"penstock.Dataset.from_generator({self._name}).map(load, {calls})"
            yield change, rate, GENERATOR_NAMES
            return
        if loader.pipeline is not None:
            return  # it already loads in advance
        now = 0 if self._inline else loader.num_workers
        ahead = "batches are loaded while the loop computes"
        more = "more of them are loaded at the same time"
        why = more if now else ahead
        if not loader.ours or loader.processes or holds:
            workers, rate = self._best(processes=True)
            method = ', worker_method="process"' if loader.ours else ""
            if workers > now or (loader.ours and holds and not loader.processes):
                turns = "; each process has a GIL" if holds else ""
                yield f"num_workers={workers}{method}", rate, why + turns
        if not holds and (not loader.processes or now == 0 or work.blocked > work.cpu):
            workers, rate = self._best(processes=False)
            if loader.ours and workers > now:
                yield f"num_workers={workers}", rate, why
            elif not loader.ours:
                yield (
                    f"{_DROP_IN}(dataset, ..., num_workers={workers})",
                    rate,
                    "a drop-in replacement with the same arguments; its workers are threads",
                )

    def _settings(self, predicted: list[Advice]) -> Iterator[tuple[str, str]]:
        """Yield settings of the loader whose gain is not predicted."""
        loader, seen = self._loader, self._seen
        if loader is None:
            return
        if not loader.pin_memory and has_accelerator() and not loader.in_memory:
            yield (
                "pin_memory=True",
                "copies to the accelerator are faster, and overlap with computing where the loop "
                "calls .to(device, non_blocking=True)",
            )
        starts = loader.num_workers > 0 and loader.processes and not loader.persistent_workers
        if starts and seen.passes and seen.first > _LONG_START * seen.seconds:
            yield (
                "persistent_workers=True",
                f"workers start again in each epoch: the loop waited {seen.first:.2g} s for the "
                f"first batch of {seen.passes} pass{'es' * (seen.passes > 1)}",
            )
        most = max(math.floor(self.processors), 1)
        if loader.processes and loader.num_workers > most:
            yield (
                f"num_workers={most}",
                f"{loader.num_workers} worker processes share {self.processors:.3g} CPUs",
            )
        waits = self.bottleneck.kind != "consumer" and loader.pipeline is None
        if waits and not loader.ours and not any(_DROP_IN in each.change for each in predicted):
            yield (
                _DROP_IN,
                "a drop-in replacement: the same arguments, and worker threads that need no "
                'pickling and no start (worker_method="process" starts processes)',
            )

    def _verdict(self, predicted: list[Advice]) -> str:
        if self.bottleneck.kind == "consumer":
            return consumer_verdict(self.input_bound, self.rate)
        by_gil = self._seen.gil_wait > self._seen.wait / 4
        what = "data, or for the GIL that the loader holds," if by_gil else "data"
        text = f"{waiting(self.input_bound, what)} The reason is {self._name}: {self._reason()}."
        if self._inline and self.places:
            place, share = self.places[0]
            text += f" {share:.0%} of the waiting is in {place}."
        if predicted:
            best = predicted[0]
            return (
                f"{text} With {best.change} it would be about {best.rate:,.4g} batches/s instead "
                f"of {self.rate:,.4g} ({best.why})."
            )
        if self.bottleneck.kind == "cpu":
            return f"{text} More workers would not help: reduce the work for each sample."
        return f"{text} No setting of the loader would help by more than a few percent."

    def _reason(self) -> str:
        kind, share = self.bottleneck.kind, self.bottleneck.share
        pipeline = self._loader is not None and self._loader.pipeline is not None
        if self._inline and not pipeline:
            what = "batch is loaded" if self._loader is not None else "item is made"
            does = {
                "io": "waits for files or the network, or sleeps",
                "cpu": "needs a CPU, and the CPUs are busy",
            }.get(kind, "computes")
            return (
                f"each {what} in the thread of the loop, when the loop asks for it, and meanwhile "
                f"nothing else happens; it {does}"
            )
        if self._seen.first > self._seen.wait / 2 and not pipeline:
            passes = self._seen.passes
            return (
                f"its workers start: the loop waited {self._seen.first:.2g} s for the first batch "
                f"of {passes} pass{'es' * (passes != 1)}"
            )
        if kind == "cpu":
            busy = f"all CPUs are busy, {share:.0%} of them with this program"
            other = f"other programs keep the CPUs busy; this program has {share:.0%} of them"
            return busy if share > MOST_OF_THEM else other
        if kind == "gil":
            return f"its threads take turns at the GIL, which is held {share:.0%} of the time"
        if pipeline:
            return "it iterates a dataset of penstock; dataset.profile() shows which stage is slow"
        if kind == "io":
            return "its workers wait for files or the network, or sleep"
        return "its workers are busy all the time, while CPUs are idle"

    def to_dict(self) -> dict[str, Any]:
        """Return all results as a dict that can be saved as JSON."""
        data = {
            "version": _VERSION,
            **{
                name: getattr(self, name)
                for name in (
                    *("seconds", "elements", "rate", "input_bound", "headspace", "first_seconds"),
                    *("processors", "cpu_share", "gil_share", "verdict"),
                )
            },
            "places": [list(each) for each in self.places],
            "bottleneck": self.bottleneck._asdict(),
            "advice": [each._asdict() for each in self.advice],
        }
        return {key: _finite(value) for key, value in data.items()}

    def __str__(self) -> str:
        lines = [self.verdict]
        if self.places:
            lines += ["", "share of the waiting, by place:"]
            lines += [f"{share:>6.0%}  {place}" for place, share in self.places]
        if self.advice:
            lines += ["", *(f"- {each.text('batches')}" for each in self.advice)]
        return "\n".join(lines)

    def __repr__(self) -> str:
        return (
            f"<LoopProfile of {self.elements} batches in {self.seconds:.2f} s: "
            f"{self.bottleneck.kind} ({self._name}), the loop waits {self.input_bound:.0%}>"
        )

    def _repr_html_(self) -> str:
        import html  # imported late, because it would take a tenth of the package's import time

        return f"<pre>{html.escape(str(self))}</pre>"


def _finite(value: Any) -> Any:
    """Return the value with None for numbers that JSON cannot represent."""
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    if isinstance(value, dict):
        return {key: _finite(each) for key, each in value.items()}
    if isinstance(value, list):
        return [_finite(each) for each in value]
    return value
