"""tf.sparse: sparse tensors, given by indices and values."""

from penstock.compat.listing import listing
from penstock.compat.sparse.counting import bincount
from penstock.compat.sparse.functions import (
    add,
    concat,
    expand_dims,
    eye,
    fill_empty_rows,
    from_dense,
    maximum,
    minimum,
    reduce_max,
    reduce_sum,
    reorder,
    reset_shape,
    reshape,
    retain,
    slice,
    sparse_dense_matmul,
    split,
    to_dense,
    to_indicator,
    transpose,
)
from penstock.compat.sparse.tensor import SparseTensor, map_values

__all__ = [
    "SparseTensor",
    "add",
    "bincount",
    "concat",
    "expand_dims",
    "eye",
    "fill_empty_rows",
    "from_dense",
    "map_values",
    "maximum",
    "minimum",
    "reduce_max",
    "reduce_sum",
    "reorder",
    "reset_shape",
    "reshape",
    "retain",
    "slice",
    "sparse_dense_matmul",
    "split",
    "to_dense",
    "to_indicator",
    "transpose",
]

__dir__ = listing(globals())
