"""tf.contrib: of it, `data`."""

from __future__ import annotations

from penstock.compat.tf.data import experimental as data

__all__ = ["data"]
