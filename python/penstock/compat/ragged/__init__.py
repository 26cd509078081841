"""Ragged tensors: the class, and the functions of tf that treat them specially."""

from penstock.compat.ragged.tensor import RaggedTensor

__all__ = ["RaggedTensor"]
