"""How the work of a pipeline is divided among workers, and who shares it."""

from __future__ import annotations

import dataclasses
from typing import Any


@dataclasses.dataclass(frozen=True, slots=True)
class Settings:
    """What `Dataset.distribute` was asked for."""

    engine: str
    num_workers: int
    split: int | None  # elements in a lease; None: by what they cost
    lease_timeout: float
    name: str | None  # of the job that consumers share; None: each has its own
    num_consumers: int
    consumer_index: int
    options: dict[str, Any]  # of Ray's actors
