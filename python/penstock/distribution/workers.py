"""What carries leases to workers and results back, and its simplest form: threads."""

from __future__ import annotations

import collections
import dataclasses
import queue
import threading
from typing import Any, Protocol

from penstock.dataset import Dataset
from penstock.distribution.making import Made, Maker, Order

_LOOK_SECONDS = 0.05  # between looks whether a thread has ended

Task = tuple[int, int]  # the sequence, and the number of the lease


@dataclasses.dataclass(frozen=True, slots=True)
class Event:
    """What a worker has answered, or why it never will."""

    worker: int
    task: Task
    made: Made | None
    lost: str = ""  # why


class Workers(Protocol):
    """Workers that are numbered; the thread that asks is the only one that calls."""

    def ready(self) -> list[int]:
        """Return those that can be given work."""

    def give(self, worker: int, task: Task, order: Order) -> None:
        """Have a worker make an order after those that it has."""

    def events(self, seconds: float) -> list[Event]:
        """Return what has happened; waits until something has, `seconds` at most.

        Until `handled` is called the same events come again.
        """

    def handled(self) -> None:
        """Forget the last events."""

    def close(self) -> None:
        """End the workers."""


class Threads:
    """Workers that are threads of this process.

    Parameters
    ----------
    dataset : Dataset
        What they make.
    count : int
        How many threads.
    """

    def __init__(self, dataset: Dataset, count: int) -> None:
        self._shared = _Shared()
        self._orders: list[queue.SimpleQueue[tuple[Task, Order] | None]] = []
        self._threads: list[threading.Thread] = []
        self._makers: list[Maker] = []
        self._looked_at = 0
        for number in range(count):
            orders: queue.SimpleQueue[tuple[Task, Order] | None] = queue.SimpleQueue()
            maker = Maker(dataset, f"in thread {number}")
            thread = threading.Thread(
                target=_work,
                args=(number, maker, orders, self._shared),
                name=f"ps-distribute-{number}",
                daemon=True,
            )
            thread.start()
            self._orders.append(orders)
            self._threads.append(thread)
            self._makers.append(maker)

    def ready(self) -> list[int]:
        """Return all."""
        return list(range(len(self._orders)))

    def give(self, worker: int, task: Task, order: Order) -> None:
        """Have a worker make an order after those that it has."""
        self._orders[worker].put((task, order))

    def events(self, seconds: float) -> list[Event]:
        """Return what has happened; waits until something has, `seconds` at most."""
        with self._shared.changed:
            self._shared.changed.wait_for(lambda: self._shared.events, seconds)
            found = list(self._shared.events)
        self._looked_at = len(found)
        return found

    def handled(self) -> None:
        """Forget the last events."""
        with self._shared.changed:
            for _ in range(self._looked_at):
                self._shared.events.popleft()
        self._looked_at = 0

    def close(self) -> None:
        """End the threads and wait for them: as long as the functions take that they are in."""
        self._shared.closed = True
        for orders in self._orders:
            orders.put(None)
        for maker, thread in zip(self._makers, self._threads, strict=True):
            while thread is not threading.current_thread() and thread.is_alive():
                maker.close()  # of an iterator that it may just have begun
                thread.join(_LOOK_SECONDS)


class _Shared:
    """What threads and their consumer have in common."""

    def __init__(self) -> None:
        self.changed = threading.Condition()
        self.events: collections.deque[Event] = collections.deque()
        self.closed = False


def _work(
    number: int,
    maker: Maker,
    orders: queue.SimpleQueue[tuple[Task, Order] | None],
    shared: _Shared,
) -> None:
    while (asked := orders.get()) is not None and not shared.closed:
        task, order = asked
        made: Made | None = None
        why = ""
        try:
            made = maker.make(order)
        except Exception as error:  # closed meanwhile, or an error of ours: functions' are in rows
            why = f"{type(error).__name__}: {error}"
        if shared.closed:
            break
        with shared.changed:
            shared.events.append(Event(number, task, made, why))
            shared.changed.notify()
    maker.close()


def opened_threads(dataset: Dataset, count: int, options: dict[str, Any]) -> Workers:
    """Return threads; they have no options."""
    return Threads(dataset, count)
