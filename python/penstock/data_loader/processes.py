"""Check for multi-process programs that expect a library to shard the loader."""

from __future__ import annotations

import sys
import warnings


def check_accelerate(order_given: bool, iterable: bool) -> None:
    """Raise if Accelerate runs several processes and each would receive all batches.

    `accelerator.prepare` shards PyTorch loaders among processes, and silently returns any other
    object unchanged.
    """
    state = getattr(sys.modules.get("accelerate.state"), "PartialState", None)
    count = getattr(state, "_shared_state", {}).get("num_processes", 1)
    if count <= 1 or order_given:
        return
    if iterable:
        warnings.warn(
            f"DataLoader: Accelerate runs {count} processes and does not divide this loader among "
            "them: its dataset must give each process its share (Dataset.shard_for_torch does)",
            RuntimeWarning,
            stacklevel=3,
        )
        return
    raise RuntimeError(
        f"DataLoader: Accelerate runs {count} processes and does not divide this loader among them "
        "(accelerator.prepare returned it as it was), so that each would train on everything; give "
        "it sampler=torch.utils.data.DistributedSampler(dataset, shuffle=...) and move batches to "
        "accelerator.device, use dataset.shard_for_torch().to_torch(accelerator.device), or, if "
        "each process is to have everything, say sampler=range(len(dataset))"
    )
