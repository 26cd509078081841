"""Rows for to_jax, and a comparison of the resulting arrays."""

from collections import namedtuple

import jax
import numpy as np

from penstock import Dataset

Point = namedtuple("Point", "x y")


def rows(n=10):
    return Dataset.from_tensor_slices({"x": np.arange(n * 3.0).reshape(n, 3), "n": np.arange(n)})


def same(array, wanted):
    assert isinstance(array, jax.Array)
    assert array.dtype == wanted.dtype
    assert array.shape == wanted.shape
    np.testing.assert_array_equal(array, wanted)
