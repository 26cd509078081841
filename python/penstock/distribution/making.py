"""What a worker does: makes the elements of leases, each with the state after it."""

from __future__ import annotations

import dataclasses
import pickle
import time
import traceback
from typing import Any

import numpy as np

from penstock import _core
from penstock.dataset import Dataset
from penstock.distribution.serial import serial


@dataclasses.dataclass(frozen=True, slots=True)
class Order:
    """A lease as workers get it."""

    sequence: int  # of the run: after an error, and after set_state, another one begins
    known: int  # a position in it, at or before `first`
    state: bytes  # of the pipeline there
    first: int
    count: int


@dataclasses.dataclass(frozen=True, slots=True)
class Made:
    """The elements of a lease, and the states of the pipeline after each of them.

    `error` came after them; it is a step, too, and so has a state. `ended`: no more elements come.
    """

    values: list[Any]
    states: list[bytes]
    error: Exception | None
    ended: bool
    seconds: float
    nbytes: int


class Maker:
    """Makes what orders ask for, by one iterator as long as they go forward.

    Parameters
    ----------
    dataset : Dataset
        Of which the elements are.
    account : bytes
        What decides its data, which states hold.
    name : str
        What errors call the worker.
    """

    def __init__(self, dataset: Dataset, account: bytes, name: str) -> None:
        self._dataset = serial(dataset)
        self._account = account
        self._name = name
        self._iterator: _core.Iterator | None = None
        self._sequence = -1
        self._at = 0

    def make(self, order: Order) -> Made:
        """Return the elements of an order, or those before the first error or the end."""
        began = time.perf_counter()
        values: list[Any] = []
        states: list[bytes] = []
        error, ended = None, False
        try:
            iterator = self._iterator_at(order)
            for _ in range(order.count):
                values.append(next(iterator))
                states.append(iterator._save_state(self._account))
                self._at += 1
        except StopIteration:
            ended = True
        except Exception as raised:
            error = portable(raised, f"{self._name}, element {order.first + len(values)}")
            if self._iterator is not None and self._at == order.first + len(values):
                states.append(self._iterator._save_state(self._account))
            self.close()
        seconds = time.perf_counter() - began
        return Made(values, states, error, ended, seconds, sum(map(_nbytes, values)))

    def close(self) -> None:
        """Let go of the iterator."""
        iterator, self._iterator = self._iterator, None
        if iterator is not None:
            iterator.close()

    def _iterator_at(self, order: Order) -> _core.Iterator:
        if self._sequence != order.sequence or self._at > order.first:
            self.close()
        iterator = self._iterator
        if iterator is None:
            iterator = iter(self._dataset)
            _core.Iterator.set_state(iterator, order.state)
            self._sequence, self._at = order.sequence, order.known
        self._iterator = None  # it is thrown away if passing over elements fails
        iterator._pass_over(order.first - self._at)
        self._iterator, self._at = iterator, order.first
        return iterator


def portable(error: Exception, place: str) -> Exception:
    """Return an exception that can be pickled, with notes that say where it was raised."""
    trace = "".join(traceback.format_exception(error)).rstrip()
    try:
        copy: Exception = pickle.loads(pickle.dumps(error))
        if type(copy) is not type(error) or str(copy) != str(error):
            raise TypeError("it is another one after a pickle")
    except Exception:
        copy = RuntimeError(f"{type(error).__qualname__}: {error}")
        for note in getattr(error, "__notes__", ()):
            copy.add_note(note)
    copy.add_note(f"distribute: {place}; there the trace was:\n{trace}")
    return copy


def _nbytes(value: Any) -> int:
    """Return the bytes of the arrays in an element."""
    total = 0
    waiting = [value]
    while waiting:
        each = waiting.pop()
        if isinstance(each, dict):
            waiting += each.values()
        elif isinstance(each, (tuple, list)):
            waiting += each
        elif isinstance(each, (np.ndarray, np.generic)):
            total += each.nbytes
        elif isinstance(each, (bytes, str)):
            total += len(each)
    return total
