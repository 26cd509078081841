"""Operations on arrays of numbers and strings, with TensorFlow's names and NumPy's results."""

from penstock.ops.array import numpy_functions as _numpy_functions  # noqa: F401 (registers)
from penstock.ops.array.choosing import clip_by_value, gather, where
from penstock.ops.array.joining import concat, pad, stack, tile
from penstock.ops.array.making import fill, one_hot, ones, ones_like, zeros, zeros_like
from penstock.ops.array.reducing import (
    reduce_all,
    reduce_any,
    reduce_max,
    reduce_mean,
    reduce_min,
    reduce_sum,
)
from penstock.ops.array.shaping import cast, expand_dims, reshape, shape, squeeze, transpose

__all__ = [
    "cast",
    "clip_by_value",
    "concat",
    "expand_dims",
    "fill",
    "gather",
    "one_hot",
    "ones",
    "ones_like",
    "pad",
    "reduce_all",
    "reduce_any",
    "reduce_max",
    "reduce_mean",
    "reduce_min",
    "reduce_sum",
    "reshape",
    "shape",
    "squeeze",
    "stack",
    "tile",
    "transpose",
    "where",
    "zeros",
    "zeros_like",
]


def __dir__() -> list[str]:
    return [*__all__]
