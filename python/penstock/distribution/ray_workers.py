"""Workers that are Ray actors: Ray places, starts and monitors them, and transfers results."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from typing import Any

from penstock.dataset import Dataset
from penstock.distribution.making import Made, Maker, Order
from penstock.distribution.workers import Event, Task
from penstock.errors import WorkerError
from penstock.libraries import library

_MOST_STARTS = 5  # maximum number of consecutive failed starts of a worker
# Ray reports the death of an actor immediately if it does not restart actors itself; otherwise only
# after two seconds.
_OPTIONS = {"num_cpus": 1, "max_restarts": 0, "max_task_retries": 0}


def ray_library() -> Any:
    """Return Ray; if it is missing, the ModuleNotFoundError explains how to install it."""
    return library("distribute", "ray", "ray")


def connected() -> Any:
    """Return Ray, connected to a cluster; start one on this host if there is none."""
    ray = ray_library()
    if not ray.is_initialized():
        ray.init(log_to_driver=False)
    return ray


def checked_options(options: Mapping[str, Any]) -> dict[str, Any]:
    """Return the options of actors; raise TypeError for those that distribute sets itself."""
    ray_library()
    for name in ("max_restarts", "max_task_retries", "name", "lifetime", "max_concurrency"):
        if name in options:
            raise TypeError(f"distribute: {name} is decided by distribute; leave it out")
    return _OPTIONS | dict(options)


class Actor:
    """The class of the Ray actors."""

    def __init__(self, dataset: Dataset, name: str) -> None:
        self._maker = Maker(dataset, name)

    def ready(self) -> None:
        """Return once the actor has started."""

    def make(self, order: Order) -> Made:
        """Return the result of `Maker.make`; Ray puts it into its object store."""
        return self._maker.make(order)

    def make_apart(self, order: Order) -> tuple[Made, Any]:
        """Return the result without rows, and the rows, as two objects in Ray's store."""
        made = self._maker.make(order)
        return dataclasses.replace(made, rows=None), made.rows


class RayWorkers:
    """Ray actors, which are assigned work while they live.

    Parameters
    ----------
    dataset : Dataset
        The pipeline to run.
    count : int
        Number of actors. Actors without free resources in the cluster wait for them.
    options : dict
        Options of the actors.
    apart : bool
        Whether rows stay in Ray's store, and events contain references to them.
    """

    def __init__(self, dataset: Dataset, count: int, options: dict[str, Any], apart: bool) -> None:
        self._ray = connected()
        self._class = self._ray.remote(Actor)
        self._options = options
        self._dataset = self._ray.put(dataset)
        self._apart = apart
        self._actors: dict[int, Any] = {}
        self._ready: set[int] = set()
        self._starting: dict[Any, int] = {}  # by the reference that signals readiness
        self._failed: dict[int, int] = {}  # consecutive failed starts
        self._given: dict[Any, tuple[int, Task]] = {}
        self._rows: dict[Any, Any] = {}  # references to rows, by the reference of their result
        self._looked_at: list[Any] = []
        for worker in range(count):
            self._start(worker)

    def _start(self, worker: int) -> None:
        made = self._class.options(**self._options)
        self._actors[worker] = made.remote(self._dataset, f"in Ray worker {worker}")
        self._starting[self._actors[worker].ready.remote()] = worker

    def ready(self) -> list[int]:
        """Return the workers that can be assigned work."""
        return sorted(self._ready)

    def give(self, worker: int, task: Task, order: Order) -> None:
        """Append an order to a worker's queue."""
        actor = self._actors[worker]
        if self._apart:
            made, rows = actor.make_apart.options(num_returns=2).remote(order)
            self._rows[made] = rows
        else:
            made = actor.make.remote(order)
        self._given[made] = worker, task

    def events(self, seconds: float) -> list[Event]:
        """Return new events; waits at most `seconds` for one."""
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
                raise  # an internal error: those of the user's functions are returned as values
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
        """Remove the events returned last."""
        for ref in self._looked_at:
            self._given.pop(ref, None)
            self._rows.pop(ref, None)
            worker = self._starting.pop(ref, None)
            if worker is not None:
                self._ready.add(worker)
                self._failed.pop(worker, None)
        self._looked_at = []

    def _lose(self, worker: int, error: Exception) -> Event:
        """Forget all requests to a worker, and start a replacement wherever Ray has room."""
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
        self._end(self._actors[worker])  # it may still run, but be unreachable
        self._start(worker)
        return Event(worker, (-1, -1), None, cause)

    def _end(self, actor: Any) -> None:
        try:
            self._ray.kill(actor)
        except Exception:  # the actor or Ray has already ended
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
