"""The switch between the tests of a change and the full matrices, which `.ci/nightly` runs."""

import os

import pytest

NIGHTLY = os.environ.get("PENSTOCK_NIGHTLY", "0") != "0"


def nightly(*cases):
    """Return cases of `pytest.mark.parametrize` that run nightly only."""
    return [pytest.param(case, marks=pytest.mark.nightly) for case in cases]
