"""Which process this is of those that train together, and how many there are."""

from __future__ import annotations

import os
import sys
from typing import Any

from penstock.adapters.frameworks import framework


def torch_processes(group: Any, stage: str = "shard_for_torch") -> tuple[int, int]:
    """Return how many processes of PyTorch there are, and which one this is.

    `stage` is for messages.
    """
    # No one has initialised what no one has imported.
    distributed = sys.modules.get("torch.distributed")
    if distributed is not None and distributed.is_available() and distributed.is_initialized():
        rank = distributed.get_rank(group)
        if rank < 0:
            raise ValueError(f"{stage}: a process of {group!r} was expected, this one is not in it")
        return distributed.get_world_size(group), rank
    if group is not None:
        raise ValueError(
            f"{stage}: group is of torch.distributed, which is not initialised; call "
            "init_process_group first"
        )
    given = [os.environ.get(name) for name in ("WORLD_SIZE", "RANK")]
    if given == [None, None]:
        return 1, 0
    try:
        count, rank = (int(value or "") for value in given)
    except ValueError:
        count, rank = 0, 0
    if not 0 <= rank < count:
        raise ValueError(
            f"{stage}: the environment variables WORLD_SIZE and RANK must say how many "
            f"processes there are and which one this is, got {given[0]!r} and {given[1]!r}; start "
            "the program with torchrun, or unset both"
        )
    return count, rank


def jax_processes() -> tuple[int, int]:
    """Return how many processes of JAX there are, and which one this is."""
    jax = framework("shard_for_jax", "jax")

    return jax.process_count(), jax.process_index()
