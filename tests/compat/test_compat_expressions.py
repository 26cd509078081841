"""Expressions and pipelines give what TensorFlow gives: types, shapes and values.

compat_golden.py has stored what that is.
"""

import json
from pathlib import Path

import numpy as np
import pytest
from compat_golden import described

import penstock.compat.tf as tf
from penstock.compat.tensor import Tensor


def golden(name):
    """Return the expressions of a file, and what each gives."""
    file = Path(__file__).with_name(name)
    expressions = file.read_text().splitlines()
    expected = json.loads(file.with_suffix(".json").read_text())
    return {
        "argnames": ("expression", "expected"),
        "argvalues": list(zip(expressions, expected, strict=True)),
        "ids": expressions,
    }


def evaluated(expression):
    return eval(expression, {"tf": tf, "np": np})


@pytest.mark.parametrize(**golden("expressions.txt"))
def test_an_expression_gives_what_tensorflow_gives(expression, expected):
    value = evaluated(expression)
    assert isinstance(value, Tensor)
    dtype, shape, values = described(value)
    assert [dtype, shape] == expected[:2]
    if dtype.startswith("float"):
        np.testing.assert_allclose(values, expected[2], rtol=1e-6)
    else:
        assert values == expected[2]


@pytest.mark.parametrize(**golden("pipelines.txt"))
def test_a_pipeline_gives_what_tensorflow_gives(expression, expected):
    assert [described(element) for element in evaluated(expression)] == expected
