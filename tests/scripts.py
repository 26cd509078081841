"""Scripts in a process of their own, and waiting for what other threads do."""

import os
import subprocess
import sys
import textwrap
import threading
import time

# How many times as long a script may take: programs for finding errors are slow.
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

# Of Python, for programs that fork beside threads and are expected to print nothing: since 3.12 a
# warning says that this may deadlock.
MAY_FORK = ("-W", "ignore:This process:DeprecationWarning")


def run_script(code, *options, timeout=100):
    """Run `code` behind the preamble; a script that hangs fails the test."""
    source = PREAMBLE + textwrap.dedent(code)
    return subprocess.run(
        [sys.executable, *options, "-c", source],
        capture_output=True,
        text=True,
        timeout=timeout * PATIENCE,
        check=False,
    )


def wait_until(condition, seconds=60.0):
    """Poll until `condition()` holds; returns how long it took, fails after `seconds`."""
    start = time.monotonic()
    while not condition():
        assert time.monotonic() - start < seconds, f"not within {seconds} s"
        time.sleep(0.001)
    return time.monotonic() - start


class Gate:
    """A function for map that waits until it is let go, and tells who is inside."""

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
