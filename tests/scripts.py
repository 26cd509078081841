"""Scripts in separate processes, and helpers to wait for other threads."""

import os
import subprocess
import sys
import textwrap
import threading
import time

# Multiplier of script timeouts, because error-detection tools are slow.
PATIENCE = float(os.environ.get("PENSTOCK_PATIENCE", "1"))

PREAMBLE = """
import os, signal, sys, threading, time
import numpy as np
import penstock as ps
Dataset = ps.Dataset
def slow(x):
    time.sleep(0.2)
    return x
def endless():
    i = 0
    while True:
        time.sleep(0.002)
        yield i
        i += 1
"""

# Python options for programs that fork with running threads and are expected to print nothing:
# since 3.12, Python warns that this may deadlock.
MAY_FORK = ("-W", "ignore:This process:DeprecationWarning")


def run_script(code, *options, timeout=100):
    """Run `code` after the preamble; a script that hangs fails the test."""
    source = PREAMBLE + textwrap.dedent(code)
    return subprocess.run(
        [sys.executable, *options, "-c", source],
        capture_output=True,
        text=True,
        timeout=timeout * PATIENCE,
        check=False,
    )


def wait_until(condition, seconds=60.0):
    """Poll until `condition()` holds; return the time it took, fail after `seconds`."""
    start = time.monotonic()
    while not condition():
        assert time.monotonic() - start < seconds, f"not within {seconds} s"
        time.sleep(0.001)
    return time.monotonic() - start


class Gate:
    """A function for map that waits until it is released, and shows which calls are inside."""

    def __init__(self):
        self.inside = threading.Event()
        self.open = threading.Event()
        self.left = threading.Event()

    def __call__(self, x):
        self.inside.set()
        opened = self.open.wait(60)
        self.left.set()
        assert opened
        return x
