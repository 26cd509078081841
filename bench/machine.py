"""Description of the machine, and the load from other programs."""

from __future__ import annotations

import os
import platform
import time
from pathlib import Path


def processors() -> int:
    """Return the number of CPUs that this process may use."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


def describe() -> dict[str, str | int]:
    """Return CPU model, cores, memory, kernel and Python version."""
    return {
        "processor": _field("/proc/cpuinfo", "model name") or platform.processor(),
        "cpus": processors(),
        "memory": f"{int((_field('/proc/meminfo', 'MemTotal') or '0').split()[0]) / 2**20:.0f} GiB",
        "system": f"{platform.system()} {platform.release().split('-')[0]} {platform.machine()}",
        "python": platform.python_version(),
    }


class Noise:
    """The average number of CPUs kept busy by other programs since the object was created."""

    def __init__(self) -> None:
        self._before = _load()

    def cpus(self) -> float:
        """Return the average number of CPUs; 0 where it is not known."""
        passed, busy, own = (b - a for a, b in zip(self._before, _load(), strict=True))
        return max(0.0, (busy - own) / passed)


def _load() -> tuple[float, float, float]:
    """Return the time, and the CPU seconds of the machine and of this process with its children."""
    own = os.times()
    mine = own.user + own.system + own.children_user + own.children_system
    try:
        fields = Path("/proc/stat").read_text().split("\n", 1)[0].split()[1:9]
    except OSError:  # not Linux: assume no load
        return time.perf_counter(), mine, mine
    user, nice, system, _, _, irq, softirq, steal = (int(field) for field in fields)
    ticks = user + nice + system + irq + softirq + steal
    return time.perf_counter(), ticks / os.sysconf("SC_CLK_TCK"), mine


def _field(file: str, name: str) -> str:
    try:
        lines = Path(file).read_text().splitlines()
    except OSError:
        return ""
    return next((line.split(":", 1)[1].strip() for line in lines if line.startswith(name)), "")
