"""A global sample order shared by several training processes, and positions in it."""

from __future__ import annotations

import copy
from collections.abc import Mapping
from typing import Any

import numpy as np
import numpy.typing as npt

from penstock.data_loader import torch_rules
from penstock.errors import StateError


def shared_by(sampler: Any, batch_size: int | None) -> dict[str, int] | None:
    """Return how a sampler's global order is divided; None if the order is not shared.

    Parameters
    ----------
    sampler : object
        The sampler. Only PyTorch's ``DistributedSampler`` has a global order that does not depend
        on the number of processes.
    batch_size : int or None
        Batch size of each process.
    """
    if not torch_rules.is_exactly("DistributedSampler", sampler):
        return None
    return {
        "processes": sampler.num_replicas,
        "batch_size": batch_size or 1,
        "rows": len(sampler.dataset),
    }


def indices_from(sampler: Any, begin: int) -> npt.NDArray[np.int64]:
    """Return this process's indices of the current epoch, from global position `begin` on."""
    whole = _order_of_all(sampler)[: len(sampler.dataset)]
    count = sampler.num_replicas
    left = whole[begin:]
    if sampler.drop_last:
        left = left[: len(left) // count * count]
    elif len(left) % count:
        left = np.concatenate([left, np.resize(whole, -len(left) % count)])
    return left[sampler.rank :: count]


def position_of(state: Mapping[str, Any]) -> int:
    """Return the global position at which a state was saved.

    Raises
    ------
    StateError
        If the samples read do not form a prefix of the global order.
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
    one = copy.copy(sampler)  # with a single process
    one.num_replicas, one.rank = 1, 0
    one.num_samples = one.total_size = len(sampler.dataset)
    return np.fromiter(one, np.int64)
