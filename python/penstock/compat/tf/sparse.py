"""tf.sparse: values and their places."""

from penstock.compat.listing import listing
from penstock.compat.ragged import SparseTensor, to_dense

__all__ = ["SparseTensor", "to_dense"]

__dir__ = listing(globals())
