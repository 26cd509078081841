"""examples/train_jax.py and train_keras.py train, with and without penstock."""

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

EXAMPLES = Path(__file__).resolve().parents[2] / "examples"


@pytest.mark.timeout(120)
@pytest.mark.parametrize(
    ("script", "needs", "falls"),
    [("train_jax.py", ["jax"], 0.8), ("train_keras.py", ["keras", "jax"], 0.9)],
)
def test_loss_falls_with_both_loaders(script, needs, falls):
    for framework in needs:
        pytest.importorskip(framework)
    run = subprocess.run(
        [sys.executable, EXAMPLES / script, "--rows", "512", "--epochs", "4"],
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
        assert losses[-1] < falls * losses[0], run.stdout
        assert re.search(rf"{loader}: [\d.]+ s, waited for data [\d.]+ s", run.stdout)
