"""Options of the test suite: --frameworks, --quick and PENSTOCK_NIGHTLY."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

TESTS = Path(__file__).resolve().parent
WHOLE_FILE = """
import pytest
pytest.importorskip("no_such_framework")
def test_never_runs(): ...
"""
ONE_TEST = """
import pytest
def test_needs_it():
    pytest.importorskip("no_such_framework")
def test_is_skipped_for_another_reason():
    pytest.skip("there is no GPU")
def test_runs(): ...
"""

SOME_CASES = """
import pytest
@pytest.mark.parametrize("case", [1, 2, 3])
class TestOne:
    def test_cases(self, case): assert case == 1
@pytest.mark.slow
def test_slow(): assert False
def test_alone(): ...
"""

TIERS = """
import pytest
from contract import DatasetContract
from nightly import nightly
import penstock as ps
@pytest.mark.parametrize("case", [1, *nightly(2)])
def test_cases(case): ...
class TestRange(DatasetContract):
    build = staticmethod(lambda: ps.Dataset.range(9))
    expected = list(range(9))
"""


@pytest.fixture
def run(tmp_path):
    """Return a function that runs pytest with this suite's conftest.py on a file of tests."""

    def run_file(text, *options):
        (tmp_path / "test_one.py").write_text(text)
        command = [sys.executable, "-m", "pytest", "-p", "conftest", "-p", "no:cacheprovider", "-v"]
        result = subprocess.run(
            [*command, *options, str(tmp_path)],
            cwd=tmp_path, capture_output=True, text=True, timeout=100, check=False,
            env={**os.environ, "PYTHONPATH": os.pathsep.join([str(TESTS), *sys.path])},
        )  # fmt: skip
        return result.returncode, result.stdout

    return run_file


@pytest.mark.slow
def test_without_frameworks_what_needs_them_is_skipped(run):
    assert run(WHOLE_FILE)[0] == pytest.ExitCode.NO_TESTS_COLLECTED
    code, output = run(ONE_TEST)
    assert code == pytest.ExitCode.OK
    assert "1 passed, 2 skipped" in output


@pytest.mark.slow
def test_with_frameworks_a_file_fails_as_a_whole(run):
    code, output = run(WHOLE_FILE, "--frameworks")
    assert code == pytest.ExitCode.INTERRUPTED
    assert "could not import 'no_such_framework'" in output


@pytest.mark.slow
def test_with_frameworks_a_test_fails_and_other_reasons_still_count(run):
    code, output = run(ONE_TEST, "--frameworks")
    assert code == pytest.ExitCode.TESTS_FAILED
    assert "1 failed, 1 passed, 1 skipped" in output
    assert "could not import 'no_such_framework'" in output


def test_quick_runs_the_first_case_of_each_test_that_is_not_slow(run):
    code, output = run(SOME_CASES, "--quick")
    assert code == pytest.ExitCode.OK
    assert "2 passed, 3 deselected" in output
    assert "TestOne::test_cases[1] PASSED" in output


@pytest.mark.slow
def test_full_matrices_run_at_night(run, monkeypatch):
    monkeypatch.delenv("PENSTOCK_NIGHTLY", raising=False)
    code, output = run(TIERS)
    assert code == pytest.ExitCode.OK
    assert "1 deselected" in output
    assert "test_cases[1] PASSED" in output
    assert "test_elements_are_as_expected[prefetch=3] PASSED" in output
    assert "test_elements_are_as_expected[prefetch=1]" not in output
    assert "upstream" not in output, "the class has no apply"
    monkeypatch.setenv("PENSTOCK_NIGHTLY", "1")
    code, output = run(TIERS)
    assert code == pytest.ExitCode.OK
    assert "test_cases[2] PASSED" in output
    assert "test_elements_are_as_expected[prefetch=1] PASSED" in output
