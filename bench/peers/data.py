"""The files that workloads read."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path


def write_once(file: Path, write: Callable[[Path], object]) -> None:
    """Have a file written under another name and then renamed, unless it is there."""
    if not file.is_file():
        partial = file.with_suffix(".part")
        write(partial)
        partial.rename(file)
