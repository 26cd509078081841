"""One pass over a DataLoader: in the calling thread, or with threads of the engine."""

from __future__ import annotations

import itertools
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import numpy as np

from penstock import debugging
from penstock.adapters.batches import Held
from penstock.closing import Closing
from penstock.data_loader import torch_rules
from penstock.data_loader.fetching import Fetch, fetch_of, samples_of
from penstock.data_loader.orders import Failed, Inputs, KnownOrder, begin, draw_base_seed
from penstock.data_loader.position import Position
from penstock.data_loader.workers import Progress, Worker
from penstock.dataset import Dataset
from penstock.options import Options

if TYPE_CHECKING:
    from penstock.data_loader.loader import DataLoader


class Pass(Closing):
    """The batches of one pass; what both kinds of passes share."""

    def __init__(self, loader: DataLoader, position: Position) -> None:
        self._position = position  # how far the pass has come
        self._cut = False  # ended by close() or an interruption: that is not the end of the data
        self._loader_length = loader.__len__
        self._fetch = fetch_of(loader)
        if torch_rules.pins(loader.pin_memory):
            self._fetch = _pinning(self._fetch)

    def __iter__(self) -> Pass:
        return self

    def __len__(self) -> int:
        return self._loader_length()

    def __next__(self) -> Any:
        raise NotImplementedError

    def close(self) -> None:
        """End the pass: no more batches come, and its threads have ended."""
        raise NotImplementedError

    def __reduce__(self) -> Any:
        raise TypeError(
            "DataLoader: a pass cannot be pickled; pickle the loader, and its state_dict()"
        )


class InlinePass(Pass):
    """Each batch is made in the thread that asks for it, when it asks."""

    def __init__(self, loader: DataLoader, position: Position) -> None:
        super().__init__(loader, position)
        self._inputs = _inputs(loader, position)

    def __next__(self) -> Any:
        position = self._position
        try:
            number, what, state = next(self._inputs)
        except StopIteration:
            if not self._cut:
                position.finish()
            raise
        except BaseException:
            self._cut = True
            raise
        if type(what) is Failed:
            position.deliver(number, state, failed=True)
            try:
                raise what.error
            finally:
                del what
        try:
            batch = self._fetch(what)
        except Exception:
            position.deliver(number, state)
            raise
        except BaseException:  # interrupted: the batch is still to come
            self._inputs = itertools.chain([(number, what, state)], self._inputs)
            raise
        position.deliver(number, state)
        return batch

    def close(self) -> None:
        """End the pass: no more batches come."""
        self._cut = True
        self._inputs = iter(())


class ThreadedPass(Pass):
    """Batches are made ahead of use by threads of the engine."""

    def __init__(self, loader: DataLoader, position: Position) -> None:
        super().__init__(loader, position)
        self._progress: Progress | None = None
        if loader.timeout > 0 and not debugging.enabled():  # debugged, nothing runs ahead
            self._progress = Progress(loader.timeout)
        self._in_order = loader.in_order or loader.num_workers == 1
        dataset = _pipeline(loader, position, self._fetch, self._progress)
        options = Options()
        options.warm_start = True  # as PyTorch's workers, which do not wait for the first next()
        self._iterator = iter(dataset.with_options(options))

    def __next__(self) -> Any:
        position = self._position
        if self._progress is not None and not self._cut:
            self._progress.wait(position, self._in_order)
        try:
            held = next(self._iterator)
        except StopIteration:
            if not self._cut:
                position.finish()
            raise
        number, batch, failure, state = held.value
        # The run may keep it for a while, and a raised error refers to this pass.
        held.value = None
        if number is None:
            self._cut = True
        else:
            position.deliver(number, state, failed=type(batch) is Failed)
        if failure is None:
            return batch
        try:
            raise failure
        finally:
            del failure, batch

    def close(self) -> None:
        """End the pass: no more batches come, and its threads have ended."""
        self._cut = True
        self._iterator.close()


def _inputs(loader: DataLoader, position: Position) -> Inputs:
    """Begin a pass at its position; returns what is still to be fetched."""
    without = frozenset(position.ahead)
    if loader._iterable:
        draw_base_seed(loader, position.goes_on)
        failed = frozenset(position.failed)
        return samples_of(loader, position.low, without, failed, position.dataset_state)
    order = begin(loader, position.saved_order, position.low, position.goes_on)
    position.begun(order)
    inputs: Inputs = order.inputs(position.low, without)
    return inputs


def _pipeline(
    loader: DataLoader, position: Position, fetch: Fetch, progress: Progress | None
) -> Dataset:
    workers = loader.num_workers
    inputs = _inputs(loader, position)
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
    loader: DataLoader, position: Position, inputs: Inputs, progress: Progress | None
) -> tuple[Dataset, Any]:
    """Return a dataset of what workers are given, and what turns that to a number and an input."""
    order = position.order
    if isinstance(order, KnownOrder):
        # Numbers alone: the engine counts them without Python.
        if progress is not None:
            progress.ends(len(order))
        numbers = Dataset.range(position.low, len(order))
        if position.ahead:
            left = [n for n in range(position.low, len(order)) if n not in position.ahead]
            numbers = Dataset.from_tensor_slices(np.array(left, np.int64))
        known = order
        return numbers, lambda number: (int(number), known[int(number)], None)

    number = position.low - 1

    def read() -> Iterator[Held]:
        nonlocal number
        failure = None
        try:
            for number, what, state in inputs:
                yield Held((number, what, state))
        except Exception as error:
            failure = error
        finally:
            if progress is not None:
                progress.ends(number + 1)
        if failure is not None:
            yield Held((None, Failed(failure), None))

    args = {"generator": read, "args": (), "output_signature": None, "opaque": True}
    return Dataset._make("from_generator", (), args), lambda item: item.value


def _pinning(fetch: Fetch) -> Fetch:
    return lambda what: torch_rules.pinned(fetch(what))
