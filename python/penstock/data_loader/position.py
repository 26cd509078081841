"""Progress within an epoch, and its representation in a state_dict."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

Kept = dict[str, Any]  # state of one reader of the dataset, see `Reading.state`


class Reached(NamedTuple):
    """Delivered batches of an epoch.

    Attributes
    ----------
    low : int
        All batches with smaller numbers were delivered.
    ahead : dict
        Numbers of the batches delivered out of order, with the dataset's state after each.
    dataset_state : object
        The dataset's state after batch ``low - 1``, or None if it keeps none.
    failed : tuple of int
        Numbers of the batches for which reading the dataset or the sampler raised an error.
    """

    low: int
    ahead: dict[int, Any]
    dataset_state: Any
    failed: tuple[int, ...]


class Position:
    """Progress within an epoch.

    Attributes
    ----------
    reached : Reached
        The delivered batches. The tuple is replaced as a whole when a batch is delivered, so an
        interruption neither loses nor repeats a batch.
    saved_order : mapping or None
        The restored order, which the epoch must follow.
    order : object
        The order of the epoch; None before it begins, and for iterable datasets.
    goes_on : bool
        Whether the epoch was resumed in the middle.
    finished : bool
        Whether the end was reached.
    settle : callable or None
        Waits until the dataset's state before the first batch is known.
    final : callable or None
        Returns the dataset's state after the end.
    """

    def __init__(self, saved: Mapping[str, Any] | None = None) -> None:
        saved = saved or {}
        self.reached = Reached(
            saved.get("batches", 0),
            dict.fromkeys(saved.get("ahead", ())),
            kept_in(saved),
            tuple(saved.get("failed", ())),
        )
        self.saved_order: Mapping[str, Any] | None = saved.get("order")
        self.goes_on: bool = saved.get("goes_on", False)
        self.order: Any = None
        self.finished = False
        self.settle: Callable[[], object] | None = None
        self.final: Callable[[], Any] | None = None

    def begun(self, order: Any) -> None:
        """Set the order of the epoch."""
        self.order = order

    def opened(self, dataset_state: Any) -> None:
        """Record the dataset's state before the first batch of this epoch."""
        self.reached = self.reached._replace(dataset_state=dataset_state)

    def after(self, number: int, dataset_state: Any, failed: bool = False) -> Reached:
        """Return the delivered batches including one more, or the error in its place."""
        low, ahead, state, failures = self.reached
        if failed:
            failures = (*failures, number)
        if number != low:
            return Reached(low, {**ahead, number: dataset_state}, state, failures)
        low, state = low + 1, dataset_state
        if low in ahead:
            ahead = dict(ahead)
            while low in ahead:
                state = ahead.pop(low)
                low += 1
        return Reached(low, ahead, state, failures)

    def finish(self) -> None:
        """Record that the end was reached, unless the last read failed."""
        if self.reached.low - 1 in self.reached.failed:
            return
        if not self.finished and self.order is not None:
            self.order.finish()
        self.finished = True

    def state(self, workers: int) -> dict[str, Any]:
        """Return the part of a state_dict that restores this position.

        Parameters
        ----------
        workers : int
            Number of workers of the loader.
        """
        if self.finished:
            kept = None if self.final is None else self.final()
            return {"goes_on": False, "batches": 0, "ahead": [], **layout(kept, workers, True)}
        if self.settle is not None:
            self.settle()
        low, ahead, dataset_state, failed = self.reached
        state: dict[str, Any] = {"goes_on": True, "batches": low, "ahead": sorted(ahead)}
        if failed:
            state["failed"] = sorted(failed)
        if self.order is not None:
            state["order"] = self.order.state
        elif self.saved_order is not None:
            state["order"] = self.saved_order
        return state | layout(dataset_state, workers, False)


def kept(dataset_state: Any = None, iterator_state: Any = None, iterates: bool = False) -> Kept:
    """Return the state of one reader of a dataset, in torchdata's layout."""
    fetcher = {"dataset_iter_state": iterator_state, "fetcher_ended": False} if iterates else None
    return {"dataset_state": dataset_state, "fetcher_state": fetcher}


def layout(dataset_state: Any, workers: int, finished: bool) -> dict[str, Any]:
    """Return the dataset's part of a state_dict, in torchdata's layout.

    Parameters
    ----------
    dataset_state : mapping or None
        State of one reader, as returned by `kept`, or ``{"workers": [...], ...}`` for worker
        processes.
    workers : int
        Number of workers of the loader.
    finished : bool
        Whether the epoch has ended.
    """
    state: dict[str, Any] = {"_iterator_finished": finished}
    given: dict[str, Any] = dataset_state or {}
    if not workers:
        return state | kept() | given
    each = [dict(one) for one in given.get("workers", ())] or [{**kept(), **given}]
    each += [kept() for _ in range(workers - len(each))]
    snapshots = {f"worker_{i}": {"worker_id": i, **one} for i, one in enumerate(each)}
    snapshot: dict[str, Any] = {"_worker_snapshots": snapshots}
    snapshot |= {name: given[name] for name in ("turn", "base_seed") if name in given}
    return state | {"_snapshot": snapshot}


def kept_in(state: Mapping[str, Any]) -> Any:
    """Return the dataset state stored in a state_dict; the inverse of `layout`."""
    snapshot = state.get("_snapshot")
    if snapshot is None:
        found = {name: state.get(name) for name in kept()}
    elif "turn" in snapshot:
        names = sorted(snapshot["_worker_snapshots"], key=lambda name: int(name.split("_")[1]))
        each = [dict(snapshot["_worker_snapshots"][name]) for name in names]
        return {**{k: v for k, v in snapshot.items() if k[0] != "_"}, "workers": each}
    else:
        first = snapshot["_worker_snapshots"]["worker_0"]
        found = {name: first[name] for name in kept()}
    return found if any(value is not None for value in found.values()) else None
