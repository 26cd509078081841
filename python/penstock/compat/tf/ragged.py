"""tf.ragged: rows of different lengths."""

from penstock.compat.listing import listing
from penstock.compat.ragged import RaggedTensor, constant

__all__ = ["RaggedTensor", "constant"]

__dir__ = listing(globals())
