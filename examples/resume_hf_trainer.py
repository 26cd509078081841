"""Train a tiny model with the Hugging Face Trainer, and resume on the next start.

python examples/resume_hf_trainer.py FOLDER --stop-after 5   # stops in the middle of an epoch
python examples/resume_hf_trainer.py FOLDER                  # trains on the remaining rows
"""

import argparse
from pathlib import Path

import numpy as np
import torch
from transformers import Trainer, TrainerCallback, TrainingArguments
from transformers.trainer_utils import get_last_checkpoint

import penstock as ps


def pipeline():
    """Return two epochs of 64 rows in batches of 8, each epoch in a different order."""
    x = np.random.default_rng(0).standard_normal((64, 4), np.float32)
    rows = {"row": np.arange(64), "x": x, "y": x @ np.arange(4, dtype=np.float32)}
    return ps.Dataset.from_tensor_slices(rows).shuffle(64, seed=7).repeat(2).batch(8)


class Model(torch.nn.Module):
    """A linear model."""

    def __init__(self):
        super().__init__()
        self.layer = torch.nn.Linear(4, 1, bias=False)
        torch.nn.init.zeros_(self.layer.weight)

    def forward(self, row, x, y):
        """Return the loss of a batch."""
        return {"loss": torch.nn.functional.mse_loss(self.layer(x)[:, 0], y)}


class PenstockTrainer(Trainer):
    """A Trainer that reads its batches from penstock, and prints the rows of each step."""

    def get_train_dataloader(self):
        """Return the iterable of batches, which are already assembled."""
        return self.train_dataset

    def compute_loss(self, model, inputs, **kwargs):
        """Return the loss of a batch."""
        loss = super().compute_loss(model, inputs, **kwargs)
        rows = inputs["row"].tolist()
        print(f"step {self.state.global_step + 1}: rows {rows}, loss {loss:.4f}")
        return loss


class SaveInput(TrainerCallback):
    """Saves the input position in every checkpoint; replaces the Trainer's own data skipping."""

    def __init__(self, batches, stop_after):
        self.batches, self.stop_after = batches, stop_after

    def on_train_begin(self, args, state, control, **kwargs):
        """Restore the input position of the checkpoint."""
        saved = Path(args.output_dir, f"checkpoint-{state.global_step}", "input.pt")
        if saved.exists():
            self.batches.load_state_dict(torch.load(saved))
            print(f"restored after step {state.global_step}")

    def on_step_end(self, args, state, control, **kwargs):
        """Stop after the requested number of steps."""
        control.should_training_stop |= state.global_step == self.stop_after

    def on_save(self, args, state, control, **kwargs):
        """Save the input position next to the model."""
        folder = Path(args.output_dir, f"checkpoint-{state.global_step}")
        torch.save(self.batches.state_dict(), folder / "input.pt")


def main():
    """Train to the end, or for a limited number of steps."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("folder", type=Path)
    parser.add_argument("--stop-after", type=int, help="steps")
    arguments = parser.parse_args()
    batches = pipeline().to_torch_iterable()
    settings = TrainingArguments(
        output_dir=str(arguments.folder),
        max_steps=len(batches),
        learning_rate=0.1,
        lr_scheduler_type="constant",
        optim="sgd",
        max_grad_norm=0,
        save_steps=1,
        save_total_limit=2,
        ignore_data_skip=True,
        report_to="none",
        disable_tqdm=True,
        use_cpu=True,
    )
    trainer = PenstockTrainer(
        Model(),
        settings,
        train_dataset=batches,
        callbacks=[SaveInput(batches, arguments.stop_after)],
    )
    last = get_last_checkpoint(arguments.folder) if arguments.folder.exists() else None
    trainer.train(resume_from_checkpoint=last)


if __name__ == "__main__":
    main()
