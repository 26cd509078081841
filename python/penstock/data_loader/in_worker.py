"""What a worker process holds for a loader: its copy of the dataset, and what makes batches."""

from __future__ import annotations

import time
from typing import Any, NamedTuple

from penstock.data_loader import batch_memory, torch_rules, worker_info
from penstock.data_loader.collate import default_collate
from penstock.data_loader.fetching import Reading, fetch_of
from penstock.data_loader.orders import END, Failed, Inputs
from penstock.data_loader.position import Kept, kept
from penstock.data_loader.settings import Settings
from penstock.stream_states import restore, state_of
from penstock.workers.objects import pickled_error


class Preparation(NamedTuple):
    """What one of several workers is given with the loader.

    Attributes
    ----------
    number : int
        Its own.
    workers : int
        How many there are.
    base_seed : int
        What the seeds of all of them follow from.
    """

    number: int
    workers: int
    base_seed: int


class Opening(NamedTuple):
    """The position at which a worker starts to read its copy of a dataset.

    Attributes
    ----------
    batches : int
        The number of batches of an iterable dataset to skip.
    failed : tuple of int
        The numbers of skipped batches that were errors.
    state : mapping or None
        The dataset's state after the skipped batches.
    goes_on : bool
        Whether the state is from the middle of a pass.
    """

    batches: int = 0
    failed: tuple[int, ...] = ()
    state: Kept | None = None
    goes_on: bool = False


class Made(NamedTuple):
    """A batch, or an error in place of it.

    Attributes
    ----------
    batch : object
        The batch.
    failure : bytes, Exception or SystemExit, optional
        The exception; pickled where it comes from a worker.
    dataset_state : object
        The dataset's state after it, or None.
    unread : bool
        Whether reading the dataset has failed.
    last : bool
        Whether nothing comes after it: without a failure, the end itself.
    opened : bool
        Whether it is the answer to an Opening.
    seconds : float
        The time that it took.
    """

    batch: Any = None
    failure: bytes | Exception | SystemExit | None = None
    dataset_state: Any = None
    unread: bool = False
    last: bool = False
    opened: bool = False
    seconds: float = 0.0


class LoaderInWorker(Settings):
    """The arguments of a loader that its workers need.

    Parameters
    ----------
    loader : Settings
        The loader.
    """

    def __init__(self, loader: Settings) -> None:
        self.dataset = loader.dataset
        self.batch_size = loader.batch_size
        self.drop_last = loader.drop_last
        self.collate_fn = loader.collate_fn
        self.worker_init_fn = loader.worker_init_fn
        self.sampler = None
        self.batch_sampler = None if loader.batch_sampler is None else ()  # that there is one
        self._iterable = loader._iterable

    def begin(self, what: Preparation) -> None:
        """Be one of the workers."""
        self._enter(what)
        if self.worker_init_fn is not None:
            self.worker_init_fn(what.number)
        self._fetch = fetch_of(self)
        self._reading: Reading | None = None
        self._passes = 0
        self._inputs: Inputs = iter(())
        self._unopened: BaseException | None = None

    def _enter(self, what: Preparation) -> None:
        worker_info.be(what.number, what.workers, what.base_seed, self.dataset)
        default = (default_collate, getattr(torch_rules.data(), "default_collate", None))
        # Only this module refers to the batches that these make.
        batch_memory.share(self.collate_fn in default)

    def _failure(self, error: BaseException) -> Any:
        return pickled_error(error)

    def answer(self, what: Any) -> Made:
        """Open the dataset, or return the batch of the given indices, or the next batch."""
        if type(what) is Opening:
            return self._open(what)
        if self._unopened is not None:
            return Made(failure=self._failure(self._unopened), last=self._iterable)
        if not self._iterable:
            return self._made(what, None)
        try:
            number, samples, state = next(self._inputs, END)
        except (Exception, SystemExit) as error:
            return Made(failure=self._failure(error), last=True)
        if number < 0:
            assert self._reading is not None
            return Made(last=True, dataset_state=self._reading.state())
        if type(samples) is Failed:
            return Made(failure=self._failure(samples.error), dataset_state=state, unread=True)
        return self._made(samples, state)

    def _open(self, what: Opening) -> Made:
        self._unopened = None
        try:
            if not self._iterable:
                if what.state is not None and what.state["dataset_state"] is not None:
                    restore(self.dataset, what.state["dataset_state"])
                return Made(dataset_state=self._state(), opened=True)
            self._reading = Reading(
                self, what.batches, (), what.failed, what.state, what.goes_on
            ).open(self._passes)
            self._passes += 1
            self._inputs = self._reading.inputs()
            return Made(dataset_state=self._reading.state(), opened=True)
        except (Exception, SystemExit) as error:  # raised at the position of the first batch
            self._unopened = error
            return Made(opened=True)

    def _state(self) -> Kept | None:
        state = state_of(self.dataset)
        return None if state is None else kept(state)

    def end(self) -> None:
        """Let go of the dataset."""
        worker_info.end()
        batch_memory.share(False)

    def _made(self, what: Any, state: Any) -> Made:
        made: dict[str, Any] = {}
        began = time.perf_counter()
        try:
            made["batch"] = self._fetch(what)
        except (Exception, SystemExit) as error:
            made["failure"] = self._failure(error)
        made["seconds"] = time.perf_counter() - began
        return Made(**made, dataset_state=state if self._iterable else self._state())
