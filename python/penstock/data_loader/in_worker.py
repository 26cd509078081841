"""State of a DataLoader worker process: its copy of the dataset, and how it makes batches."""

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
    """Initial settings of a worker, sent with the loader.

    Attributes
    ----------
    number : int
        Number of the worker.
    workers : int
        Number of workers.
    base_seed : int
        Seed from which the seeds of all workers derive.
    """

    number: int
    workers: int
    base_seed: int


class Opening(NamedTuple):
    """The position at which a worker starts to read its copy of a dataset.

    Attributes
    ----------
    batches : int
        Number of batches of an iterable dataset to skip.
    failed : tuple of int
        Numbers of skipped batches that were errors.
    state : mapping or None
        The dataset's state after the skipped batches.
    goes_on : bool
        Whether the state is from the middle of an epoch.
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
        The exception; pickled if it was raised in a worker process.
    dataset_state : object
        The dataset's state after the batch, or None.
    unread : bool
        Whether reading the dataset failed.
    last : bool
        Whether nothing follows. Without a failure, this is the end marker itself.
    opened : bool
        Whether this is the reply to an Opening.
    seconds : float
        Time spent on the batch.
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
        self.batch_sampler = None if loader.batch_sampler is None else ()  # only whether it exists
        self._iterable = loader._iterable

    def begin(self, what: Preparation) -> None:
        """Start as one of the workers."""
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
        # These functions return new batches that nothing else refers to.
        batch_memory.share(self.collate_fn in default)

    def _failure(self, error: BaseException) -> Any:
        return pickled_error(error)

    def answer(self, what: Any) -> Made:
        """Open the dataset, or return the batch of the given indices or the next batch."""
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
        except (Exception, SystemExit) as error:  # raised in place of the first batch
            self._unopened = error
            return Made(opened=True)

    def _state(self) -> Kept | None:
        state = state_of(self.dataset)
        return None if state is None else kept(state)

    def end(self) -> None:
        """Stop being a worker."""
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
