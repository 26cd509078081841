"""Builds the native loops."""

from __future__ import annotations

import subprocess
from pathlib import Path

ROOT = Path(__file__).parents[2]


def built(target: str) -> Path:
    """Return the program `target`, compiled as far as its sources have changed."""
    folder = ROOT / "build" / "bench"
    for command in (
        ["cmake", "-S", str(Path(__file__).parent), "-B", str(folder)],
        ["cmake", "--build", str(folder), "--target", target, "-j2"],
    ):
        subprocess.run(command, check=True, stdout=subprocess.DEVNULL)
    return folder / target
