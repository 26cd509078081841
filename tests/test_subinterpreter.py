"""Importing penstock in a subinterpreter raises a clear error."""

import subprocess
import sys

import pytest

MODULE = "_interpreters" if sys.version_info >= (3, 13) else "_xxsubinterpreters"

INSIDE = f"""
import sys
sys.path[:] = {sys.path!r}
try:
    import penstock
except ImportError as error:
    print(error, flush=True)
"""

OUTSIDE = f"""
import {MODULE} as interpreters
interpreters.run_string(interpreters.create(), {INSIDE!r})
import penstock as ps
print(sum(int(x) for x in ps.Dataset.range(4).map(abs, num_parallel_calls=2)))
"""


@pytest.mark.parametrize("before", ["", "import penstock"], ids=["first", "behind the main one"])
def test_import_in_a_subinterpreter_is_refused(before):
    done = subprocess.run(
        [sys.executable, "-c", before + OUTSIDE],
        capture_output=True,
        text=True,
        timeout=100,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    refused, total = done.stdout.splitlines()
    assert "subinterpreter" in refused
    assert total == "6"
