"""A failed allocation anywhere in the engine raises MemoryError, only at its own position."""

import os
import platform
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

HERE = Path(__file__).parent
# The number of allocations tried per pipeline, evenly spaced; .ci/nightly tries all.
PLACES = os.environ.get("PENSTOCK_PLACES", "30")
SECONDS = 50 if PLACES == "30" else 3000

PROGRESS = re.compile(r"[\w ]* \d+(\.\d+ s)?|[\w ]*: \d+ of \d+ places")
COMPILER = shutil.which("c++") or shutil.which("g++")


@pytest.fixture(scope="module")
def library(tmp_path_factory):
    """Return the compiled library that replaces malloc."""
    if platform.libc_ver()[0] != "glibc":
        pytest.skip("the library stands in for glibc's malloc, by LD_PRELOAD")
    if not COMPILER:
        pytest.skip("needs a C++ compiler")
    made = tmp_path_factory.mktemp("library") / "failing.so"
    subprocess.run(
        [
            COMPILER,
            "-std=c++17",
            "-O1",
            "-shared",
            "-fPIC",
            "-o",
            made,
            HERE / "failing.cc",
            "-ldl",
        ],
        check=True,
    )
    return made


# Several in a row: reporting the first failure finds no memory either.
@pytest.mark.slow
@pytest.mark.timeout(SECONDS + 10)
@pytest.mark.parametrize("width", [1, 4])
def test_memory_errors_come_at_their_place_and_nothing_is_wrong_behind_them(
    library, width, tmp_path
):
    done = subprocess.run(
        [sys.executable, HERE / "shortage.py", library, tmp_path, PLACES, str(width)],
        env={**os.environ, "LD_PRELOAD": str(library)},
        capture_output=True,
        text=True,
        timeout=SECONDS,
        check=False,
    )
    wrong = [line for line in done.stdout.splitlines() if not PROGRESS.fullmatch(line)]
    assert done.returncode == 0, "\n".join([*wrong[-20:], done.stdout[-200:], done.stderr[-3000:]])
