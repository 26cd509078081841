"""How far a pass has come: what a state_dict holds."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple


class Reached(NamedTuple):
    """Which batches of a pass were delivered.

    Attributes
    ----------
    low : int
        All batches with smaller numbers were delivered.
    ahead : dict
        The numbers of those delivered besides, with the dataset's state after each.
    dataset_state : object
        The dataset's state after batch ``low - 1``, or None if it keeps none.
    failed : tuple of int
        The numbers of those for which reading the dataset, or the sampler, raised an error.
    """

    low: int
    ahead: dict[int, Any]
    dataset_state: Any
    failed: tuple[int, ...]


class Position:
    """How far a pass has come.

    Attributes
    ----------
    reached : Reached
        What was delivered. Set at once, as the batch is handed over: an interruption leaves either
        what was before, or the batch with who has asked for it.
    saved_order : mapping or None
        The order that the pass has to follow.
    order : object
        The order that it follows; None before it begins, and over iterable datasets.
    goes_on : bool
        Whether the pass began before, and was left.
    finished : bool
        Whether the end was reached.
    """

    def __init__(self, saved: Mapping[str, Any] | None = None) -> None:
        saved = saved or {}
        self.reached = Reached(
            saved.get("batches", 0),
            dict.fromkeys(saved.get("ahead", ())),
            saved.get("dataset"),
            tuple(saved.get("failed", ())),
        )
        self.saved_order: Mapping[str, Any] | None = saved.get("order")
        self.goes_on: bool = saved.get("goes_on", False)
        self.order: Any = None
        self.finished = False

    def begun(self, order: Any) -> None:
        """Note the order that the pass follows."""
        self.order = order

    def after(self, number: int, dataset_state: Any, failed: bool = False) -> Reached:
        """Return what is reached with one more batch, or the error that replaces it."""
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
        """Note that the end was reached; the end after a failure to read is none."""
        if self.reached.low - 1 in self.reached.failed:
            return
        if not self.finished and self.order is not None:
            self.order.finish()
        self.finished = True

    def state(self) -> dict[str, Any]:
        """Return what a new Position is made of, to go on from here."""
        low, ahead, dataset_state, failed = self.reached
        state: dict[str, Any] = {"goes_on": True, "batches": low, "ahead": sorted(ahead)}
        if failed:
            state["failed"] = sorted(failed)
        if dataset_state is not None:
            state["dataset"] = dataset_state
        if self.order is not None:
            state["order"] = self.order.state
        elif self.saved_order is not None:
            state["order"] = self.saved_order
        return state
