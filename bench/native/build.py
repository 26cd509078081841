"""Build the programs of this folder from the extension's object files, without Python."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

ROOT = Path(__file__).parents[2]


def built(target: str, folder: Path | None = None) -> Path:
    """Return the path of the program `target`, after an incremental build.

    `folder` is a configured CMake build folder; the default is ``build/native``.
    """
    if folder is None:
        folder = ROOT / "build" / "native"
        _run("cmake", "-S", str(ROOT), "-B", str(folder), "-DPENSTOCK_MODULE=OFF")
    _run("cmake", "--build", str(folder), "--target", target, f"-j{os.cpu_count() or 1}")
    return folder / "bench" / "native" / target


def _run(*command: str) -> None:
    done = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    if done.returncode != 0:
        raise RuntimeError(f"{' '.join(command)} failed:\n{done.stdout}")
