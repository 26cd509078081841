"""Programs with worker processes, run as separate processes and observed from outside."""

import subprocess
import sys
import time
from pathlib import Path

from scripts import MAY_FORK

# Without cloudpickle, workers find a script's functions by importing it again.
NO_CLOUDPICKLE = """
import importlib.util, sys
found = importlib.util.find_spec
importlib.util.find_spec = lambda name, *rest: None if name == "cloudpickle" else found(name, *rest)
"""
HEAD = """
import os, sys, time
import numpy as np
import penstock as ps
from penstock import _core

def slow(x):
    time.sleep(0.02)
    return np.full((100, 100), x)

def stuck(x):
    if x == 3:
        time.sleep(100)
    return x

def made(function, n=12, calls=2):
    return ps.Dataset.range(n).map(function, num_parallel_calls=calls, executor="process")

"""


def start(tmp_path, body, head=HEAD, before=(), **options):
    """Start a program; `before` is the command that starts Python."""
    file = tmp_path / "program.py"
    file.write_text(head + body)
    return subprocess.Popen(
        [*before, sys.executable, *MAY_FORK, str(file)],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        **options,
    )


def run(tmp_path, body, head=HEAD, before=(), **options):
    """Return the exit code of a program, and its output."""
    program = start(tmp_path, body, head, before, **options)
    out, err = program.communicate(timeout=100)
    return program.returncode, out, err


def alive(pids):
    found = []
    for pid in pids:
        stat = Path(f"/proc/{pid}/stat")
        if stat.exists() and stat.read_text().rpartition(")")[2].split()[0] != "Z":
            found.append(pid)
    return found


def gone(pids, seconds=60):
    end = time.monotonic() + seconds
    while alive(pids) and time.monotonic() < end:
        time.sleep(0.02)
    return not alive(pids)


# Prints the child processes of the program.
SHOW_WORKERS = """
import glob
print(*(open(file).read() for file in glob.glob("/proc/self/task/*/children")), flush=True)
"""


def workers_of(program):
    """Return the processes that SHOW_WORKERS has printed."""
    return [int(pid) for pid in program.stdout.readline().split()]
