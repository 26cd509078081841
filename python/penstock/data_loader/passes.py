"""An epoch of a DataLoader, in the calling thread or with the engine's threads."""

from __future__ import annotations

import functools
import itertools
import threading
import time
import warnings
from collections.abc import Callable, Iterator
from typing import Any, NoReturn

import numpy as np

from penstock import debugging
from penstock.adapters.batches import Held
from penstock.closing import Closing
from penstock.counters import totals
from penstock.data_loader import torch_rules
from penstock.data_loader.fetching import Fetch, Reading, fetch_of, of_processes
from penstock.data_loader.orders import (
    END,
    Failed,
    Input,
    Inputs,
    KnownOrder,
    base_seed_of,
    begin,
    begin_reading,
)
from penstock.data_loader.position import Kept, Position, Reached, kept
from penstock.data_loader.settings import Settings
from penstock.data_loader.workers import PREPARE, Progress, Threads, Worker
from penstock.dataset import Dataset
from penstock.exclusions import ignored
from penstock.options import Options
from penstock.stream_states import keeps_state, restore, state_of


class Pass(Closing):
    """The batches of an epoch: base class of all kinds of passes."""

    def __init__(self, loader: Settings, position: Position) -> None:
        self._position = position  # progress within the epoch
        self._cut = False  # ended by close() or an interruption, which is not the end of the data
        # At most one item: taken from the source, but not delivered before an interruption.
        self._pulled: list[Any] = []
        self._loader = loader
        self._counts = loader._counts
        # Each worker that reads a copy may return an incomplete last batch.
        self._most = loader._announced
        if (loader.batch_size or 1) > 1:
            self._most += max(loader.num_workers - 1, 0)

    def __iter__(self) -> Pass:
        return self

    def __len__(self) -> int:
        return len(self._loader)

    def __next__(self) -> Any:
        raise NotImplementedError

    @property
    def _buffered(self) -> int:
        """Number of batches that are ready now."""
        return 0

    @property
    def _pids(self) -> list[int]:
        """Process IDs of the workers."""
        return []

    def close(self) -> None:
        """End the epoch: no more batches are returned, and its threads have ended."""
        raise NotImplementedError

    def _pull(self, source: Iterator[Any]) -> None:
        """Take the next item, if any. An interruption leaves it either taken or not yet drawn.

        Python handles signals after every call, so the result of a plain `next` could be lost.
        """
        self._pulled.extend(itertools.islice(source, 1))

    def _warn_of_length(self) -> None:
        warnings.warn(
            f"DataLoader: len() announced at most {self._most} batches, but more were fetched; "
            "correct the dataset's __len__, or, if each worker reads a copy of the dataset, "
            "divide the samples in __iter__ by get_worker_info()",
            stacklevel=3,
        )

    def _ended_by_an_interrupt(self) -> RuntimeError:
        return RuntimeError(
            "DataLoader: a KeyboardInterrupt reached the iterator of the dataset or the sampler, "
            f"which may have ended by it, so that batch {self._position.reached.low} and those "
            "after it did not come; to continue there, call "
            "loader.load_state_dict(loader.state_dict()) and begin another pass"
        )

    def __reduce__(self) -> Any:
        raise TypeError(
            "DataLoader: a pass cannot be pickled; pickle the loader, and its state_dict()"
        )


class InlinePass(Pass):
    """An epoch without workers: each `next` makes its batch in the calling thread."""

    def __init__(self, loader: Settings, position: Position) -> None:
        super().__init__(loader, position)
        self._fetch = self._counts.timed(_fetching(loader))
        self._reading: Reading | None = None
        inputs: Inputs
        self._state: Callable[[], Any] | None = None
        if loader._iterable:
            reading = _reading(loader, position)
            reading.restore_ended()
            begin_reading(loader, position.goes_on)
            self._reading = reading.open()
            position.opened(reading.state())
            inputs = reading.inputs()
        else:
            inputs, self._state = _begun(loader, position)
        self._order = position.order if isinstance(position.order, KnownOrder) else None
        self._source: Iterator[Any] = inputs if self._order is None else numbers_of(position)

    def __next__(self) -> Any:
        asked = time.perf_counter()
        position = self._position
        if not self._pulled:
            try:
                self._pull(self._source)
            except Exception:
                self._cut = True
                raise
        if not self._pulled or self._pulled[0] is END:
            self._end()
        number, what, state = self._pulled[0] if self._order is None else self._known()
        reached = position.after(number, state, failed=type(what) is Failed)
        try:
            if type(what) is Failed:
                raise what.error
            batch = self._fetch(what)
        except Exception:
            self._counts.came(asked, failed=True)
            self._pulled, position.reached = [], self._with_state(reached)
            raise
        finally:
            del what  # the exception refers to this frame
        if self._state is not None:
            reached = self._with_state(reached)
        if reached.low > self._most:
            self._warn_of_length()
        self._counts.came(asked, failed=False)
        # No signal may be handled between here and the return to the caller.
        self._pulled, position.reached = [], reached
        return batch

    def _with_state(self, reached: Reached) -> Reached:
        if self._state is None:
            return reached
        return reached._replace(dataset_state=self._state())

    def _known(self) -> Input:
        (number,) = self._pulled
        return number, self._order[number], None  # type: ignore[index]

    def _end(self) -> NoReturn:
        if self._pulled or (self._order is not None and not self._cut):
            self._position.finish()
        elif not self._cut:
            error = self._ended_by_an_interrupt()
            self._cut = True
            raise error
        raise StopIteration

    def close(self) -> None:
        """End the epoch: no more batches are returned."""
        self._cut = True
        self._source, self._pulled = iter(()), []


class ThreadedPass(Pass):
    """An epoch whose batches are made in advance by the engine's threads."""

    def __init__(self, loader: Settings, position: Position) -> None:
        super().__init__(loader, position)
        self._progress: Progress | None = None
        if loader.timeout > 0 and not debugging.enabled():  # nothing runs ahead while debugging
            self._progress = Progress(loader.timeout)
        self._in_order = loader.in_order or loader.num_workers == 1
        fetch = self._counts.timed(_fetching(loader))
        dataset = _pipeline(loader, position, fetch, self._progress)
        options = Options()
        options.warm_start = True  # PyTorch's workers also start before the first next()
        self._iterator = iter(dataset.with_options(options))
        totals.drop(self._iterator)  # the loader counts its own elements
        if debugging.enabled() or self._iterator._short_of_threads():
            position.settle = None  # the dataset is opened in next()

    @property
    def _buffered(self) -> int:
        """Number of batches that are ready now."""
        return int(sum(stage["buffer_size"] for stage in self._iterator._stage_stats()))

    def __next__(self) -> Any:
        asked = time.perf_counter()
        position = self._position
        if not self._pulled:
            # Without separate threads, next() makes the batch, so there is nothing to wait for.
            alone = self._iterator._short_of_threads()
            if self._progress is not None and not self._cut and not alone:
                self._progress.wait(position, self._in_order)
            self._pull(self._iterator)
            while self._pulled and self._pulled[0].value is None:  # a thread was prepared
                self._pulled = []
                self._pull(self._iterator)
            if not self._pulled:
                if not self._cut:
                    position.finish()
                raise StopIteration
        (held,) = self._pulled
        number, batch, failure, state = held.value
        reached = position.reached
        if number is None:
            self._cut = True
        else:
            reached = position.after(number, state, failed=type(batch) is Failed)
        if reached.low > self._most:
            self._warn_of_length()
        self._counts.came(asked, failed=failure is not None)
        # No signal may be handled between here and the return to the caller.
        self._pulled, position.reached = [], reached
        # The engine may keep `held` for a while, and a raised error refers to this pass.
        held.value = None
        if failure is None:
            return batch
        try:
            raise failure
        finally:
            del failure, batch

    def close(self) -> None:
        """End the epoch: no more batches are returned, and its threads have ended."""
        self._cut = True
        self._pulled = []
        self._position.settle = None
        self._iterator.close()


def inputs_of(loader: Settings, position: Position) -> Inputs:
    """Begin an epoch of a map-style dataset at its position.

    Returns
    -------
    iterator
        The remaining inputs; empty if the order is known in advance.
    """
    low, ahead, *_ = position.reached
    order = begin(loader, position.saved_order, low, position.goes_on)
    position.begun(order)
    return iter(()) if isinstance(order, KnownOrder) else order.inputs(low, frozenset(ahead))


def numbers_of(position: Position) -> Iterator[int]:
    """Return the numbers of the remaining batches, without running Python code."""
    low, ahead, *_ = position.reached
    return itertools.filterfalse(frozenset(ahead).__contains__, range(low, len(position.order)))


def _reading(loader: Settings, position: Position) -> Reading:
    low, ahead, dataset_state, failed = position.reached
    position.final = functools.partial(kept_now, loader.dataset)
    goes_on = position.goes_on
    return Reading(loader, low, frozenset(ahead), frozenset(failed), dataset_state, goes_on)


def kept_now(dataset: Any) -> Kept | None:
    """Return the current state of a dataset."""
    state = state_of(dataset)
    return None if state is None else kept(state)


def _begun(loader: Settings, position: Position) -> tuple[Inputs, Callable[[], Any] | None]:
    """Begin an epoch of a map-style dataset in this process.

    Returns
    -------
    tuple
        The result of `inputs_of`, and a function that returns the dataset's state (None if the
        dataset has no state).
    """
    dataset, saved = loader.dataset, position.reached.dataset_state or {}
    if "workers" in saved:
        raise of_processes(len(saved["workers"]))
    own = saved.get("dataset_state")
    # The state may include the global generator that orders are drawn from. A state after the end
    # of an epoch was saved before the draws of the next one. A state within an epoch was saved
    # after the draws of that epoch.
    if own is not None and not position.goes_on:
        restore(dataset, own)
    inputs = inputs_of(loader, position)
    if own is not None and position.goes_on:
        restore(dataset, own)
    if not keeps_state(dataset):
        return inputs, None
    position.opened(kept_now(dataset))
    position.final = functools.partial(kept_now, dataset)
    return inputs, position.final


def _pipeline(
    loader: Settings, position: Position, fetch: Fetch, progress: Progress | None
) -> Dataset:
    workers = loader.num_workers
    drawn = None
    inputs: Inputs = iter(())
    reading = state = None
    if loader._iterable:
        drawn = begin_reading(loader, position.goes_on)
        reading = _reading(loader, position)
    else:
        inputs, state = _begun(loader, position)
    base_seed = _seed_of_threads(position, drawn)
    if loader._iterable:
        loader._draws.keep(base_seed, loader.persistent_workers)
    threads = Threads(loader, base_seed)
    if reading is not None:
        inputs = _read(reading, position, threads, loader._draws.passes)
    calls = workers - 1 if loader._iterable else workers
    prepared = loader.worker_init_fn is not None and workers > 1 and state is None
    source, wanted = _source(position, inputs, progress, calls if prepared else 0)
    # The loader already identifies the dataset; the identity of this pipeline is never used.
    work = ignored(Worker(fetch, wanted, threads, state, progress))
    factor = loader.prefetch_factor or 1
    if workers == 1:
        return source.map(work).prefetch(factor)
    if state is not None:
        # Batches are made sequentially, so the state after a batch covers exactly the batches up to
        # it.
        return source.map(work).prefetch(factor * workers)
    # If Python code reads the source, one of the threads is busy reading.
    made = source.map(work, num_parallel_calls=calls, deterministic=loader.in_order)
    return made.prefetch((factor - 2) * workers) if factor > 2 else made


def _read(reading: Reading, position: Position, threads: Threads, passes: int) -> Inputs:
    """Read an iterable dataset in worker threads; prepare each thread before it reads."""
    opened = threading.Event()
    position.settle = opened.wait

    def inputs() -> Inputs:
        try:
            before = threads.enter(reads=True)
            try:
                reading.open(passes)
                position.opened(reading.state())
            finally:
                threads.leave(before)
        finally:
            opened.set()
        given: Any = None
        batches = reading.inputs()
        while given is not END:
            before = threads.enter(reads=True)
            try:
                given = next(batches, END)
            finally:
                threads.leave(before)
            yield given

    return inputs()


def _seed_of_threads(position: Position, drawn: int | None) -> int:
    """Return the base of the seeds in the threads' WorkerInfo, without drawing a number."""
    state = {} if position.order is None else position.order.state
    if drawn is None and "base_seed" not in state and "seed" not in state:
        return int(np.random.SeedSequence().generate_state(1, np.uint64)[0] >> 1)
    return base_seed_of(drawn, state, state)


def _source(
    position: Position, inputs: Inputs, progress: Progress | None, preparations: int
) -> tuple[Dataset, Any]:
    """Return a dataset of the workers' inputs, and a function that unpacks its elements.

    The dataset begins with one element for each thread to prepare.
    """
    order = position.order
    if isinstance(order, KnownOrder):
        # Use plain numbers, which the engine counts without Python.
        if progress is not None:
            progress.ends(len(order))
        numbers = Dataset.range(position.reached.low, len(order))
        if position.reached.ahead:
            numbers = Dataset.from_tensor_slices(np.fromiter(numbers_of(position), np.int64))
        known = order

        def wanted(number: Any) -> Input:
            number = int(number)
            return (number, None if number == PREPARE else known[number], None)

        if preparations:
            first = Dataset.from_tensor_slices(np.full(preparations, PREPARE, np.int64))
            numbers = first.concatenate(numbers)
        return numbers, wanted

    number = position.reached.low - 1

    def read() -> Iterator[Held]:
        nonlocal number
        failure = None
        try:
            for _ in range(preparations):
                yield Held((PREPARE, None, None))
            for given in itertools.takewhile(lambda given: given is not END, inputs):
                number = given[0]
                yield Held(given)
        except Exception as error:
            failure = error
        finally:
            if progress is not None:
                progress.ends(number + 1)
        if failure is not None:
            yield Held((None, Failed(failure), None))

    args = {"generator": ignored(read), "args": (), "output_signature": None, "opaque": True}
    return Dataset._make("from_generator", (), args), lambda item: item.value


def _fetching(loader: Settings) -> Fetch:
    fetch = fetch_of(loader)
    if not torch_rules.pins(loader.pin_memory):
        return fetch
    return lambda what: torch_rules.pinned(fetch(what))
