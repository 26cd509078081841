"""Settings for dividing the work of a pipeline among workers and consumers."""

from __future__ import annotations

import dataclasses
from typing import Any


@dataclasses.dataclass(frozen=True, slots=True)
class Settings:
    """The arguments of `Dataset.distribute`."""

    engine: str
    num_workers: int
    split: int | None  # elements in a lease; None: chosen by their cost
    lease_timeout: float
    name: str | None  # name of the shared job; None: each consumer has its own job
    num_consumers: int
    consumer_index: int
    options: dict[str, Any]  # options of Ray actors
