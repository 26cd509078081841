"""Train a tiny JAX model, and resume from the last Orbax checkpoint on the next start.

python examples/resume_orbax.py FOLDER --stop-after 5   # stops in the middle of an epoch python
examples/resume_orbax.py FOLDER                  # trains on the remaining rows
"""

import argparse
from pathlib import Path

import jax
import jax.numpy as jnp
import numpy as np
import orbax.checkpoint as ocp

import penstock as ps


def pipeline():
    """Return two epochs of 64 rows in batches of 8, each epoch in a different order."""
    x = np.random.default_rng(0).standard_normal((64, 4), np.float32)
    rows = {"row": np.arange(64), "x": x, "y": x @ np.arange(4, dtype=np.float32)}
    return ps.Dataset.from_tensor_slices(rows).shuffle(64, seed=7).repeat(2).batch(8)


@jax.jit
def train(weights, batch):
    """Return the loss and the updated weights."""

    def loss(weights):
        return jnp.mean((batch["x"] @ weights["w"] - batch["y"]) ** 2)

    value, gradient = jax.value_and_grad(loss)(weights)
    return value, {"w": weights["w"] - 0.1 * gradient["w"]}


def main():
    """Train to the end, or for a limited number of steps."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("folder", type=Path)
    parser.add_argument("--stop-after", type=int, help="steps")
    arguments = parser.parse_args()

    weights, batches = {"w": jnp.zeros(4)}, iter(pipeline().to_jax())
    with ocp.CheckpointManager(arguments.folder.absolute()) as manager:
        last = manager.latest_step()
        if last is not None:
            # The size of the state changes with each step, so it is restored without a target.
            restore = ocp.args.Composite(
                weights=ocp.args.StandardRestore(weights), input=ocp.args.StandardRestore()
            )
            found = manager.restore(last, args=restore)
            weights = found["weights"]
            batches.set_state(found["input"]["state"])
            print(f"restored after step {last}")
        for step, batch in enumerate(batches, 1 + (last or 0)):
            loss, weights = train(weights, batch)
            print(f"step {step}: rows {batch['row'].tolist()}, loss {loss:.4f}")
            state = np.frombuffer(batches.get_state(), np.uint8)
            save = ocp.args.Composite(
                weights=ocp.args.StandardSave(weights),
                input=ocp.args.StandardSave({"state": state}),
            )
            manager.save(step, args=save)
            if step == arguments.stop_after:
                break


if __name__ == "__main__":
    main()
