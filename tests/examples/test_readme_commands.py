"""The programs in examples/ run with the commands in README.md."""

import re
import shlex
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
COMMAND = re.compile(r"^python (examples/\S+\.py[^#\n]*)", re.MULTILINE)
COMMANDS = [line.strip() for line in COMMAND.findall((ROOT / "README.md").read_text())]


def test_readme_runs_every_example():
    named = {shlex.split(command)[0] for command in COMMANDS}
    assert named == {f"examples/{path.name}" for path in (ROOT / "examples").glob("*.py")}


@pytest.mark.slow
@pytest.mark.timeout(150)
@pytest.mark.parametrize("command", [line for line in COMMANDS if "/train_" in line])
def test_the_command_runs(command):
    script, *options = shlex.split(command)
    framework = Path(script).stem.removeprefix("train_")
    pytest.importorskip(framework)
    run = subprocess.run(
        [sys.executable, script, *options],
        cwd=ROOT, capture_output=True, text=True, timeout=140, check=False,
    )  # fmt: skip
    assert run.returncode == 0, run.stderr
    assert "loss" in run.stdout
