"""The programs examples/resume_*.py resume with the remaining rows and the saved weights."""

import os
import re
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

EXAMPLES = Path(__file__).resolve().parents[2] / "examples"
STEP = re.compile(r"step (\d+): rows (\[[\d, ]+\]), loss ([\d.]+)")
PROGRAMS = {
    "resume_dcp.py": "torch.distributed.checkpoint",
    "resume_hf_trainer.py": "transformers",
    "resume_lightning.py": "lightning",
    "resume_orbax.py": "orbax.checkpoint",
}
SLOW_IMPORTS = 300  # seconds, for programs of two passes


def run(*command):
    """Run a program; return the number, rows and loss of each step."""
    done = subprocess.run(
        [sys.executable, *map(str, command)],
        env={**os.environ, "JAX_PLATFORMS": "cpu", "OMP_NUM_THREADS": "1"},
        capture_output=True,
        text=True,
        timeout=SLOW_IMPORTS / 2,
        check=False,
    )
    assert done.returncode == 0, done.stderr[-3000:]
    steps = [line.groups() for line in STEP.finditer(done.stdout)]
    return [(int(n), [int(row) for row in rows[1:-1].split(",")], float(x)) for n, rows, x in steps]


def losses_of(steps):
    """Return the losses of a model trained on these rows from its initial weights."""
    x = np.random.default_rng(0).standard_normal((64, 4), np.float32)
    y = x @ np.arange(4, dtype=np.float32)
    weights, losses = np.zeros(4), []
    for _, rows, _ in steps:
        rest = x[rows] @ weights - y[rows]
        losses.append((rest**2).mean())
        weights -= 0.1 * 2 * x[rows].T @ rest / len(rows)
    return losses


def test_every_program_is_run():
    assert set(PROGRAMS) == {path.name for path in EXAMPLES.glob("resume_*.py")}


@pytest.mark.slow
@pytest.mark.timeout(SLOW_IMPORTS)
@pytest.mark.parametrize("program", PROGRAMS)
def test_a_new_process_goes_on_with_the_rest_of_the_rows(program, tmp_path):
    pytest.importorskip(PROGRAMS[program])
    command = EXAMPLES / program, tmp_path / "saved"
    before = run(*command, "--stop-after", 5)
    assert [number for number, _, _ in before] == list(range(1, 6))
    after = run(*command)
    assert [number for number, _, _ in after] == list(range(6, 17))
    steps = before + after
    rows = [row for _, rows, _ in steps for row in rows]
    for epoch in (rows[:64], rows[64:]):
        assert sorted(epoch) == list(range(64))
        assert epoch != sorted(epoch)
    assert rows[:64] != rows[64:]
    np.testing.assert_allclose([loss for _, _, loss in steps], losses_of(steps), atol=2e-4)


@pytest.mark.slow
@pytest.mark.timeout(SLOW_IMPORTS)
def test_two_processes_go_on_from_one_checkpoint(tmp_path):
    pytest.importorskip("torch.distributed.checkpoint")
    torchrun = "-m", "torch.distributed.run", "--standalone", "--nproc-per-node", 2
    command = *torchrun, EXAMPLES / "resume_dcp.py", tmp_path / "saved"
    before, after = run(*command, "--stop-after", 5), run(*command)
    for steps, numbers in ((before, range(1, 6)), (after, range(6, 17))):
        assert sorted(number for number, _, _ in steps) == sorted([*numbers, *numbers])
    for first, last in ((1, 8), (9, 16)):
        epoch = [
            row for number, rows, _ in before + after if first <= number <= last for row in rows
        ]
        assert sorted(epoch) == list(range(64))
