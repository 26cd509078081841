"""The input files of the workloads."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path


def write_once(file: Path, write: Callable[[Path], object]) -> None:
    """Write a file under a temporary name and rename it, unless it exists."""
    if not file.is_file():
        partial = file.with_suffix(".part")
        write(partial)
        partial.rename(file)
