"""Select between the short tests and the full matrices, which only `.ci/nightly` runs."""

import os

import pytest

NIGHTLY = os.environ.get("PENSTOCK_NIGHTLY", "0") != "0"


def nightly(*cases):
    """Return nightly-only cases for `pytest.mark.parametrize`; several values are tuples."""
    parts = (case if isinstance(case, tuple) else (case,) for case in cases)
    return [pytest.param(*part, marks=pytest.mark.nightly) for part in parts]
