"""examples/train_torch.py runs as documented, and the network learns."""

import re
import subprocess
import sys
from pathlib import Path

import pytest

pytest.importorskip("torch")

EXAMPLE = Path(__file__).resolve().parents[2] / "examples" / "train_torch.py"
LINE = re.compile(
    r"(?P<loader>[\w ]+): epoch (?P<epoch>\d): loss (?P<loss>[\d.]+), [\d.]+ s, "
    r"(?P<waited>\d+)% of them waiting for data"
)


@pytest.mark.timeout(240)
def test_the_loss_falls_with_both_loaders():
    done = subprocess.run(
        [sys.executable, EXAMPLE, "--pictures", "512", "--batch", "32", "--epochs", "3"],
        capture_output=True,
        text=True,
        timeout=230,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    lines = [LINE.fullmatch(line) for line in done.stdout.splitlines()]
    assert [line["loader"] for line in lines] == ["plain loader"] * 3 + ["penstock"] * 3
    for loader in (lines[:3], lines[3:]):
        losses = [float(line["loss"]) for line in loader]
        assert losses[-1] < 0.8 * losses[0], done.stdout
        assert all(0 <= int(line["waited"]) <= 100 for line in loader)
