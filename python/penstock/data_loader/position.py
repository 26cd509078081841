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
    finished : bool
        Whether the end was reached.
    """

    def __init__(self, saved: Mapping[str, Any] | None = None) -> None:
        saved = saved or {}
        self.low: int = saved.get("batches", 0)
        self.ahead: dict[int, Any] = dict.fromkeys(saved.get("ahead", ()))
        self.dataset_state: Any = saved.get("dataset")
        self.saved_order: Mapping[str, Any] | None = saved.get("order")
        self.goes_on: bool = saved.get("goes_on", False)
        self.order: Any = None
        self.finished = False

    def begun(self, order: Any) -> None:
        """Note the order that the pass follows."""
        self.order = order

    def deliver(self, number: int, dataset_state: Any) -> None:
        """Note that a batch was delivered."""
        if number != self.low:
            self.ahead[number] = dataset_state
            return
        self.low += 1
        self.dataset_state = dataset_state
        while self.low in self.ahead:
            self.dataset_state = self.ahead.pop(self.low)
            self.low += 1

    def finish(self) -> None:
        """Note that the end was reached."""
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
        if self.dataset_state is not None:
            state["dataset"] = self.dataset_state
        if self.order is not None:
            state["order"] = self.order.state
        elif self.saved_order is not None:
            state["order"] = self.saved_order
        return state
