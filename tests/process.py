"""The resources of this process: its memory, and engine threads that run Python code."""

import os
import sys
import threading
from pathlib import Path

import pytest

STATM = Path("/proc/self/statm")
reads_memory = pytest.mark.skipif(not STATM.exists(), reason="reads memory in /proc")


def resident():
    """Return the resident memory of this process in bytes."""
    return int(STATM.read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE")


def busy():
    """Return whether an engine thread is running Python code."""
    frames = sys._current_frames()
    return any(
        t.name == "penstock" and t.ident in frames and frames[t.ident].f_code.co_name != "run"
        for t in threading.enumerate()
    )


def lanes():
    """Return the number of engine threads that run Python code, or wait to."""
    return sum(thread.name == "penstock" for thread in threading.enumerate())
