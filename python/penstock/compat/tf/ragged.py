"""tf.ragged: rows of different lengths."""

from penstock.compat.ragged import RaggedTensor, constant

__all__ = ["RaggedTensor", "constant"]
