"""The switch between the tests of a change and the full matrices, which `.ci/nightly` runs."""

import os

NIGHTLY = os.environ.get("PENSTOCK_NIGHTLY", "0") != "0"
