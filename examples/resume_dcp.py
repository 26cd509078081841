"""Train a tiny PyTorch model, and resume from its checkpoint (DCP) on the next start.

    python examples/resume_dcp.py FOLDER --stop-after 5   # stops in the middle of an epoch
    python examples/resume_dcp.py FOLDER                  # trains on the remaining rows

Under torchrun it runs as several processes, each with its shard of the rows:

    torchrun --nproc-per-node 2 examples/resume_dcp.py FOLDER
"""

import argparse
import os
from pathlib import Path

import numpy as np
import torch
import torch.distributed as dist
import torch.distributed.checkpoint as dcp

import penstock as ps


def pipeline():
    """Return two epochs of 64 rows in batches of 8, each epoch in a different order."""
    x = np.random.default_rng(0).standard_normal((64, 4), np.float32)
    rows = {"row": np.arange(64), "x": x, "y": x @ np.arange(4, dtype=np.float32)}
    ds = ps.Dataset.from_tensor_slices(rows).shuffle(64, seed=7).repeat(2)
    count = int(os.environ.get("WORLD_SIZE", "1"))
    return ds.shard_for_torch().batch(8 // count)


def train(folder, stop_after):
    """Train to the end, or for a limited number of steps."""
    model = torch.nn.Linear(4, 1, bias=False)
    torch.nn.init.zeros_(model.weight)
    if dist.is_initialized():
        model = torch.nn.parallel.DistributedDataParallel(model)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)

    # Like models and optimizers, an iterator of batches has state_dict() and load_state_dict(). The
    # first process writes everything that is not a tensor; its state of the input serves all,
    # because the pipeline itself shards.
    batches = iter(pipeline().to_torch())
    training = {"model": model, "optimizer": optimizer, "input": batches, "step": 0}
    last = max(folder.glob("step-*/.metadata"), default=None)
    if last is not None:
        dcp.load(training, checkpoint_id=last.parent)
        print(f"restored after step {training['step']}", flush=True)
    for batch in batches:
        loss = torch.nn.functional.mse_loss(model(batch["x"])[:, 0], batch["y"])
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        training["step"] += 1
        step = training["step"]
        print(f"step {step}: rows {batch['row'].tolist()}, loss {loss:.4f}\n", end="", flush=True)
        dcp.save(training, checkpoint_id=folder / f"step-{step:06}")
        if step == stop_after:
            break


def main():
    """Join the process group, if there is one, and train."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("folder", type=Path)
    parser.add_argument("--stop-after", type=int, help="steps")
    arguments = parser.parse_args()
    if "WORLD_SIZE" in os.environ:
        dist.init_process_group("gloo")
    train(arguments.folder, arguments.stop_after)
    if dist.is_initialized():
        # The model must be freed first: PyTorch 2.13 may hang if it outlives the group.
        dist.destroy_process_group()


if __name__ == "__main__":
    main()
