"""Sparse tensors: the class, and the functions of `tf.sparse`."""

from penstock.compat.sparse.tensor import SparseTensor, SparseTensorValue

__all__ = ["SparseTensor", "SparseTensorValue"]
