"""Number and rank of the training processes."""

from __future__ import annotations

import os
import sys
import warnings
from typing import Any

from penstock.adapters.frameworks import framework
from penstock.stages.shard import is_divided


def torch_processes(group: Any, stage: str = "shard_for_torch") -> tuple[int, int]:
    """Return the number of PyTorch processes, and the rank of this one.

    `stage` is the public name for error messages.
    """
    # If the program has not imported it, it is not initialised.
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
    """Return the number of JAX processes, and the index of this one."""
    jax = framework("shard_for_jax", "jax")

    return jax.process_count(), jax.process_index()


def warn_undivided(stage: str, dataset: Any, sharded: bool | None, count: int, how: str) -> None:
    """Warn if processes that need different rows may all read the same ones.

    Parameters
    ----------
    stage : str
        The public name that the user called, for the message.
    dataset : Dataset
        The dataset of this process.
    sharded : bool, optional
        The argument `sharded`. None: look for a stage that divides the dataset. True: the rows
        differ between processes. False: they may be the same.
    count : int
        The number of processes that need different rows.
    how : str
        The call that divides a dataset among them.
    """
    if sharded is not None or count < 2 or is_divided(dataset):
        return
    warnings.warn(
        f"{stage}: a batch is spread over {count} processes, but no stage of the pipeline divides "
        f"the data among them, so all may read the same rows; put {how} before batch, or "
        "pass sharded=True if each process reads different rows anyway (other files, or a "
        "generator that divides them), or sharded=False if all should read the same rows",
        RuntimeWarning,
        stacklevel=5,
    )
