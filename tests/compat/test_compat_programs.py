"""TensorFlow programs with only the import changed return the same results.

programs_golden.py has stored TensorFlow's results.
"""

import copy
import json
import random

import numpy as np
import pytest
from programs_golden import IMPORTS, PROGRAMS, described, executed

NAMES = sorted(file.stem for file in PROGRAMS.glob("*.py"))


def golden(name):
    return json.loads((PROGRAMS / "golden" / f"{name}.json").read_text())


def check_same(found, expected, tolerance, where=""):
    """Compare descriptions; floating-point values may differ slightly."""
    assert type(found) is type(expected), (where, found, expected)
    if isinstance(expected, dict):
        assert found.keys() == expected.keys(), where
        for key, value in expected.items():
            if key == "float":
                assert len(found[key]) == len(value), where
                np.testing.assert_allclose(
                    found[key], value, rtol=tolerance, atol=tolerance, err_msg=where
                )
            else:
                check_same(found[key], value, tolerance, f"{where}/{key}")
    elif isinstance(expected, list) and any(isinstance(part, (dict, list)) for part in expected):
        assert len(found) == len(expected), where
        for i, (each, value) in enumerate(zip(found, expected, strict=True)):
            check_same(each, value, tolerance, f"{where}/{i}")
    else:
        assert found == expected, where


@pytest.mark.parametrize("name", NAMES)
def test_a_program_gives_what_it_gives_under_tensorflow(name, tmp_path):
    program = executed(name, IMPORTS.items())
    assert "penstock" in program.tf.__name__
    found = json.loads(json.dumps(described(program.results(tmp_path))))
    check_same(found, golden(name), getattr(program, "TOLERANCE", 1e-4))


@pytest.mark.parametrize("name", NAMES)
def test_another_result_would_be_noticed(name):
    expected = golden(name)
    rng = random.Random(name)
    for key in expected:
        other = copy.deepcopy(expected)
        other[key] = changed(other[key], rng)
        with pytest.raises(AssertionError):
            check_same(other, expected, 1e-2)


def changed(value, rng):
    """Return a description with one value changed."""
    if isinstance(value, (dict, list)) and value:
        keys = list(value) if isinstance(value, dict) else range(len(value))
        chosen = rng.choice(keys)
        value[chosen] = changed(value[chosen], rng)
        return value
    if isinstance(value, (dict, list)):
        return [1]
    if isinstance(value, bool) or value is None:
        return not value
    return value + "x" if isinstance(value, str) else value + abs(value) + 1
