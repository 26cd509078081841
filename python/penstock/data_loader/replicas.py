"""One order that several training processes share, and positions in it."""

from __future__ import annotations

import copy
from collections.abc import Mapping
from typing import Any

import numpy as np
import numpy.typing as npt

from penstock.data_loader import torch_rules
from penstock.errors import StateError


def shared_by(sampler: Any, batch_size: int | None) -> dict[str, int] | None:
    """Return how the order of a sampler is divided; None for one that belongs to one process.

    Parameters
    ----------
    sampler : object
        Only PyTorch's DistributedSampler has an order that does not depend on the number of
        processes.
    batch_size : int or None
        Of each process.
    """
    if not torch_rules.is_exactly("DistributedSampler", sampler):
        return None
    return {
        "processes": sampler.num_replicas,
        "batch_size": batch_size or 1,
        "rows": len(sampler.dataset),
    }


def indices_from(sampler: Any, begin: int) -> npt.NDArray[np.int64]:
    """Return what a process gets of the order of all from number `begin` on, in this epoch."""
    whole = _order_of_all(sampler)[: len(sampler.dataset)]
    count = sampler.num_replicas
    left = whole[begin:]
    if sampler.drop_last:
        left = left[: len(left) // count * count]
    elif len(left) % count:
        left = np.concatenate([left, np.resize(whole, -len(left) % count)])
    return left[sampler.rank :: count]


def position_of(state: Mapping[str, Any]) -> int:
    """Return how many elements of the order all processes had when a state was saved.

    Raises
    ------
    StateError
        If they had no beginning of it.
    """
    if state.get("ahead") or state.get("failed"):
        raise StateError(
            "load_state_dict: batches were given out of order, or could not be read, so only the "
            "same number of processes with batches of the same size can go on"
        )
    shared = state["shared"]
    begin = (state.get("order") or {}).get("begin", 0)
    had = begin + state["batches"] * shared["batch_size"] * shared["processes"]
    return int(min(had, shared["rows"]))


def _order_of_all(sampler: Any) -> npt.NDArray[np.int64]:
    one = copy.copy(sampler)  # as one process has it
    one.num_replicas, one.rank = 1, 0
    one.num_samples = one.total_size = len(sampler.dataset)
    return np.fromiter(one, np.int64)
