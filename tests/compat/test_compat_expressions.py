"""Expressions and pipelines return TensorFlow's results: types, shapes and values.

compat_golden.py has stored those results.
"""

import json
from pathlib import Path

import numpy as np
import pytest
from compat_golden import described

import penstock.compat.tf as tf

HERE = Path(__file__).parent


def golden(*files):
    """Return the expressions of files, and their results."""
    expressions, expected = [], []
    for file in files:
        expressions += file.read_text().splitlines()
        expected += json.loads(file.with_suffix(".json").read_text())
    return {
        "argnames": ("expression", "expected"),
        "argvalues": list(zip(expressions, expected, strict=True)),
        "ids": expressions,
    }


def evaluated(expression):
    return eval(expression, {"tf": tf, "np": np})


def check_same(found, expected):
    """Compare descriptions; floating-point values may differ slightly."""
    if isinstance(expected, dict):
        assert found.keys() == expected.keys()
        for key in expected:
            check_same(found[key], expected[key])
    elif expected and isinstance(expected, list) and str(expected[0]).startswith(("float", "comp")):
        assert found[:2] == expected[:2]
        for values, wanted in zip(found[2:], expected[2:], strict=True):
            np.testing.assert_allclose(values, wanted, rtol=1e-6, atol=1e-6)
    elif expected and isinstance(expected, list) and isinstance(expected[0], (list, dict)):
        assert len(found) == len(expected)
        for each, wanted in zip(found, expected, strict=True):
            check_same(each, wanted)
    elif isinstance(expected, float):
        np.testing.assert_allclose(found, expected, rtol=1e-6, atol=1e-6)
    else:
        assert found == expected


@pytest.mark.parametrize(**golden(*sorted(HERE.glob("expressions/*.txt"))))
def test_an_expression_gives_what_tensorflow_gives(expression, expected):
    if isinstance(expected, dict) and "raises" in expected:
        with pytest.raises(Exception) as caught:
            evaluated(expression)
        assert expected["raises"] in [each.__name__ for each in type(caught.value).__mro__]
        return
    check_same(described(evaluated(expression)), expected)


@pytest.mark.parametrize(**golden(HERE / "pipelines.txt"))
def test_a_pipeline_gives_what_tensorflow_gives(expression, expected):
    assert [described(element) for element in evaluated(expression)] == expected
