"""What a trainer iterates in one epoch: a run of its own, or the next steps of one that goes on."""

from __future__ import annotations

import time
import weakref
from typing import Any

from penstock.adapters.batches import Batches, BatchIterator


class Epochs:
    """The batches of a trainer, epoch by epoch.

    Parameters
    ----------
    stage : str
        Who asks, for messages.
    batches : Batches
        What each epoch iterates; with `steps`, what has no end.
    steps : int or None
        How many batches an epoch has; the next epoch goes on after them. None: each epoch is a run
        of its own, from the first batch to the last.
    length : int or None
        How many batches a run has, if it is known.
    """

    def __init__(self, stage: str, batches: Batches, steps: int | None, length: int | None) -> None:
        self._stage = stage
        self._batches = batches
        self._steps = steps
        self._length = length
        self._open: weakref.WeakSet[BatchIterator] = weakref.WeakSet()
        self._run: BatchIterator | None = None  # that goes on, with `steps`
        self._start: bytes | None = None  # where its last epoch began
        self._given = Given()  # in its last epoch
        self.wait_seconds = 0.0

    def __iter__(self) -> Epoch:
        if self._steps is None:
            return Epoch(self, self._opened(), None, Given())
        if self._run is None or 0 < self._given.batches < self._steps:
            # No one used the rest of the last epoch, as when a model is built from its first
            # batch: it begins again, so that none is lost.
            self._run = self._opened()
            if self._start is not None:
                self._run.rewind(self._start)
        self._start = self._run.get_state()
        self._given = Given()
        return Epoch(self, self._run, self._steps, self._given)

    def _opened(self) -> BatchIterator:
        run = iter(self._batches)
        self._open.add(run)
        return run

    def taken(self, run: BatchIterator, given: int) -> Any:
        """Take the next batch of a run, which ends with the error or the end that it meets."""
        began = time.perf_counter()
        try:
            batch = next(run)
        except StopIteration:
            self._end(run)
            if not given:
                raise ValueError(
                    f"{self._stage}: at least one batch was expected, the dataset has none"
                ) from None
            raise
        except Exception:
            # Not at Ctrl-C: closing waits for a function that may be what blocks.
            self._end(run)
            raise
        if given + 1 == self._length:
            self._end(run)  # a trainer that counts does not ask for the end
        self.wait_seconds += time.perf_counter() - began
        return batch

    def _end(self, run: BatchIterator) -> None:
        run.close()
        if run is self._run:
            self._run = None

    def close(self) -> None:
        """Stop the threads of all epochs; the next epoch begins as the first did."""
        for run in list(self._open):
            run.close()
        self._run = self._start = None


class Given:
    """How many batches an epoch has given; of its own, so that nothing refers in a circle."""

    __slots__ = ("batches",)

    def __init__(self) -> None:
        self.batches = 0


class Epoch:
    """One epoch of `Epochs`: an iterator."""

    def __init__(self, epochs: Epochs, run: BatchIterator, steps: int | None, given: Given) -> None:
        self._epochs = epochs
        self._run = run
        self._steps = steps
        self._given = given

    @property
    def given(self) -> int:
        """How many batches it has given."""
        return self._given.batches

    def __iter__(self) -> Epoch:
        return self

    def __next__(self) -> Any:
        if self.given == self._steps:
            raise StopIteration
        batch = self._epochs.taken(self._run, self.given)
        self._given.batches += 1
        return batch
