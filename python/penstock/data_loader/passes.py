"""One pass over a DataLoader: in the calling thread, or with threads of the engine."""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from typing import Any, NoReturn

import numpy as np

from penstock import debugging
from penstock.adapters.batches import Held
from penstock.closing import Closing
from penstock.data_loader import torch_rules
from penstock.data_loader.fetching import Fetch, fetch_of, samples_of
from penstock.data_loader.orders import (
    END,
    Failed,
    Input,
    Inputs,
    KnownOrder,
    begin,
    draw_base_seed,
)
from penstock.data_loader.position import Position
from penstock.data_loader.settings import Settings
from penstock.data_loader.workers import Progress, Worker
from penstock.dataset import Dataset
from penstock.options import Options


class Pass(Closing):
    """The batches of one pass; what both kinds of passes share."""

    def __init__(self, loader: Settings, position: Position) -> None:
        self._position = position  # how far the pass has come
        self._cut = False  # ended by close() or an interruption: that is not the end of the data
        # At most one: what came, and was not handed over before an interruption.
        self._pulled: list[Any] = []
        self._loader_length = loader.__len__

    def __iter__(self) -> Pass:
        return self

    def __len__(self) -> int:
        return self._loader_length()

    def __next__(self) -> Any:
        raise NotImplementedError

    def close(self) -> None:
        """End the pass: no more batches come, and its threads have ended."""
        raise NotImplementedError

    def _pull(self, source: Iterator[Any]) -> None:
        """Take what comes next, if anything does; an interruption finds it taken or not come.

        Python looks for signals after every call: `next` might return to no one.
        """
        self._pulled.extend(itertools.islice(source, 1))

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
    """Each batch is made in the thread that asks for it, when it asks."""

    def __init__(self, loader: Settings, position: Position) -> None:
        super().__init__(loader, position)
        self._fetch = _fetching(loader)
        inputs = inputs_of(loader, position)
        self._order = position.order if isinstance(position.order, KnownOrder) else None
        self._source: Iterator[Any] = inputs if self._order is None else numbers_of(position)

    def __next__(self) -> Any:
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
            self._pulled, position.reached = [], reached
            raise
        finally:
            del what  # an error refers to this frame
        # No look for signals until the caller has it.
        self._pulled, position.reached = [], reached
        return batch

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
        """End the pass: no more batches come."""
        self._cut = True
        self._source, self._pulled = iter(()), []


class ThreadedPass(Pass):
    """Batches are made ahead of use by threads of the engine."""

    def __init__(self, loader: Settings, position: Position) -> None:
        super().__init__(loader, position)
        self._progress: Progress | None = None
        if loader.timeout > 0 and not debugging.enabled():  # debugged, nothing runs ahead
            self._progress = Progress(loader.timeout)
        self._in_order = loader.in_order or loader.num_workers == 1
        dataset = _pipeline(loader, position, _fetching(loader), self._progress)
        options = Options()
        options.warm_start = True  # as PyTorch's workers, which do not wait for the first next()
        self._iterator = iter(dataset.with_options(options))

    def __next__(self) -> Any:
        position = self._position
        if not self._pulled:
            # Without threads of its own a batch is made in next(): no one can wait for it outside.
            alone = self._iterator._short_of_threads()
            if self._progress is not None and not self._cut and not alone:
                self._progress.wait(position, self._in_order)
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
        # No look for signals until the caller has it.
        self._pulled, position.reached = [], reached
        # The run may keep it for a while, and a raised error refers to this pass.
        held.value = None
        if failure is None:
            return batch
        try:
            raise failure
        finally:
            del failure, batch

    def close(self) -> None:
        """End the pass: no more batches come, and its threads have ended."""
        self._cut = True
        self._pulled = []
        self._iterator.close()


def inputs_of(loader: Settings, position: Position) -> Inputs:
    """Begin a pass at its position; returns what is still to be fetched, if not all is known."""
    low, ahead, dataset_state, failed = position.reached
    without = frozenset(ahead)
    if loader._iterable:
        draw_base_seed(loader, position.goes_on)
        return samples_of(loader, low, without, frozenset(failed), dataset_state)
    order = begin(loader, position.saved_order, low, position.goes_on)
    position.begun(order)
    return iter(()) if isinstance(order, KnownOrder) else order.inputs(low, without)


def numbers_of(position: Position) -> Iterator[int]:
    """Return the numbers of the batches that are still to come, without running Python code."""
    low, ahead, *_ = position.reached
    return itertools.filterfalse(frozenset(ahead).__contains__, range(low, len(position.order)))


def _pipeline(
    loader: Settings, position: Position, fetch: Fetch, progress: Progress | None
) -> Dataset:
    workers = loader.num_workers
    inputs = inputs_of(loader, position)
    source, wanted = _source(loader, position, inputs, progress)
    work = Worker(fetch, wanted, loader.worker_init_fn, workers, progress)
    factor = loader.prefetch_factor or 1
    if workers == 1:
        return source.map(work).prefetch(factor)
    # Beside a source that is read by Python one thread of them is busy reading.
    calls = workers - 1 if loader._iterable else workers
    made = source.map(work, num_parallel_calls=calls, deterministic=loader.in_order)
    return made.prefetch((factor - 2) * workers) if factor > 2 else made


def _source(
    loader: Settings, position: Position, inputs: Inputs, progress: Progress | None
) -> tuple[Dataset, Any]:
    """Return a dataset of what workers are given, and what turns that to a number and an input."""
    order = position.order
    if isinstance(order, KnownOrder):
        # Numbers alone: the engine counts them without Python.
        if progress is not None:
            progress.ends(len(order))
        numbers = Dataset.range(position.reached.low, len(order))
        if position.reached.ahead:
            numbers = Dataset.from_tensor_slices(np.fromiter(numbers_of(position), np.int64))
        known = order
        return numbers, lambda number: (int(number), known[int(number)], None)

    number = position.reached.low - 1

    def read() -> Iterator[Held]:
        nonlocal number
        failure = None
        try:
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

    args = {"generator": read, "args": (), "output_signature": None, "opaque": True}
    return Dataset._make("from_generator", (), args), lambda item: item.value


def _fetching(loader: Settings) -> Fetch:
    fetch = fetch_of(loader)
    if not torch_rules.pins(loader.pin_memory):
        return fetch
    return lambda what: torch_rules.pinned(fetch(what))
