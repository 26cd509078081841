"""The switch between the tests of a change and the full matrices, which `.ci/nightly` runs."""

import os

import pytest

NIGHTLY = os.environ.get("PENSTOCK_NIGHTLY", "0") != "0"


def nightly(*cases):
    """Return cases of `pytest.mark.parametrize` that only run nightly, several values as tuples."""
    parts = (case if isinstance(case, tuple) else (case,) for case in cases)
    return [pytest.param(*part, marks=pytest.mark.nightly) for part in parts]
