"""to_keras on every backend: the checks of keras_checks.py, each backend in its own process."""

import contextlib
import functools
import importlib.util
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
SECONDS = 540  # for all checks of a backend, beside those of the others


@pytest.fixture(scope="module")
def results(request, tmp_path_factory):
    """Return a function from a backend to the results of its checks; all run at the same time."""
    folder = tmp_path_factory.mktemp("keras")
    mine = (one for one in request.session.items if one.getparent(pytest.Module) is request.node)
    asked = dict.fromkeys(test.callspec.params["backend"] for test in mine)
    with contextlib.ExitStack() as stack:
        runs = {}
        for backend in filter(importlib.util.find_spec, asked):
            said = stack.enter_context((folder / f"{backend}.txt").open("w"))
            run = subprocess.Popen(
                [sys.executable, str(FILE), str(folder / f"{backend}.json")],
                env=os.environ | {"KERAS_BACKEND": backend, "TF_CPP_MIN_LOG_LEVEL": "3"},
                stdout=said,
                stderr=subprocess.STDOUT,
            )
            runs[backend] = stack.enter_context(run)
            stack.callback(run.kill)

        @functools.cache
        def of(backend):
            code = runs[backend].wait(timeout=SECONDS)
            assert code == 0, (folder / f"{backend}.txt").read_text()[-4000:]
            return json.loads((folder / f"{backend}.json").read_text())

        yield of


@pytest.mark.timeout(SECONDS + 60)
@pytest.mark.parametrize(
    ("backend", "check"), [(name, check) for name, checks in BACKENDS.items() for check in checks]
)
def test_keras_takes_datasets(results, backend, check):
    pytest.importorskip(backend)
    failure = results(backend)[f"check_{check}"]
    if failure is not None:
        pytest.fail(failure, pytrace=False)
