"""Workers that are Ray actors: Ray places, starts and watches them, and carries what they make."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from typing import Any

from penstock.dataset import Dataset
from penstock.distribution.making import Made, Maker, Order
from penstock.distribution.workers import Event, Task
from penstock.errors import WorkerError
from penstock.libraries import library

_MOST_STARTS = 5  # in a row that fail, of a worker
# Ray tells at once of the death of an actor that it does not restart itself; of another one, after
# two seconds.
_OPTIONS = {"num_cpus": 1, "max_restarts": 0, "max_task_retries": 0}


def ray_library() -> Any:
    """Return Ray; a ModuleNotFoundError that says how to install it, where it is missing."""
    return library("distribute", "ray", "ray")


def connected() -> Any:
    """Return Ray, connected to a cluster; one on this host is started where there is none."""
    ray = ray_library()
    if not ray.is_initialized():
        ray.init(log_to_driver=False)
    return ray


def checked_options(options: Mapping[str, Any]) -> dict[str, Any]:
    """Return the options of actors; those that are not the user's are refused."""
    ray_library()
    for name in ("max_restarts", "max_task_retries", "name", "lifetime", "max_concurrency"):
        if name in options:
            raise TypeError(f"distribute: {name} is decided by distribute; leave it out")
    return _OPTIONS | dict(options)


class Actor:
    """What runs in a Ray actor."""

    def __init__(self, dataset: Dataset, name: str) -> None:
        self._maker = Maker(dataset, name)

    def ready(self) -> None:
        """Return once the actor has started."""

    def make(self, order: Order) -> Made:
        """Return what `Maker.make` does; Ray puts it into its store."""
        return self._maker.make(order)

    def make_apart(self, order: Order) -> tuple[Made, Any]:
        """Return the same without the rows, and the rows: two objects of Ray's store."""
        made = self._maker.make(order)
        return dataclasses.replace(made, rows=None), made.rows


class RayWorkers:
    """Actors, each of which is given work while it lives.

    Parameters
    ----------
    dataset : Dataset
        What they make.
    count : int
        How many actors. Those for which there is no room wait until there is.
    options : dict
        Of the actors.
    apart : bool
        Whether the rows are left where they are: then events have references to them.
    """

    def __init__(self, dataset: Dataset, count: int, options: dict[str, Any], apart: bool) -> None:
        self._ray = connected()
        self._class = self._ray.remote(Actor)
        self._options = options
        self._dataset = self._ray.put(dataset)
        self._apart = apart
        self._actors: dict[int, Any] = {}
        self._ready: set[int] = set()
        self._starting: dict[Any, int] = {}  # by what says that they are ready
        self._failed: dict[int, int] = {}  # starts that failed, in a row
        self._given: dict[Any, tuple[int, Task]] = {}
        self._rows: dict[Any, Any] = {}  # where they are left: by what says that they are made
        self._looked_at: list[Any] = []
        for worker in range(count):
            self._start(worker)

    def _start(self, worker: int) -> None:
        made = self._class.options(**self._options)
        self._actors[worker] = made.remote(self._dataset, f"in Ray worker {worker}")
        self._starting[self._actors[worker].ready.remote()] = worker

    def ready(self) -> list[int]:
        """Return those that can be given work."""
        return sorted(self._ready)

    def give(self, worker: int, task: Task, order: Order) -> None:
        """Have a worker make an order after those that it has."""
        actor = self._actors[worker]
        if self._apart:
            made, rows = actor.make_apart.options(num_returns=2).remote(order)
            self._rows[made] = rows
        else:
            made = actor.make.remote(order)
        self._given[made] = worker, task

    def events(self, seconds: float) -> list[Event]:
        """Return what has happened; waits until something has, `seconds` at most."""
        waiting = [*self._given, *self._starting]
        found, _ = self._ray.wait(waiting, num_returns=1, timeout=seconds)
        if found:
            found, _ = self._ray.wait(waiting, num_returns=len(waiting), timeout=0)
        events: list[Event] = []
        lost: dict[int, Exception] = {}
        self._looked_at = []
        for ref in found:
            try:
                value = self._ray.get(ref)
            except self._ray.exceptions.RayTaskError:
                raise  # an error of ours: those of the user's functions come as values
            except self._ray.exceptions.RayError as error:
                worker = self._starting[ref] if ref in self._starting else self._given[ref][0]
                lost.setdefault(worker, error)
                continue
            self._looked_at.append(ref)
            if ref in self._given:
                worker, task = self._given[ref]
                if self._apart:
                    value = dataclasses.replace(value, rows=self._rows[ref])
                events.append(Event(worker, task, value))
        return events + [self._lose(worker, error) for worker, error in lost.items()]

    def handled(self) -> None:
        """Forget the last events."""
        for ref in self._looked_at:
            self._given.pop(ref, None)
            self._rows.pop(ref, None)
            worker = self._starting.pop(ref, None)
            if worker is not None:
                self._ready.add(worker)
                self._failed.pop(worker, None)
        self._looked_at = []

    def _lose(self, worker: int, error: Exception) -> Event:
        """Forget all that a worker had, and ask Ray for another one, wherever there is room."""
        cause = f"{type(error).__name__}: {error}"
        for ref in [ref for ref, (of, _) in self._given.items() if of == worker]:
            del self._given[ref]
            self._rows.pop(ref, None)
        for ref in [ref for ref, of in self._starting.items() if of == worker]:
            del self._starting[ref]
            self._failed[worker] = self._failed.get(worker, 0) + 1
        if self._failed.get(worker, 0) >= _MOST_STARTS:
            raise WorkerError(
                f"distribute: worker {worker} did not start, {_MOST_STARTS} times in a row; the "
                f"last time: {cause}"
            )
        self._ready.discard(worker)
        self._end(self._actors[worker])  # it may live on where no one hears of it
        self._start(worker)
        return Event(worker, (-1, -1), None, cause)

    def _end(self, actor: Any) -> None:
        try:
            self._ray.kill(actor)
        except Exception:  # it has ended, or Ray has
            return

    def close(self) -> None:
        """End the actors."""
        if not self._ray.is_initialized():
            return
        for actor in self._actors.values():
            self._end(actor)
        self._actors.clear()
        self._given.clear()
        self._rows.clear()
        self._starting.clear()
        self._ready.clear()
