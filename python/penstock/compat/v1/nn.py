"""tf.nn as in TensorFlow 1: with lazy arguments, functions return lazy values."""

from __future__ import annotations

from penstock.compat.listing import listing
from penstock.compat.tf import nn as _nn
from penstock.compat.v1.moved import old as _old

for _name in dir(_nn):
    globals()[_name] = _old(getattr(_nn, _name), f"nn.{_name}")

__dir__ = listing(globals())
