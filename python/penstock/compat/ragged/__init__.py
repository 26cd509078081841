"""Ragged tensors: the class, and the functions of tf that have another meaning for them."""

from penstock.compat.ragged.tensor import RaggedTensor

__all__ = ["RaggedTensor"]
