"""What a worker does: makes the elements of leases, with positions among them."""

from __future__ import annotations

import dataclasses
import time

from penstock import _core
from penstock.dataset import Dataset
from penstock.distribution.serial import serial
from penstock.iterator import Iterator


@dataclasses.dataclass(frozen=True, slots=True)
class Order:
    """A lease as workers get it."""

    sequence: int  # of the run: after an error, and after set_state, another one begins
    place: bytes  # position of the pipeline in a larger one, for random draws
    state: bytes  # of the pipeline where the sequence begins
    sound: bool  # none of the elements before the lease failed
    first: int
    count: int


@dataclasses.dataclass(frozen=True, slots=True)
class Made:
    """What has become of a lease: the rows, or where Ray has them, and what is known of them."""

    rows: object
    steps: int
    ended: bool  # no more elements come
    seconds: float
    nbytes: int


class Maker:
    """Makes what orders ask for, by one iterator as long as they go forward.

    Parameters
    ----------
    dataset : Dataset
        Of which the elements are.
    name : str
        What errors call the worker.
    """

    def __init__(self, dataset: Dataset, name: str) -> None:
        self._dataset = serial(dataset)
        self._name = name
        self._iterator: Iterator | None = None
        self._sequence = -1
        self._at = 0

    def make(self, order: Order) -> Made:
        """Return the elements of an order, or those before the first error or the end."""
        began = time.perf_counter()
        rows = self._make(order, order.sound)
        if rows.astray and order.sound:  # one of another worker's elements failed after all
            self.close()
            rows = self._make(order, False)
        if rows.failed or rows.ended:
            self.close()
        seconds = time.perf_counter() - began
        return Made(rows, rows.steps, rows.ended, seconds, rows.nbytes)

    def close(self) -> None:
        """Let go of the iterator; another thread may do so to end what this one makes."""
        iterator, self._iterator = self._iterator, None
        if iterator is not None:
            iterator.close()

    def _make(self, order: Order, sound: bool) -> _core.MadeRows:
        iterator = self._iterator
        if iterator is None or self._sequence != order.sequence or self._at > order.first:
            self.close()
            # Not counted: the seed of the run is that of the consumer's, which has counted it.
            options = self._dataset._options._for_engine(counted=False) | {"place": order.place}
            iterator = Iterator(self._dataset, options)
            _core.Iterator.set_state(iterator, order.state)
            self._iterator, self._sequence, self._at = iterator, order.sequence, 0
        rows = iterator._make(order.first - self._at, sound, order.count, self._name)
        self._at = order.first + rows.steps
        return rows
