"""Epochs for a trainer: a new iteration each, or a fixed number of steps of one iteration."""

from __future__ import annotations

import collections
import time
import weakref
from typing import Any

from penstock import _core
from penstock.adapters.batches import Batches, BatchIterator
from penstock.closing import Finalizing, finalizing
from penstock.iterator import bytes_of, state_as

# The first bytes of a state within an epoch of `steps` batches. The number of its batches (4 bytes)
# and the state of the run follow. As text, it starts like any other state.
_IN_EPOCH = b"PSTJ"
_COUNTED = len(_IN_EPOCH) + 4
_RECENT = 3  # positions kept for trainers that take batches in advance


class Place:
    """The position of a trainer, shared by all forms of a dataset."""

    def __init__(self) -> None:
        self.saved: bytes | None = None  # where the next epoch starts
        self.strict = True  # the `strict` of `set_state`
        self.latest: Progress | None = None  # the epoch of the latest batch
        self.tracked = False  # whether to keep the positions before the latest batches

    def get_state(self, text: bool, ahead: int = 0) -> bytes | str:
        """Return the position after the latest batch, or `ahead` batches before it."""
        if self.saved is not None or self.latest is None:
            return state_as(self.saved or b"", text)
        return state_as(self.latest.state(ahead), text)

    def set_state(self, state: Any, strict: bool) -> None:
        """Start the next epoch at a saved position; an empty state is the beginning."""
        empty = isinstance(state, (bytes, str)) and not state
        self.saved = None if empty else bytes_of(state)
        self.strict = strict
        self.latest = None


class Progress:
    """Progress within an epoch."""

    def __init__(self, batches: Batches, steps: int | None) -> None:
        self._batches = batches
        self._steps = steps
        self.run: weakref.ref[BatchIterator] | None = None  # None before the first batch
        self.start: bytes | None = None  # the position where the epoch began, if needed
        self.end: bytes | None = None  # the position of a run that has ended or was dropped
        self.first = 0  # batches of the epoch before the restored state
        self.given = 0  # batches of the epoch so far, including `first`
        self.restored = False  # whether it started from a state
        self.finished = False
        self.recent: collections.deque[bytes] = collections.deque(maxlen=_RECENT)

    def state(self, ahead: int) -> bytes:
        """Return the position `ahead` batches before the latest one, valid in any process."""
        position = self.end
        if ahead:
            position = self.recent[-ahead]
        elif position is None and self.run is not None and (latest := self.run()) is not None:
            position = latest.position()
        if position is None:
            raise ValueError("get_state: the iteration was closed before it ended")
        given = self.given - ahead
        seeds = _core.seeds_now()
        with iter(self._batches) as run:
            _core.continue_seeds(seeds)  # `run` drew a seed, but is not used
            run.rewind(position)
            state = run.get_state()
        if self._steps is None or given % self._steps == 0:
            return state
        return _IN_EPOCH + given.to_bytes(4, "little") + state


class Epochs:
    """The batches of a trainer, epoch by epoch.

    Parameters
    ----------
    stage : str
        The public method, for error messages.
    batches : Batches
        The batches; infinite if `steps` is set.
    steps : int or None
        Number of batches in an epoch; the next epoch continues after them. None: each epoch is a
        separate run, from the first batch to the last.
    length : int or None
        Number of batches in a run, if known.
    place : Place
        The position, shared by all forms of a dataset.
    """

    def __init__(
        self, stage: str, batches: Batches, steps: int | None, length: int | None, place: Place
    ) -> None:
        self._stage = stage
        self._batches = batches
        self._steps = steps
        self._length = length
        self._place = place
        self._open: weakref.WeakSet[BatchIterator] = weakref.WeakSet()
        self._run: BatchIterator | None = None  # the run that later epochs continue, with `steps`
        self._begun: Progress | None = None  # the latest epoch
        self.wait_seconds = 0.0

    def __iter__(self) -> Epoch:
        return Epoch(self, Progress(self._batches, self._steps))

    def _begin(self, epoch: Progress) -> BatchIterator:
        """Open the run of an epoch, at its first batch: trainers drop epochs before that."""
        saved, self._place.saved = self._place.saved, None
        last, run = self._begun, self._run
        if saved is not None:
            run = self._restored(epoch, saved)
        elif last is not None and self._is_dropped(last):
            run = self._begun_again(epoch, last)
        run = run or self._opened()
        epoch.run = weakref.ref(run)
        if self._steps is not None:
            epoch.start = epoch.start or run.position()
            self._run = run
        self._begun = epoch
        return run

    def _is_dropped(self, last: Progress) -> bool:
        """Return whether the latest epoch was dropped, as Keras does after building a model."""
        if last.finished or last.given == last.first:
            return False
        # Without steps, a dropped epoch matters only if it started from a restored state.
        return self._steps is not None or (last.restored and last.given == last.first + 1)

    def _begun_again(self, epoch: Progress, last: Progress) -> BatchIterator:
        run = self._opened()
        if last.start is not None:
            run.rewind(last.start)
        epoch.start, epoch.restored = last.start, last.restored
        epoch.first = epoch.given = last.first
        return run

    def _restored(self, epoch: Progress, saved: bytes) -> BatchIterator:
        given = 0
        if saved.startswith(_IN_EPOCH):
            given = int.from_bytes(saved[len(_IN_EPOCH) : _COUNTED], "little")
            saved = saved[_COUNTED:]
            if self._steps is None:
                raise ValueError(
                    f"{self._stage}: the state was saved with steps_per_epoch, got None; pass the "
                    "same number"
                )
            given %= self._steps
        run = self._opened()
        run.set_state(saved, self._place.strict)
        epoch.start, epoch.restored = run.position(), True
        epoch.first = epoch.given = given
        return run

    def _opened(self) -> BatchIterator:
        run = iter(self._batches)
        self._open.add(run)
        return run

    def taken(self, epoch: Epoch) -> Any:
        """Return the next batch of a run. An error or the end of the data closes the run."""
        began = time.perf_counter()
        progress = self._place.latest = epoch.progress
        epoch.run = epoch.run or self._begin(progress)
        if self._place.tracked:
            progress.recent.append(epoch.run.position())
        try:
            batch = next(epoch.run)
        except StopIteration:
            self._end(epoch)
            if progress.restored and self._steps is None and not progress.given:
                # The state was saved after the last batch: the next run follows.
                progress.end = None
                progress.restored = progress.finished = False
                return self.taken(epoch)
            if not progress.given:
                raise ValueError(
                    f"{self._stage}: at least one batch was expected, the dataset has none"
                ) from None
            raise
        except Exception:
            # Do not close on Ctrl-C: closing waits for functions, and one of them may be blocked.
            self._end(epoch)
            raise
        progress.given += 1
        progress.finished = progress.given == self._steps
        if progress.given == self._length and not progress.restored:
            self._end(epoch)  # a trainer that counts batches does not request the end
        self.wait_seconds += time.perf_counter() - began
        return batch

    def _end(self, epoch: Epoch) -> None:
        run, epoch.run = epoch.run, None
        assert run is not None
        epoch.progress.end, epoch.progress.finished = _position(run), True
        run.close()
        if run is self._run:
            self._run = None

    def close(self) -> None:
        """Stop the threads of all epochs; the next epoch starts like the first one."""
        for run in list(self._open):
            run.close()
        self._run = self._begun = None


class Epoch:
    """One epoch of `Epochs`: an iterator. Dropping it stops the threads of its run."""

    def __init__(self, epochs: Epochs, progress: Progress) -> None:
        self._epochs = epochs
        self.progress = progress
        self.run: BatchIterator | None = None

    @property
    def given(self) -> int:
        """Number of batches of the epoch so far."""
        return self.progress.given

    def __iter__(self) -> Epoch:
        return self

    def __next__(self) -> Any:
        if self.progress.finished:
            raise StopIteration
        return self._epochs.taken(self)

    def __del__(self, ends: Finalizing = finalizing) -> None:
        if self.run is not None and not ends():
            self.progress.end = _position(self.run)


def _position(run: BatchIterator) -> bytes | None:
    """Return the position of a run; None if it was closed, or interrupted within a batch."""
    try:
        return run.position()
    except (RuntimeError, ValueError):
        return None
