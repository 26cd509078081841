"""Measure one form of the pipeline with the simulated training step."""

import time

import penstock as ps
from penstock.demo.forms import Form, Functions, Source
from penstock.demo.recorder import Interval, Recorder
from penstock.meter import Meter

# Exceptions of a single bad file, after which the pass continues.
_BAD_FILE = (ps.DataError, OSError, ValueError)


class Run:
    """Measurements of one form, also if it ended early.

    Attributes
    ----------
    name : str
        Name of the form.
    images : int
        Number of images that were trained on.
    seconds, waited : float
        Duration of all passes, and the part of it in which the trainer waited for a batch.
    passes : list of float
        Start time of each pass.
    skipped : list of str
        Errors of the images that could not be used, from all passes.
    ended_early : bool
        Whether the time limit ended the form.
    notes_map : bool
        Whether the intervals include those of its map.
    profile : Profile or None
        Profile of the last pass that reached its end or the time limit.
    """

    def __init__(self, form: Form, source: Source, epochs: int, step_seconds: float) -> None:
        self.name = form.name
        self.notes_map = form.notes_map
        self.images = 0
        self.seconds = 0.0
        self.waited = 0.0
        self.passes: list[float] = []
        self.skipped: list[str] = []
        self.ended_early = False
        self.profile: ps.Profile | None = None
        self._recorder = Recorder()
        self._epochs = epochs
        self._step_seconds = step_seconds
        self._total = epochs * len(source.patterns)
        self._dataset = form.build(source, Functions(self._recorder, source.open_seconds))

    @property
    def intervals(self) -> list[Interval]:
        """All recorded intervals."""
        return self._recorder.intervals

    @property
    def rate(self) -> float:
        """Images per second."""
        return self.images / self.seconds if self.seconds else 0.0

    @property
    def idle(self) -> float:
        """Share of the time in which the trainer waited."""
        return self.waited / self.seconds if self.seconds else 0.0

    def measure(self, limit: float) -> None:
        """Train until the passes are done, or for `limit` seconds."""
        progress = Meter(f"{self.name:18}", self._total, "images")
        begun = time.perf_counter()
        try:
            for _ in range(self._epochs):
                self._pass(progress, begun, limit)
                if self.ended_early:
                    break
        finally:
            self.seconds = time.perf_counter() - begun
            progress.finish(f"{self.rate:,.0f} images/s, accelerator idle {self.idle:.0%}")

    def _pass(self, progress: Meter, begun: float, limit: float) -> None:
        asked = time.perf_counter()
        self.passes.append(asked)
        try:
            with iter(self._dataset) as batches, ps.profile(batches) as watch:
                while not self.ended_early:
                    try:
                        batch = next(batches)
                    except StopIteration:
                        break
                    except _BAD_FILE as error:
                        self.skipped.append(str(error))
                        continue
                    given = self._recorder.add("wait", asked)
                    self.waited += given - asked
                    time.sleep(self._step_seconds)
                    asked = self._recorder.add("train", given)
                    self.images += len(batch)
                    progress.update(self.images)
                    self.ended_early = asked - begun > limit
            assert isinstance(watch.result, ps.Profile)  # the result for an iterator of a dataset
            self.profile = watch.result
        finally:
            self.waited += time.perf_counter() - asked
            self._recorder.add_opening(self.passes[-1])
