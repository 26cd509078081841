"""to_keras on every backend: the checks of keras_*_checks.py, with one process per backend."""

import collections
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

FOLDER = Path(__file__).parent
# Importing the checks here would fix one Keras backend for all of them.
TEXT = "".join(file.read_text() for file in sorted(FOLDER.glob("keras_*_checks.py")))
CHECKS = re.findall(r"^def check_(\w+)", TEXT, re.MULTILINE)
# The NumPy backend cannot train, so only these apply.
ON_NUMPY = ["evaluate_and_predict_are_those_of_arrays", "batches_are_not_copied"]
BACKENDS = {"jax": CHECKS, "torch": CHECKS, "tensorflow": CHECKS, "numpy": ON_NUMPY}
SECONDS = 540  # for all checks of a backend, concurrently with the other backends


@pytest.fixture(scope="module")
def results(request, tmp_path_factory):
    """Return a function from a backend to its checks' results; all backends run concurrently."""
    folder = tmp_path_factory.mktemp("keras")
    asked = collections.defaultdict(list)
    for test in request.session.items:
        if test.getparent(pytest.Module) is request.node:
            asked[test.callspec.params["backend"]].append(test.callspec.params["check"])
    with contextlib.ExitStack() as stack:
        runs = {}
        for backend in filter(importlib.util.find_spec, asked):
            answers = folder / f"{backend}.json"
            said = stack.enter_context((folder / f"{backend}.txt").open("w"))
            run = subprocess.Popen(
                [sys.executable, FOLDER / "keras_checks.py", answers, *asked[backend]],
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
    failure = results(backend)[check]
    if failure is not None:
        pytest.fail(failure, pytrace=False)
