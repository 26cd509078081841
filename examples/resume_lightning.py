"""Train a tiny model with Lightning, and resume from its checkpoint on the next start.

python examples/resume_lightning.py FOLDER --stop-after 5   # stops in the middle of an epoch python
examples/resume_lightning.py FOLDER                  # trains on the remaining rows
"""

import argparse
import logging
import warnings
from pathlib import Path

import lightning
import numpy as np
import torch

import penstock as ps


def pipeline():
    """Return two epochs of 64 rows in batches of 8, each epoch in a different order."""
    x = np.random.default_rng(0).standard_normal((64, 4), np.float32)
    rows = {"row": np.arange(64), "x": x, "y": x @ np.arange(4, dtype=np.float32)}
    return ps.Dataset.from_tensor_slices(rows).shuffle(64, seed=7).repeat(2).batch(8)


class Model(lightning.LightningModule):
    """A linear model that prints the rows of each step."""

    def __init__(self):
        super().__init__()
        self.layer = torch.nn.Linear(4, 1, bias=False)
        torch.nn.init.zeros_(self.layer.weight)

    def training_step(self, batch, _):
        """Return the loss of a batch."""
        loss = torch.nn.functional.mse_loss(self.layer(batch["x"])[:, 0], batch["y"])
        print(f"step {self.global_step + 1}: rows {batch['row'].tolist()}, loss {loss:.4f}")
        return loss

    def configure_optimizers(self):
        """Return the optimizer."""
        return torch.optim.SGD(self.parameters(), lr=0.1)


def main():
    """Train to the end, or for a limited number of steps."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("folder", type=Path)
    parser.add_argument("--stop-after", type=int, help="steps")
    arguments = parser.parse_args()
    logging.getLogger("lightning.pytorch").setLevel(logging.ERROR)
    warnings.filterwarnings("ignore", module="lightning")

    last = arguments.folder / "last.ckpt"
    if last.exists():
        print("restored from", last)
    trainer = lightning.Trainer(
        max_epochs=1,  # of the pipeline, which contains two epochs of the rows
        max_steps=arguments.stop_after or -1,
        accelerator="cpu",
        logger=False,
        enable_progress_bar=False,
        enable_model_summary=False,
        callbacks=lightning.pytorch.callbacks.ModelCheckpoint(
            arguments.folder, save_last=True, save_top_k=0, every_n_train_steps=1
        ),
    )
    # Lightning finds state_dict() and load_state_dict() on the iterable. It saves the input
    # position in each checkpoint, and restores it from there.
    batches = pipeline().to_torch_iterable()
    trainer.fit(Model(), batches, ckpt_path=last if last.exists() else None)


if __name__ == "__main__":
    main()
