"""Interface of workers that process leases, and its simplest implementation: threads."""

from __future__ import annotations

import collections
import dataclasses
import queue
import threading
from typing import Any, Protocol

from penstock.dataset import Dataset
from penstock.distribution.making import Made, Maker, Order

_LOOK_SECONDS = 0.05  # seconds between checks whether a thread has ended

Task = tuple[int, int]  # the sequence, and the number of the lease


@dataclasses.dataclass(frozen=True, slots=True)
class Event:
    """The answer of a worker, or the reason why there is none."""

    worker: int
    task: Task
    made: Made | None
    lost: str = ""  # the reason


class Workers(Protocol):
    """Numbered workers; all calls are made by the same thread."""

    def ready(self) -> list[int]:
        """Return the workers that can be assigned work."""

    def give(self, worker: int, task: Task, order: Order) -> None:
        """Append an order to a worker's queue."""

    def events(self, seconds: float) -> list[Event]:
        """Return new events; waits at most `seconds` for one.

        The same events are returned again until `handled` is called.
        """

    def handled(self) -> None:
        """Remove the events returned last."""

    def close(self) -> None:
        """End the workers."""


class Threads:
    """Workers that are threads of this process.

    Parameters
    ----------
    dataset : Dataset
        The pipeline to run.
    count : int
        Number of threads.
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
        """Return all workers."""
        return list(range(len(self._orders)))

    def give(self, worker: int, task: Task, order: Order) -> None:
        """Append an order to a worker's queue."""
        self._orders[worker].put((task, order))

    def events(self, seconds: float) -> list[Event]:
        """Return new events; waits at most `seconds` for one."""
        with self._shared.changed:
            self._shared.changed.wait_for(lambda: self._shared.events, seconds)
            found = list(self._shared.events)
        self._looked_at = len(found)
        return found

    def handled(self) -> None:
        """Remove the events returned last."""
        with self._shared.changed:
            for _ in range(self._looked_at):
                self._shared.events.popleft()
        self._looked_at = 0

    def close(self) -> None:
        """End the threads and wait for them, until their current functions return."""
        self._shared.closed = True
        for orders in self._orders:
            orders.put(None)
        for maker, thread in zip(self._makers, self._threads, strict=True):
            while thread is not threading.current_thread() and thread.is_alive():
                maker.close()  # also closes an iterator that it may just have started
                thread.join(_LOOK_SECONDS)


class _Shared:
    """State shared by the threads and their consumer."""

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
        except Exception as error:  # closed, or an internal error: errors of functions are in rows
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
