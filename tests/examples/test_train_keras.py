"""examples/train_keras.py trains, with and without penstock."""

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

pytest.importorskip("keras")
pytest.importorskip("jax")

EXAMPLE = Path(__file__).resolve().parents[2] / "examples" / "train_keras.py"


@pytest.mark.timeout(120)
def test_loss_falls_with_both_loaders():
    run = subprocess.run(
        [sys.executable, EXAMPLE, "--rows", "512", "--epochs", "4"],
        env={**os.environ, "JAX_PLATFORMS": "cpu"},
        capture_output=True,
        text=True,
        timeout=110,
        check=False,
    )
    assert run.returncode == 0, run.stderr
    for loader in ("generator", "penstock"):
        losses = [float(x) for x in re.findall(rf"{loader}: epoch \d, loss ([\d.]+)", run.stdout)]
        assert len(losses) == 4, run.stdout
        assert losses[-1] < 0.9 * losses[0], run.stdout
        assert re.search(rf"{loader}: [\d.]+ s, waited for data [\d.]+ s", run.stdout)
