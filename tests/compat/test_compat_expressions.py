"""Expressions give what TensorFlow gives: type, shape and values, as compat_golden.py stored them."""

import json
from pathlib import Path

import numpy as np
import pytest
from compat_golden import described

import penstock.compat.tf as tf
from penstock.compat.tensor import Tensor

HERE = Path(__file__).parent
EXPRESSIONS = (HERE / "expressions.txt").read_text().splitlines()
GOLDEN = json.loads((HERE / "expressions.json").read_text())


@pytest.mark.parametrize(
    ("expression", "expected"), list(zip(EXPRESSIONS, GOLDEN, strict=True)), ids=EXPRESSIONS
)
def test_an_expression_gives_what_tensorflow_gives(expression, expected):
    value = eval(expression, {"tf": tf, "np": np})
    assert isinstance(value, Tensor)
    dtype, shape, values = described(value)
    assert [dtype, shape] == expected[:2]
    if dtype.startswith("float"):
        np.testing.assert_allclose(values, expected[2], rtol=1e-6)
    else:
        assert values == expected[2]
