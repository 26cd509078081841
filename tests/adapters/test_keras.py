"""to_keras on every backend: the checks of keras_checks.py, each backend in its own process."""

import json
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

pytest.importorskip("keras")

FILE = Path(__file__).with_name("keras_checks.py")
CHECKS = re.findall(r"^def check_(\w+)", FILE.read_text(), re.MULTILINE)
ON_NUMPY = re.findall(r"^    check_(\w+),", FILE.read_text(), re.MULTILINE)
BACKENDS = {"jax": CHECKS, "torch": CHECKS, "tensorflow": CHECKS, "numpy": ON_NUMPY}


@pytest.fixture(scope="module")
def results(tmp_path_factory):
    """Return a function from a backend to the results of its checks."""
    folder = tmp_path_factory.mktemp("keras")
    done = {}

    def of(backend):
        if backend not in done:
            file = folder / f"{backend}.json"
            environment = os.environ | {"KERAS_BACKEND": backend, "TF_CPP_MIN_LOG_LEVEL": "3"}
            run = subprocess.run(
                [sys.executable, str(FILE), str(file)],
                env=environment,
                capture_output=True,
                text=True,
                timeout=250,
                check=False,
            )
            assert run.returncode == 0, run.stderr[-4000:]
            done[backend] = json.loads(file.read_text())
        return done[backend]

    return of


@pytest.mark.timeout(300)
@pytest.mark.parametrize(
    ("backend", "check"), [(name, check) for name, checks in BACKENDS.items() for check in checks]
)
def test_keras_takes_datasets(results, backend, check):
    pytest.importorskip(backend)
    failure = results(backend)[f"check_{check}"]
    if failure is not None:
        pytest.fail(failure, pytrace=False)
