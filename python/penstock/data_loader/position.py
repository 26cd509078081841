"""How far a pass has come: what a state_dict tells."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any


class Position:
    """Which batches of a pass were delivered.

    Attributes
    ----------
    low : int
        All batches with smaller numbers were delivered.
    ahead : dict
        The numbers of those delivered besides, with the dataset's state behind each.
    dataset_state : object
        The dataset's state behind batch ``low - 1``, or None if it keeps none.
    saved_order : mapping or None
        The order that the pass has to follow.
    order : object
        The order that it follows; None before it begins, and over iterable datasets.
    goes_on : bool
        Whether the pass began before, and was left.
    failed : list
        The numbers of those in whose place reading the dataset, or the sampler, raised an error.
    finished : bool
        Whether the end was reached.
    """

    def __init__(self, saved: Mapping[str, Any] | None = None) -> None:
        saved = saved or {}
        self.low: int = saved.get("batches", 0)
        self.ahead: dict[int, Any] = dict.fromkeys(saved.get("ahead", ()))
        self.failed: list[int] = list(saved.get("failed", ()))
        self.dataset_state: Any = saved.get("dataset")
        self.saved_order: Mapping[str, Any] | None = saved.get("order")
        self.goes_on: bool = saved.get("goes_on", False)
        self.order: Any = None
        self.finished = False

    def begun(self, order: Any) -> None:
        """Note the order that the pass follows."""
        self.order = order

    def deliver(self, number: int, dataset_state: Any, failed: bool = False) -> None:
        """Note that a batch was delivered, or the error that took its place."""
        if failed:
            self.failed.append(number)
        if number != self.low:
            self.ahead[number] = dataset_state
            return
        self.low += 1
        self.dataset_state = dataset_state
        while self.low in self.ahead:
            self.dataset_state = self.ahead.pop(self.low)
            self.low += 1

    def finish(self) -> None:
        """Note that the end was reached; the end behind a failure to read is none."""
        if self.low - 1 in self.failed:
            return
        if not self.finished and self.order is not None:
            self.order.finish()
        self.finished = True

    def state(self) -> dict[str, Any]:
        """Return what a new Position is made of, to go on from here."""
        state: dict[str, Any] = {
            "goes_on": True,
            "batches": self.low,
            "ahead": sorted(self.ahead),
        }
        if self.failed:
            state["failed"] = sorted(self.failed)
        if self.dataset_state is not None:
            state["dataset"] = self.dataset_state
        if self.order is not None:
            state["order"] = self.order.state
        elif self.saved_order is not None:
            state["order"] = self.saved_order
        return state
