"""A worker's part: make the elements of leases."""

from __future__ import annotations

import dataclasses
import time

from penstock import _core
from penstock.dataset import Dataset
from penstock.distribution.serial import serial
from penstock.iterator import Iterator


@dataclasses.dataclass(frozen=True, slots=True)
class Order:
    """A lease in the form sent to workers."""

    sequence: int  # of the run; increases after an error, and after set_state
    place: bytes  # position of the pipeline in a larger one, for random draws
    state: bytes  # state of the pipeline at the start of the sequence
    sound: bool  # none of the elements before the lease failed
    first: int
    count: int


@dataclasses.dataclass(frozen=True, slots=True)
class Made:
    """The result of a lease: the rows, or a reference to them in Ray, and their properties."""

    rows: object
    steps: int
    ended: bool  # whether no more elements follow
    seconds: float
    nbytes: int


class Maker:
    """Make the elements of orders, with the same iterator as long as positions increase.

    Parameters
    ----------
    dataset : Dataset
        The pipeline to run.
    name : str
        Name of the worker in errors.
    """

    def __init__(self, dataset: Dataset, name: str) -> None:
        self._dataset = serial(dataset)
        self._name = name
        self._iterator: Iterator | None = None
        self._sequence = -1
        self._at = 0

    def make(self, order: Order) -> Made:
        """Return the elements of an order, up to the first error or the end."""
        began = time.perf_counter()
        rows = self._make(order, order.sound)
        if rows.astray and order.sound:  # an element of another worker failed, contrary to `sound`
            self.close()
            rows = self._make(order, False)
        if rows.failed or rows.ended:
            self.close()
        seconds = time.perf_counter() - began
        return Made(rows, rows.steps, rows.ended, seconds, rows.nbytes)

    def close(self) -> None:
        """Close the iterator; another thread may call this to interrupt `make`."""
        iterator, self._iterator = self._iterator, None
        if iterator is not None:
            iterator.close()

    def _make(self, order: Order, sound: bool) -> _core.MadeRows:
        iterator = self._iterator
        if iterator is None or self._sequence != order.sequence or self._at > order.first:
            self.close()
            # Not counted: the consumer's run has counted the seed that this run uses.
            options = self._dataset._options._for_engine(counted=False) | {"place": order.place}
            iterator = Iterator(self._dataset, options)
            _core.Iterator.set_state(iterator, order.state)
            self._iterator, self._sequence, self._at = iterator, order.sequence, 0
        rows = iterator._make(order.first - self._at, sound, order.count, self._name)
        self._at = order.first + rows.steps
        return rows
