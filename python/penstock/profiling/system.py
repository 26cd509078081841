"""Times of threads and processes from the operating system; 0 if not available."""

from __future__ import annotations

import os
import threading
from collections.abc import Iterable
from pathlib import Path


def ready_seconds(process: int, thread: int | None = None) -> float:
    """Return the time for which a thread (default: the main one) was ready without a CPU."""
    try:
        text = Path(f"/proc/{process}/task/{thread or process}/schedstat").read_text()
        return int(text.split()[1]) * 1e-9
    except (OSError, ValueError, IndexError):
        return 0.0


def ready_seconds_here() -> float:
    """Return the time for which the calling thread was ready to run without a CPU."""
    return ready_seconds(os.getpid(), threading.get_native_id())


def children_seconds(processes: Iterable[int]) -> float:
    """Return the CPU seconds of these child processes and of those that have ended."""
    times = os.times()
    return (
        times.children_user + times.children_system + sum(_cpu_seconds(each) for each in processes)
    )


def _cpu_seconds(process: int) -> float:
    try:
        fields = Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()
        return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")
    except (OSError, ValueError, IndexError):
        return 0.0
